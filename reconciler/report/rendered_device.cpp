#include "reconciler/report/rendered_device.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/engine/digest.hpp"
#include "reconciler/report/change_lines.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/table.hpp"
#include "specs/model/schema_rows.hpp"
#include "specs/model/subject.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {
namespace {

struct Section {
  Facet facet;
  const char* title;
};
constexpr std::array<Section, 3> kSections{{{Facet::config, "settings"},
                                            {Facet::next_boot, "settings that take a boot"},
                                            {Facet::effect, "effects: verified, never written"}}};

// Lines of one subject, in the order of the entries.
struct Subject {
  std::string name;
  std::vector<FoldedChange> lines;
};

std::vector<Subject> subjects_of(const std::vector<FoldedChange>& lines) {
  std::vector<Subject> out;
  std::map<std::string, std::size_t, std::less<>> places;
  for (const FoldedChange& line : lines) {
    const std::string name(subject_of(line.row, line.path));
    const auto [at, is_new] = places.try_emplace(name, out.size());
    if (is_new) out.push_back({name, {}});
    out[at->second].lines.push_back(line);
  }
  return out;
}

// The part of an entry's name below its subject: "class[3]/dscp", "net.ipv4.tcp_mtu_probing".
std::string below_subject(const FoldedChange& line, const std::string& subject) {
  const std::string rest = line.path.substr(subject.size());
  if (rest.starts_with("/")) return rest.substr(1);
  return rest.starts_with("[") && rest.ends_with("]") ? rest.substr(1, rest.size() - 2) : rest;
}

std::string shown_value(const FoldedChange& line) {
  const std::string value = value_text(line.row, line.want);
  return value == "present" ? "" : value;
}

void add_subject(const Subject& subject, const OpenedCluster& cluster, const Terminal& terminal,
                 Table& table) {
  const auto cells = [&](const Shown& name, const FoldedChange& line) {
    const PlanOrigin origin = plan_origin(cluster.compiled.origins[line.origin], &cluster.catalog.sources);
    table.add({name, shown_value(line), terminal.paint(Ink::dim, origin_text(origin))});
  };
  // If the subject is itself an entry (interface[rail0], bgp), its line is the title.
  const auto own = std::ranges::find(subject.lines, subject.name, &FoldedChange::path);
  const Shown title = terminal.paint(Ink::cyan, subject.name);
  if (own != subject.lines.end())
    cells(title, *own);
  else
    table.add({title});
  for (const FoldedChange& line : subject.lines)
    if (line.path != subject.name) cells(compose("  {}", below_subject(line, subject.name)), line);
}

std::string section_text(const Section& section, const OpenedCluster& cluster, const Tree& want,
                         const Terminal& terminal) {
  std::vector<FoldableChange> entries;
  for (const Entry& entry : want.entries())
    if (schema_row(entry.path.row()).facet == section.facet)
      entries.push_back({entry.path, Value{}, entry.value, entry.origin});
  if (entries.empty()) return "";
  Table table({{""}, {""}, {""}});
  for (const Subject& subject : subjects_of(fold_changes(entries)))
    add_subject(subject, cluster, terminal, table);
  const std::string text = table.render(Terminal{}, "  ");
  return terminal.paint(Ink::bold, compose("{} ({})", section.title, entries.size())) + "\n" +
         text.substr(text.find('\n') + 1);  // no titles
}

std::string drivers_text(const TopologyDevice& device) {
  std::string out;
  for (const DriverName name : device.drivers)
    out += (out.empty() ? "" : ", ") + std::string(to_string(name));
  return out.empty() ? "no driver" : out;
}

// "gpu1 of rail-pod (host; linux)".
std::string title_of(const OpenedCluster& cluster, DeviceIndex device) {
  const TopologyDevice& one = cluster.compiled.topology.devices[device];
  return compose("{} of {} ({}; {})", one.name, cluster.title(), to_string(one.role), drivers_text(one));
}

}  // namespace

std::string rendered_device_text(const OpenedCluster& cluster, DeviceIndex device, const Terminal& terminal) {
  const Tree& want = cluster.compiled.intents[device].want;
  std::string out = terminal.paint(Ink::bold, title_of(cluster, device)) + "\n";
  for (const Section& section : kSections) out += section_text(section, cluster, want, terminal);
  return out + compose("{} wanted\n", counted(want.size(), "entry", "entries"));
}

nlohmann::json rendered_device_json(const OpenedCluster& cluster, DeviceIndex device) {
  nlohmann::json entries = nlohmann::json::array();
  for (const Entry& entry : cluster.compiled.intents[device].want.entries())
    entries.push_back(
        {{"path", entry.path.text()},
         {"want", to_json(entry.value)},
         {"origin", to_json(plan_origin(cluster.compiled.origins[entry.origin], &cluster.catalog.sources))}});
  return {{"kind", "RenderedDevice"},
          {"cluster", cluster.name},
          {"twin", cluster.twin},
          {"device", cluster.compiled.topology.devices[device].name},
          {"entries", std::move(entries)}};
}

std::string native_device_text(const OpenedCluster& cluster, DeviceIndex device, const NativeDevice& native) {
  std::string out = compose("# {}\n", title_of(cluster, device));
  out +=
      "# To be read, not run: a line may stand for several calls, or have a word in capitals for what only\n"
      "# the device knows. `lockstep apply` sets the same in a safe order.\n";
  for (const NativeDevice::Group& group : native.groups) {
    out += compose("\n# {}\n", group.subject);
    for (const std::string& call : group.calls) out += compose("{}\n", call);
  }
  if (native.silent.empty()) return out;
  out += "\n# desired, without a command of its own: not supported here, or set by a command above\n";
  std::vector<FoldableChange> silent;
  for (const Entry& entry : native.silent) silent.push_back({entry.path, Value{}, entry.value, entry.origin});
  for (const FoldedChange& line : fold_changes(silent))
    out += compose("#   {} = {}\n", line.path, value_text(line.row, line.want));
  return out;
}

std::string native_file_text(const OpenedCluster& cluster, DeviceIndex device,
                             const NativeDevice::File& file) {
  return compose("! {} of {}\n", file.name, title_of(cluster, device)) + file.text;
}

}  // namespace lockstep
