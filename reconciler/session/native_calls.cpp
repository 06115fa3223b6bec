#include "reconciler/session/native_calls.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "specs/model/schema_rows.hpp"
#include "specs/model/subject.hpp"

namespace lockstep {
namespace {

constexpr std::chrono::seconds kAskKernel{10};

// The entry as a change, with the other desired entries of its collection (`bgp/neighbor[up0]`, `bgp`) as
// existing ones: FRR writes some entries of a neighbour in one line, and a speaker with its number.
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

// Needed if a driver's output depends on this machine's kernel; the output shows what is unknown then.
void observe_kernel(const Attached& attached, const std::vector<RowId>& rows) {
  const Call call{.deadline = std::chrono::steady_clock::now() + kAskKernel, .stop = {}};
  [[maybe_unused]] const auto seen = attached.driver->observe(Scope{rows, {}}, "", call);
}

// Rows that are desired on any of the devices.
std::vector<RowId> wanted_rows(const OpenedCluster& cluster, const std::vector<DeviceIndex>& devices) {
  std::set<RowId> rows;
  for (const DeviceIndex device : devices)
    for (const Entry& entry : cluster.compiled.intents[device].want.entries()) rows.insert(entry.path.row());
  return {rows.begin(), rows.end()};
}

bool is_among(const std::vector<RowId>& rows, RowId row) {
  return std::ranges::find(rows, row) != rows.end();
}

// The changes of one subject, in order.
struct SubjectChanges {
  std::string subject;
  ChangeSet changes;
};
std::vector<SubjectChanges> by_subject(const ChangeSet& changes) {
  std::vector<SubjectChanges> out;
  std::map<std::string, std::size_t, std::less<>> places;
  for (const Change& change : changes) {
    const std::string text = change.path.text();
    const std::string subject(subject_of(change.path.row(), text));
    const auto [at, is_new] = places.try_emplace(subject, out.size());
    if (is_new) out.push_back({subject, {}});
    out[at->second].changes.push_back(change);
  }
  return out;
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
    const Attached attached = row->second.unattached(explanation.device, cluster.twin);
    if (attached.preview == nullptr) continue;
    if (row->second.previews_after_observing) observe_kernel(attached, {explanation.path.row()});
    const Result<Traits> traits = attached.driver->traits(Call{});
    if (!traits || !is_among(traits->writes, explanation.path.row())) continue;
    for (std::string& call : attached.preview->native(row->second.previews_collections ? within : change))
      if (!call.empty()) calls.push_back(std::move(call));
  }
  return calls;
}

NativeDevices::NativeDevices(const OpenedCluster& cluster, const DriverTable& table,
                             const std::vector<DeviceIndex>& devices)
    : cluster_(cluster), table_(table) {
  const std::vector<RowId> wanted = wanted_rows(cluster, devices);
  for (const DeviceIndex device : devices)
    for (const DriverName name : cluster.compiled.topology.devices[device].drivers)
      if (!speakers_.contains(name)) add(name, wanted);
}

void NativeDevices::add(DriverName name, const std::vector<RowId>& wanted) {
  const auto row = table_.find(name);
  if (row == table_.end() || !row->second.unattached) return;
  Speaker speaker{&row->second, row->second.unattached("", cluster_.twin), {}};
  Result<Traits> traits = speaker.attached.driver->traits(Call{});
  if (!traits || speaker.attached.preview == nullptr) return;
  for (const RowId one : wanted)
    if (is_among(traits->writes, one)) speaker.writes.push_back(one);
  if (row->second.previews_after_observing) observe_kernel(speaker.attached, speaker.writes);
  speakers_.emplace(name, std::move(speaker));
}

Result<NativeDevice> NativeDevices::of(DeviceIndex device) const {
  NativeDevice out;
  std::map<DriverName, ChangeSet> said;
  const std::vector<DriverName>& drivers = cluster_.compiled.topology.devices[device].drivers;
  for (const Entry& entry : cluster_.compiled.intents[device].want.entries()) {
    const RowId row = entry.path.row();
    bool is_set = schema_row(row).facet == Facet::effect;
    for (const DriverName name : drivers) {
      const auto speaker = speakers_.find(name);
      if (speaker == speakers_.end() || !std::ranges::binary_search(speaker->second.writes, row)) continue;
      said[name].push_back({entry.path, Value{}, entry.value, entry.origin});
      is_set = true;
    }
    if (!is_set) out.silent.push_back(entry);
  }
  for (const auto& [name, changes] : said) TRY_DONE(say(device, speakers_.at(name), changes, out));
  std::ranges::sort(out.silent, {}, &Entry::path);
  return out;
}

Result<Done> NativeDevices::say(DeviceIndex device, const Speaker& speaker, const ChangeSet& changes,
                                NativeDevice& out) const {
  const DriverRow& row = *speaker.row;
  if (row.config_text) {
    TRY(std::string text, row.config_text(cluster_.compiled.topology.devices[device].name, changes));
    out.files.push_back({std::string(row.config_file), std::move(text)});
    return Done{};
  }
  for (const auto& [subject, its] : by_subject(changes)) {
    NativeDevice::Group group{subject, {}};
    for (const Change& change : its) {
      const std::size_t before = group.calls.size();
      for (std::string& call : speaker.attached.preview->native({change}))
        if (!call.empty()) group.calls.push_back(std::move(call));
      if (group.calls.size() == before) out.silent.push_back({change.path, change.origin, change.want});
    }
    if (!group.calls.empty()) out.groups.push_back(std::move(group));
  }
  return Done{};
}

}  // namespace lockstep
