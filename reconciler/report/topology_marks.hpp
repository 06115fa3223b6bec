// Findings of reports by device and link, for a picture of the fabric: reads files with `drift -o json` and
// `bench -o json`.
//
// Promises: a device or link has each mark once, however often a report contains it; devices in maintenance,
// and what is no difference (a finding, an unsupported setting), have none. Refuses (refused): a document of
// another kind, of another cluster, or with a device that these specs do not have.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "specs/fabric/topology.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// In descending severity.
enum class Mark : std::uint8_t {
  failed,   // an end with no pair that got through
  suspect,  // would explain which pairs are slow
  worst,    // an end of the pair that decided a failed SLO
  drifted,
  unseen,  // not observed, completely or in part
};
constexpr auto words(Mark) {
  return std::to_array<std::string_view>({"failed", "suspect", "worst pair", "drifted", "unobserved"});
}

using Marks = std::set<Mark>;

struct TopologyMarks {
  bool with_drift = false;
  bool with_bench = false;
  std::map<DeviceIndex, Marks> devices;
  std::map<LinkIndex, Marks> links;
  std::vector<std::string> verdicts;  // "bench: fail; 1 of 3 SLOs failed", and each that failed

  bool any() const { return with_drift || with_bench; }
};

// `cluster`: the cluster's name in its specs.
Result<Done> mark_drift(const nlohmann::json& document, const std::string& cluster, const Topology& topology,
                        TopologyMarks& marks);
Result<Done> mark_bench(const nlohmann::json& document, const std::string& cluster, const Topology& topology,
                        TopologyMarks& marks);

}  // namespace lockstep
