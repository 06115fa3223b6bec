#include "reconciler/report/spec_diff_report.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> kKinds{"added", "removed", "changed"};
std::string_view word_of(DeviceDiff::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

struct Tally {
  std::array<std::size_t, kKinds.size()> devices{};
  std::array<std::size_t, kKinds.size()> entries{};  // of devices in both versions
  Disruption disruption = Disruption::none;          // of these entries as well
};

Tally tally_of(const SpecDiff& diff) {
  Tally out;
  for (const DeviceDiff& device : diff.differ) {
    ++out.devices[static_cast<std::size_t>(device.kind)];
    if (device.kind != DeviceDiff::Kind::changed) continue;
    for (const auto& [change, disruption] : device.entries) {
      ++out.entries[!change.was ? 0 : !change.want ? 1 : 2];
      out.disruption = std::max(out.disruption, disruption);
    }
  }
  return out;
}

// "+ gpu[5-6]  added: 98 entries each".
std::string whole_devices_text(const SpecDiff& diff, DeviceDiff::Kind kind, const Terminal& terminal) {
  std::map<std::size_t, std::vector<std::string>> by_size;
  for (const DeviceDiff& one : diff.differ)
    if (one.kind == kind) by_size[one.entries.size()].push_back(one.device);
  const Shown sign =
      kind == DeviceDiff::Kind::added ? terminal.paint(Ink::green, "+") : terminal.paint(Ink::red, "-");
  std::string out;
  for (const auto& [size, devices] : by_size)
    out += compose("{} {}  {}: {}{}\n", sign, terminal.paint(Ink::cyan, fold_hostlist(devices)),
                   word_of(kind), counted(size, "entry", "entries"), devices.size() > 1 ? " each" : "");
  return out;
}

// Port changes of one device, with all devices that have exactly the same.
struct SharedLine {
  FoldedChange line;
  Disruption disruption = Disruption::none;
  std::vector<std::string> devices;
};

class SharedLines {
 public:
  void add(const DeviceDiff& device) {
    std::vector<FoldableChange> changes;
    std::map<std::pair<RowId, bool>, Disruption> disruptions;  // by row, and whether it is removed
    for (const auto& [change, disruption] : device.entries) {
      changes.push_back({change.path, change.was, change.want, change.origin});
      Disruption& most = disruptions[{change.path.row(), !change.want}];
      most = std::max(most, disruption);
    }
    for (FoldedChange& line : fold_changes(changes)) {
      const Disruption disruption = disruptions[{line.row, !line.want}];
      const auto [at, is_new] = places_.try_emplace(
          {line.path, line.was.to_string(), line.want.to_string(), line.origin}, lines_.size());
      if (is_new) lines_.push_back({std::move(line), disruption, {}});
      lines_[at->second].devices.push_back(device.device);
      lines_[at->second].disruption = std::max(lines_[at->second].disruption, disruption);
    }
  }
  const std::vector<SharedLine>& all() const { return lines_; }

 private:
  std::vector<SharedLine> lines_;
  std::map<std::tuple<std::string, std::string, std::string, OriginId>, std::size_t> places_;
};

// The lines of an identical set of devices.
struct DeviceLines {
  std::vector<std::string> devices;
  Disruption disruption = Disruption::none;
  std::vector<FoldedChange> lines;
};

std::vector<DeviceLines> by_devices(const std::vector<SharedLine>& lines) {
  std::vector<DeviceLines> out;
  std::map<std::vector<std::string>, std::size_t> places;
  for (const SharedLine& one : lines) {
    const auto [at, is_new] = places.try_emplace(one.devices, out.size());
    if (is_new) out.push_back({one.devices, Disruption::none, {}});
    DeviceLines& group = out[at->second];
    group.disruption = std::max(group.disruption, one.disruption);
    group.lines.push_back(one.line);
  }
  // Changes common to most devices first, then those of single devices.
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [](const DeviceLines& one) { return one.devices.size(); });
  return out;
}

std::string changed_devices_text(const SpecDiff& diff, const Terminal& terminal) {
  SharedLines lines;
  for (const DeviceDiff& one : diff.differ)
    if (one.kind == DeviceDiff::Kind::changed) lines.add(one);
  std::string out;
  for (const DeviceLines& group : by_devices(lines.all()))
    out += compose("{} {}  {}\n", terminal.paint(Ink::yellow, "~"),
                   terminal.paint(Ink::cyan, fold_hostlist(group.devices)),
                   terminal.paint(ink_of(group.disruption),
                                  compose("disruption: {}", to_string(group.disruption)))) +
           folded_changes_text(group.lines, diff.origins, "    ", terminal);
  return out;
}

// "1 device added, 2 removed": with the noun once.
std::string tally_text(const std::array<std::size_t, kKinds.size()>& numbers, std::string_view one,
                       std::string_view many) {
  std::string out;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (numbers[i] == 0) continue;
    out += out.empty() ? counted(numbers[i], one, many) : ", " + std::to_string(numbers[i]);
    out += " " + std::string(kKinds[i]);
  }
  return out;
}

Json entry_json(const EntryDiff& entry, const std::vector<PlanOrigin>& origins) {
  return {{"path", entry.change.path.text()},
          {"was", to_json(entry.change.was)},
          {"want", to_json(entry.change.want)},
          {"disruption", to_string(entry.disruption)},
          {"origin", to_json(origins[entry.change.origin])}};
}

Json device_json(const DeviceDiff& device, const std::vector<PlanOrigin>& origins) {
  Json entries = Json::array();
  for (const EntryDiff& one : device.entries) entries.push_back(entry_json(one, origins));
  return {{"device", device.device}, {"change", word_of(device.kind)}, {"entries", std::move(entries)}};
}

}  // namespace

std::string spec_diff_summary(const SpecDiff& diff) {
  if (diff.differ.empty()) return compose("no difference: {} as before", counted(diff.devices, "device"));
  const Tally tally = tally_of(diff);
  std::string devices = tally_text(tally.devices, "device", "devices");
  const std::string entries = tally_text(tally.entries, "entry", "entries");
  if (entries.empty()) return devices;
  return compose("{}: {}; disruption: {}", devices, entries, to_string(tally.disruption));
}

std::string spec_diff_text(const SpecDiff& diff, const Terminal& terminal) {
  const std::string title = diff.was == diff.now ? diff.now : diff.was + " → " + diff.now;
  return terminal.paint(Ink::bold, "diff of " + title) + "\n" +
         whole_devices_text(diff, DeviceDiff::Kind::added, terminal) +
         whole_devices_text(diff, DeviceDiff::Kind::removed, terminal) +
         changed_devices_text(diff, terminal) + spec_diff_summary(diff) + "\n";
}

nlohmann::json spec_diff_json(const SpecDiff& diff) {
  const Tally tally = tally_of(diff);
  Json devices = Json::array();
  for (const DeviceDiff& one : diff.differ) devices.push_back(device_json(one, diff.origins));
  const auto counts = [](const std::array<std::size_t, kKinds.size()>& numbers) {
    Json out;
    for (std::size_t i = 0; i < kKinds.size(); ++i) out[kKinds[i]] = numbers[i];
    return out;
  };
  return {{"kind", "SpecDiff"},
          {"cluster", diff.now},
          {"oldCluster", diff.was},
          {"summary",
           {{"devices", counts(tally.devices)},
            {"entries", counts(tally.entries)},
            {"disruption", to_string(tally.disruption)}}},
          {"devices", std::move(devices)}};
}

}  // namespace lockstep
