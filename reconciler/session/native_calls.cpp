#include "reconciler/session/native_calls.hpp"

#include <algorithm>
#include <chrono>

namespace lockstep {
namespace {

constexpr std::chrono::seconds kAskKernel{10};

// The entry as a change, and what else is wanted of its collection (`bgp/neighbor[up0]`, `bgp`) as there
// already: FRR writes some entries of a neighbour in one line, and a speaker with its number.
ChangeSet change_within_its_collection(const Intent& intent, const Explanation& explanation) {
  ChangeSet changes{{explanation.path, Value{}, explanation.value, 0}};
  const std::string text = explanation.path.text();
  const std::size_t bracket = text.rfind("]/");
  const std::string collection =
      bracket == std::string::npos ? text.substr(0, text.find('/')) + "/" : text.substr(0, bracket + 2);
  for (const Entry& entry : intent.want.entries())
    if (entry.path != explanation.path && entry.path.text().starts_with(collection))
      changes.push_back({entry.path, entry.value, entry.value, 0});
  return changes;
}

}  // namespace

std::vector<std::string> native_calls(const OpenedCluster& cluster, const Explanation& explanation,
                                      const DriverTable& table) {
  std::vector<std::string> calls;
  const Topology& topology = cluster.compiled.topology;
  const DeviceIndex index = topology.find_device(explanation.device);
  const ChangeSet change{{explanation.path, Value{}, explanation.value, 0}};
  const ChangeSet within = change_within_its_collection(cluster.compiled.intents[index], explanation);
  for (const DriverName name : topology.devices[index].drivers) {
    const auto row = table.find(name);
    if (row == table.end() || !row->second.unattached) continue;
    const Attached attached = row->second.unattached(explanation.device);
    if (attached.preview == nullptr) continue;
    if (row->second.previews_after_observing) {
      // What is not known then, the words say.
      const Call call{.deadline = std::chrono::steady_clock::now() + kAskKernel, .stop = {}};
      [[maybe_unused]] const auto seen =
          attached.driver->observe(Scope{{explanation.path.row()}, {}}, "", call);
    }
    const Result<Traits> traits = attached.driver->traits(Call{});
    if (!traits || std::ranges::find(traits->writes, explanation.path.row()) == traits->writes.end())
      continue;
    for (std::string& call : attached.preview->native(row->second.previews_collections ? within : change))
      if (!call.empty()) calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace lockstep
