// OriginTable: which object sets an entry, and on which line; each origin is stored once, however many
// entries share it.
//
// Promises: ids are in the order of first use, the same in every run. A claimant is an object with its own
// priority, mode, suspend and onDelete.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "specs/language/catalog.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

using ClaimantId = std::uint32_t;

struct Claimant {
  std::string name;  // "Fabric/backend"
  std::int32_t priority = 0;
  Conduct conduct = Conduct::observe;
  bool apply_allowed = true;
  bool restore_on_delete = false;
  Position at{};
};

class OriginTable {
 public:
  explicit OriginTable(const Catalog& catalog);
  ClaimantId add_claimant(std::string_view kind, const Object& object);
  const Claimant& claimant(ClaimantId id) const { return claimants_[id]; }
  // The claimant must have been added.
  const Claimant& claimant_named(std::string_view name) const;
  const Claimant& claimant_of(OriginId origin) const { return claimants_[of_origin_[origin]]; }

  // A rule that derives from a field; `at` is the position of the field, or of the object if the field is not
  // written.
  OriginId add(ClaimantId claimant, Position at, std::string_view rule);
  template <class T>
  OriginId of(ClaimantId claimant, const Said<T>& field, std::string_view rule) {
    return add(claimant, field.said ? field.at : claimants_[claimant].at, rule);
  }

  const Origins& origins() const { return origins_; }
  Origins take() { return std::move(origins_); }

 private:
  const Cluster* cluster_ = nullptr;
  std::vector<Claimant> claimants_;
  std::vector<ClaimantId> of_origin_{0};
  Origins origins_;
  std::map<std::tuple<ClaimantId, Position, std::string>, OriginId> known_;
};

}  // namespace lockstep
