// SpecObjects: the objects of one revision of the specs, each as its author wrote it and with the devices on
// which it sets anything.
//
// Promises: pure; made once for each revision, and immutable. An object is on a device if an entry or a claim
// of the device's intent has its origin in it; what a higher priority overrules does not count. A spec of
// more than kSpecNodesMost values is left out. What may be a secret (secret_lines.hpp) is
// not in it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/session/opened_cluster.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {

// A choice: 100 KB of JSON, far above what people write in one object.
inline constexpr std::size_t kSpecNodesMost = 10'000;

struct SpecObject {
  struct Place {
    std::uint32_t device = 0;   // into SpecObjects::devices
    std::uint32_t entries = 0;  // claims counted
    bool operator==(const Place&) const = default;
  };
  const KindRow* kind = nullptr;
  std::string name{};
  std::map<std::string, std::string> labels{};
  std::string file{};
  std::uint32_t line = 0;
  std::string spec{};           // JSON; empty: it is left out
  std::string digest{};         // of `spec`, else of the file
  std::vector<Place> places{};  // by device
  std::size_t entries = 0;      // in all places
  std::size_t overruled = 0;    // not among `entries`
  std::size_t governs = 0;      // of a RolloutPolicy: devices
  std::string title() const { return std::string(kind->name) + "/" + name; }
};

struct SpecObjects {
  // Of the Cluster.
  struct Cost {
    double gpu_hour = 0;   // in `currency`
    std::string currency;  // ISO 4217
  };
  std::vector<std::string> devices;
  std::vector<std::uint32_t> gpus;  // of each of these, as its specs count them; 0: they say nothing of it
  std::vector<SpecObject> all;      // by kind, in the order of kind_rows(), then by name
  std::optional<Cost> cost;         // none: the specs say nothing of it
};

std::shared_ptr<const SpecObjects> spec_objects(const OpenedCluster& cluster);

}  // namespace lockstep
