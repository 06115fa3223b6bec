#include "reconciler/report/twin_report.hpp"

#include <date/date.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "reconciler/report/table.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

nlohmann::json twin_json(const std::string& cluster, const std::string& id, std::string_view state) {
  return {{"kind", "Twin"}, {"cluster", cluster}, {"id", id}, {"state", state}};
}

std::string state_of(const TwinHere& twin) {
  if (!twin.report) return twin.report.error().text();
  return twin.report->sound() ? "sound" : twin.report->alive ? "degraded" : "dead";
}

std::string since_of(const TwinReport& report) {
  if (!report.alive) return "";
  const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(report.since_unix_ms)};
  return date::format("%FT%TZ", std::chrono::floor<std::chrono::seconds>(at));
}

std::string rate_text(std::uint64_t bits_per_second) { return format(BitRate{bits_per_second}); }

std::string piece_lines(std::string_view what, const std::vector<std::string>& pieces) {
  constexpr std::size_t kShown = 16;  // chosen: two hosts of eight rails, without folding
  std::string out;
  for (std::size_t i = 0; i < pieces.size() && i < kShown; ++i) out += compose("  {} {}\n", what, pieces[i]);
  if (pieces.size() > kShown)
    out += compose("  {} {} more; -o json names all\n", what, pieces.size() - kShown);
  return out;
}

std::string twin_changed_text(const OpenedCluster& cluster, const TwinHandle& handle) {
  std::string out = compose("the twin of {} was changed in {} ms; what stays was not touched{}\n",
                            cluster.name, handle.took.count(),
                            handle.made.empty() ? "" : ", what is new is bare until `lockstep apply --twin`");
  out += piece_lines("added", handle.made) + piece_lines("removed", handle.gone);
  if (handle.link_rate != handle.link_rate_was)
    out +=
        compose("  its fastest link is to carry {}, and was to carry {}: `lockstep apply --twin` sets it\n",
                rate_text(handle.link_rate), rate_text(handle.link_rate_was));
  return out;
}

}  // namespace

std::string twin_progress_line(const TwinProgress& at) {
  return at.text.empty() ? compose("{} {}/{}", at.step, at.done, at.of) : compose("{} {}", at.step, at.text);
}

std::string twin_up_text(const OpenedCluster& cluster, const TwinHandle& handle) {
  std::string out;
  for (const std::string& one : handle.cleaned)
    out += compose("cleaned what a dead twin had left: {}\n", one);
  if (handle.was_up && handle.changed()) return out + twin_changed_text(cluster, handle);
  if (handle.was_up)
    return out + compose("the twin of {} is up already, as its specs have it: nothing to do\n", cluster.name);
  const Topology& topology = cluster.compiled.topology;
  const auto sonic = std::ranges::count_if(topology.devices, [](const TopologyDevice& device) {
    return std::ranges::find(device.drivers, DriverName::sonic) != device.drivers.end();
  });
  return out +
         compose(
             "the twin of {} is up in {} ms: {} network namespaces, {} cables, FRR in every switch{}; bare, "
             "until `lockstep apply --twin`\n",
             cluster.name, handle.took.count(), topology.devices.size(), topology.links.size(),
             sonic == 0 ? compose("")
                        : compose(", on {} of them Redis and a stand-in for SONiC's daemons", sonic));
}

nlohmann::json twin_up_json(const OpenedCluster& cluster, const TwinHandle& handle) {
  const bool changed = handle.was_up && handle.changed();
  nlohmann::json document = twin_json(cluster.name, cluster.id,
                                      changed         ? "changed"
                                      : handle.was_up ? "was up"
                                                      : "up");
  document["milliseconds"] = handle.took.count();
  document["made"] = handle.made;
  document["gone"] = handle.gone;
  document["linkRate"] = rate_text(cluster.link_rate);
  return document;
}

nlohmann::json twin_status_json(const OpenedCluster& cluster, const TwinReport& report,
                                const std::vector<std::string>& other) {
  nlohmann::json document = twin_json(cluster.name, cluster.id,
                                      report.sound() ? "sound"
                                      : report.alive ? "degraded"
                                                     : "dead");
  document["supervisor"] = report.supervisor;
  nlohmann::json daemons = nlohmann::json::array();
  for (const DaemonState& daemon : report.daemons)
    daemons.push_back({{"device", daemon.device},
                       {"name", daemon.name},
                       {"pid", daemon.pid},
                       {"life", to_string(daemon.life)},
                       {"how", daemon.how}});
  document["daemons"] = daemons;
  document["linkRate"] = rate_text(report.record.link_rate);
  document["differsFromSpecs"] = other;
  document["lostCables"] = report.lost_cables;
  document["leftBehind"] = report.left_behind;
  return document;
}

std::string twin_status_text(const OpenedCluster& cluster, const TwinReport& report,
                             const std::vector<std::string>& other, const Terminal& terminal) {
  std::string out = terminal.paint(Ink::bold, "twin of " + cluster.name) +
                    compose(" ({}): supervisor {}, {} devices, {} cables, of {} at most\n", cluster.id,
                            report.alive ? std::to_string(report.supervisor) : "has died",
                            report.record.layout.devices.size(), report.record.layout.cables.size(),
                            rate_text(report.record.link_rate));
  Table table({{"device"}, {"daemon"}, {"pid", true}, {"state"}, {""}});
  for (const DaemonState& daemon : report.daemons) {
    const Ink ink = daemon.life == DaemonLife::running ? Ink::green : Ink::red;
    table.add({terminal.paint(Ink::cyan, daemon.device), daemon.name,
               daemon.pid > 0 ? std::to_string(daemon.pid) : "-", terminal.paint(ink, to_string(daemon.life)),
               daemon.how});
  }
  if (!table.empty()) out += table.render(terminal, "  ");
  for (const std::string& one : report.lost_cables)
    out += "  " + terminal.paint(Ink::red, "lost") + compose(": {}; `lockstep twin up` makes it anew\n", one);
  for (const std::string& one : other) out += compose("  {}\n", one);
  if (!other.empty()) out += "  so it is not as its specs have it: `lockstep twin up` changes it\n";
  for (const std::string& one : report.left_behind) out += compose("  left behind: {}\n", one);
  return out;
}

std::string faults_text(const Terminal& terminal) {
  std::string out;
  for (const Fault& fault : faults())
    out += compose("{} {}\n  {}\n  {}\n", terminal.paint(Ink::cyan, fault.name), fault.arguments, fault.what,
                   terminal.paint(Ink::dim, compose("shown by: {}", fault.shown_by)));
  return out;
}

nlohmann::json faults_json() {
  nlohmann::json all = nlohmann::json::array();
  for (const Fault& fault : faults())
    all.push_back({{"name", fault.name},
                   {"arguments", fault.arguments},
                   {"what", fault.what},
                   {"shownBy", fault.shown_by}});
  return {{"kind", "FaultList"}, {"faults", std::move(all)}};
}

nlohmann::json twin_broken_json(const OpenedCluster& cluster, const std::string& fault,
                                const std::vector<std::string>& done) {
  nlohmann::json document = twin_json(cluster.name, cluster.id, "broken");
  document["fault"] = fault;
  document["what"] = done;
  return document;
}

std::string twin_down_text(const std::string& cluster, const TwinGone& gone) {
  std::string out;
  for (const std::string& one : gone.cleaned) out += compose("removed {}\n", one);
  return out + compose("the twin of {} {}\n", cluster,
                       gone.was_up ? "is down; nothing is left behind" : "was not up");
}

nlohmann::json twin_down_json(const std::string& cluster, const std::string& id, const TwinGone& gone) {
  return twin_json(cluster, id, gone.was_up ? "down" : "was down");
}

std::string twins_text(const std::vector<TwinHere>& twins, const Terminal& terminal) {
  Table table({{"name"}, {"cluster"}, {"folder"}, {"pid", true}, {"since"}, {"state"}});
  for (const TwinHere& twin : twins) {
    const TwinReport report = twin.report ? *twin.report : TwinReport{};
    const std::string pid = report.alive ? std::to_string(report.supervisor) : "";
    table.add({terminal.paint(Ink::cyan, twin.id), report.record.name, report.record.folder, pid,
               since_of(report), state_of(twin)});
  }
  return table.empty() ? "no twin is on this machine\n" : table.render(terminal, "");
}

nlohmann::json twins_json(const std::vector<TwinHere>& twins) {
  nlohmann::json all = nlohmann::json::array();
  for (const TwinHere& twin : twins) {
    const TwinReport report = twin.report ? *twin.report : TwinReport{};
    all.push_back({{"name", twin.id},
                   {"cluster", report.record.name},
                   {"folder", report.record.folder},
                   {"supervisor", report.alive ? report.supervisor : -1},
                   {"since", since_of(report)},
                   {"state", state_of(twin)}});
  }
  return {{"kind", "TwinList"}, {"twins", all}};
}

}  // namespace lockstep
