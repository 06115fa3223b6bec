#include "reconciler/twin/twin.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/twin/faults.hpp"

namespace lockstep {
namespace {

std::optional<OpenedCluster> open_twin(Aim aim, const Console& console) {
  aim.twin = true;
  return open_cluster(aim, console);
}

TwinLayout layout_of(const OpenedCluster& cluster) {
  TwinLayout layout;
  layout.cluster = cluster.id;
  const Topology& topology = cluster.compiled.topology;
  for (const TopologyDevice& device : topology.devices)
    layout.devices.push_back({.name = device.name,
                              .role = device.is_switch() ? TwinRole::device_switch : TwinRole::host,
                              .routing = device.is_switch()});
  for (const TopologyLink& link : topology.links)
    layout.cables.push_back({.device_a = topology.device_of(link.a),
                             .port_a = std::string(topology.ports[link.a].name),
                             .device_b = topology.device_of(link.b),
                             .port_b = std::string(topology.ports[link.b].name),
                             .segmentation_offload = true});
  return layout;
}

nlohmann::json twin_json(const OpenedCluster& cluster, std::string_view what) {
  return {{"apiVersion", "lockstep.dev/v1alpha1"},
          {"kind", "Twin"},
          {"cluster", cluster.name},
          {"id", cluster.id},
          {"state", what}};
}

nlohmann::json report_json(const OpenedCluster& cluster, const TwinReport& report) {
  nlohmann::json document = twin_json(cluster, report.sound() ? "sound" : report.alive ? "degraded" : "dead");
  document["supervisor"] = report.supervisor;
  nlohmann::json daemons = nlohmann::json::array();
  for (const DaemonState& daemon : report.daemons)
    daemons.push_back({{"device", daemon.device},
                       {"name", daemon.name},
                       {"pid", daemon.pid},
                       {"life", to_string(daemon.life)},
                       {"how", daemon.how}});
  document["daemons"] = daemons;
  document["lostCables"] = report.lost_cables;
  document["leftBehind"] = report.left_behind;
  return document;
}

std::string report_text(const OpenedCluster& cluster, const TwinReport& report, const Terminal& terminal) {
  std::string out = terminal.paint(Ink::bold, "twin of " + cluster.name) +
                    fmt::format(" ({}): supervisor {}, {} devices, {} cables\n", cluster.id,
                                report.alive ? std::to_string(report.supervisor) : "has died",
                                report.record.layout.devices.size(), report.record.layout.cables.size());
  Table table({{"device"}, {"daemon"}, {"pid", true}, {"state"}, {""}});
  for (const DaemonState& daemon : report.daemons) {
    const Ink ink = daemon.life == DaemonLife::running ? Ink::green : Ink::red;
    table.add({terminal.paint(Ink::cyan, daemon.device), daemon.name,
               daemon.pid > 0 ? std::to_string(daemon.pid) : "-", terminal.paint(ink, to_string(daemon.life)),
               daemon.how});
  }
  if (!table.empty()) out += table.render(terminal, "  ");
  for (const std::string& one : report.lost_cables)
    out +=
        "  " + terminal.paint(Ink::red, "lost") + ": " + one + "; a twin that is taken down and up has it\n";
  for (const std::string& one : report.left_behind) out += "  left behind: " + one + "\n";
  return out;
}

int list_faults(const Console& console) {
  const Terminal& terminal = console.out();
  nlohmann::json all = nlohmann::json::array();
  for (const Fault& fault : faults()) {
    all.push_back({{"name", fault.name},
                   {"arguments", fault.arguments},
                   {"what", fault.what},
                   {"shownBy", fault.shown_by}});
    if (!console.is_text()) continue;
    console.print(fmt::format("{} {}\n  {}\n  {}\n", terminal.paint(Ink::cyan, std::string(fault.name)),
                              fault.arguments, fault.what,
                              terminal.paint(Ink::dim, fmt::format("shown by: {}", fault.shown_by))));
  }
  if (!console.is_text()) console.print_document(all);
  return kExitInSync;
}

}  // namespace

int run_twin_up(const TwinUpOptions& options, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_twin(options.aim, console);
  if (!cluster) return kExitError;
  if (Result<Done> any = has_devices(*cluster); !any) return console.fail(any.error());
  TwinOptions twin;
  twin.lldp = !options.no_lldp;
  twin.name = cluster->name;
  twin.folder = cluster->folder;
  const Result<TwinHandle> handle = up(
      layout_of(*cluster), twin,
      [&console](const TwinProgress& at) {
        console.say_passing(at.text.empty() ? fmt::format("{} {}/{}", at.step, at.done, at.of)
                                            : at.step + " " + at.text);
      },
      console.stop);
  console.say_passing("");
  if (!handle) return console.fail(handle.error());
  if (console.is_text()) {
    for (const std::string& one : handle->cleaned)
      console.print("cleaned what a dead twin had left: " + one + "\n");
    const Topology& topology = cluster->compiled.topology;
    console.print(handle->was_up ? fmt::format("the twin of {} is up already\n", cluster->name)
                                 : fmt::format("the twin of {} is up in {} ms: {} network namespaces, {} "
                                               "cables, FRR in every switch; bare, "
                                               "until `lockstep apply --twin`\n",
                                               cluster->name, handle->took.count(), topology.devices.size(),
                                               topology.links.size()));
  } else {
    nlohmann::json document = twin_json(*cluster, handle->was_up ? "was up" : "up");
    document["milliseconds"] = handle->took.count();
    console.print_document(document);
  }
  return kExitInSync;
}

int run_twin_status(const Aim& aim, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_twin(aim, console);
  if (!cluster) return kExitError;
  const Result<TwinReport> report = examine(cluster->id);
  if (!report) return console.fail(report.error());
  if (console.is_text())
    console.print(report_text(*cluster, *report, console.out()));
  else
    console.print_document(report_json(*cluster, *report));
  return report->sound() ? kExitInSync : kExitDifferent;
}

int run_twin_exec(const TwinExecOptions& options, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_twin(Aim{.specs = {options.specs}}, console);
  if (!cluster) return kExitError;
  return console.fail(exec(cluster->id, options.device, options.command));
}

int run_twin_break(const TwinBreakOptions& options, const Console& console) {
  if (options.list) return list_faults(console);
  if (options.fault.empty())
    return console.fail_usage("which fault? `lockstep twin break --list` shows them");
  const std::optional<OpenedCluster> cluster = open_twin(Aim{.specs = {options.specs}}, console);
  if (!cluster) return kExitError;
  Call call;
  call.deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);  // a hung daemon is a fault, not an end
  call.stop = console.stop;
  call.wake_fd = console.stop_fd;
  const Result<std::vector<std::string>> done =
      break_twin(cluster->id, options.fault, options.arguments, call);
  if (!done) return console.fail(done.error());
  if (console.is_text()) {
    for (const std::string& line : *done) console.print(line + "\n");
  } else {
    nlohmann::json document = twin_json(*cluster, "broken");
    document["fault"] = options.fault;
    document["what"] = *done;
    console.print_document(document);
  }
  return kExitInSync;
}

}  // namespace lockstep
