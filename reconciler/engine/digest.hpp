// Digests: tie a plan to the state that it was made from. SHA-256, written "sha256:<hex>".
//
// Promises: the same content gives the same digest in every run and on every machine (texts, never ids).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconciler/engine/plan.hpp"

namespace lockstep {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  // Each field is preceded by its length, so that ("ab", "c") differs from ("a", "bc").
  void add(std::string_view field);
  // In a run of paths of one row, the row is hashed once.
  void add(Path path);
  void add(Value value);
  std::string finish();

 private:
  // Data is hashed in pieces of this size: a call of OpenSSL costs more than a short field.
  static constexpr std::size_t kPieceSize = 1U << 14;
  void number(std::uint64_t value);
  void tag(char kind) { pending_ += kind; }
  void flush();
  std::optional<RowId> row_;  // of the path added last
  std::string pending_;
  void* context_;
};

std::string plan_digest(const Plan& plan);
// An entry of a device with the value that a write leaves there.
std::string write_digest(const std::string& device, Path path, Value want);
// The net effect of the changes of a device: a guard that is set and put back does not count.
template <class Changes>
std::map<Path, Value> net_writes(const Changes& changes) {
  std::map<Path, std::pair<Value, Value>> net;  // found, left
  for (const auto& change : changes)
    net.try_emplace(change.path, change.was, Value{}).first->second.second = change.want;
  std::map<Path, Value> out;
  for (const auto& [path, values] : net)
    if (values.first != values.second) out.emplace(path, values.second);
  return out;
}
template <class Changes>
std::vector<std::string> write_digests(const std::string& device, const Changes& changes) {
  std::vector<std::string> out;
  for (const auto& [path, want] : net_writes(changes)) out.push_back(write_digest(device, path, want));
  return out;
}
PlanOrigin plan_origin(const Origin& origin, const Sources* sources);

}  // namespace lockstep
