#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/twin_report.hpp"
#include "reconciler/session/cluster_twin.hpp"
#include "reconciler/twin/faults.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kShownDifferences = 8;  // chosen: leaves room on a screen for the daemons

std::optional<OpenedCluster> open_twin(ClusterSource source, const Console& console) {
  source.twin = true;
  return open_cluster(source, console);
}

// Locks a running twin that will be changed; none: nothing changes.
Result<std::vector<FileLock>> lock_to_change(const OpenedCluster& cluster, const TwinRecord& asked) {
  const Result<TwinReport> running = examine(cluster.id);
  const bool changes = running && running->alive &&
                       (!running->lost_cables.empty() || running->record.link_rate != asked.link_rate ||
                        !differences(running->record, asked, 1).empty());
  if (!changes) return std::vector<FileLock>{};
  Result<std::vector<FileLock>> locks = lock_out_others(state_directory(cluster), "lockstep twin up");
  return locks ? std::move(locks) : wrap("the twin is not changed", std::move(locks.error()));
}

int list_faults(const Console& console) {
  if (console.is_text())
    console.print(faults_text(console.out()));
  else
    console.print_document(faults_json());
  return kExitInSync;
}

}  // namespace

int run_twin_up(const TwinUpOptions& options, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_twin(options.source, console);
  if (!cluster) return kExitError;
  if (Result<Done> any = has_devices(*cluster); !any) return console.fail(any.error());
  TwinOptions twin;
  twin.lldp = !options.no_lldp;
  twin.agents = options.agents;
  twin.name = cluster->name;
  twin.folder = cluster->folder;
  twin.link_rate = cluster->link_rate;
  const TwinLayout layout = layout_of(*cluster);
  const auto locks = lock_to_change(*cluster, {.layout = layout,
                                               .lldp = twin.lldp,
                                               .agents = twin.agents,
                                               .frr_profile = twin.frr_profile,
                                               .name = twin.name,
                                               .folder = twin.folder,
                                               .link_rate = twin.link_rate});
  if (!locks) return console.fail(locks.error());
  const Result<TwinHandle> handle = up(
      layout, twin, [&console](const TwinProgress& at) { console.say_passing(twin_progress_line(at)); },
      console.stop);
  console.say_passing("");
  if (!handle) return console.fail(handle.error());
  if (console.is_text())
    console.print(twin_up_text(*cluster, *handle));
  else
    console.print_document(of_cluster(*cluster, twin_up_json(*cluster, *handle)));
  return kExitInSync;
}

int run_twin_status(const ClusterSource& source, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_twin(source, console);
  if (!cluster) return kExitError;
  const Result<TwinReport> report = examine(cluster->id);
  if (!report) return console.fail(report.error());
  std::vector<std::string> other;
  if (report->alive) {
    TwinRecord asked = report->record;
    asked.layout = layout_of(*cluster);
    other = differences(report->record, asked, kShownDifferences);
  }
  if (console.is_text())
    console.print(twin_status_text(*cluster, *report, other, console.out()));
  else
    console.print_document(of_cluster(*cluster, twin_status_json(*cluster, *report, other)));
  return report->sound() && other.empty() ? kExitInSync : kExitDifferent;
}

int run_twin_exec(const TwinExecOptions& options, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_twin(ClusterSource{.specs = {options.specs}}, console);
  if (!cluster) return kExitError;
  return console.fail(exec(cluster->id, options.device, options.command));
}

int run_twin_break(const TwinBreakOptions& options, const Console& console) {
  if (options.list) return list_faults(console);
  if (options.fault.empty())
    return console.fail_usage("which fault? `lockstep twin break --list` shows them");
  const std::optional<OpenedCluster> cluster = open_twin(ClusterSource{.specs = {options.specs}}, console);
  if (!cluster) return kExitError;
  Call call;
  call.deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);  // a hung daemon is reported as a fault
  call.stop = console.stop;
  call.wake_fd = console.stop_fd;
  const Result<std::vector<std::string>> done =
      break_twin(cluster->id, options.fault, options.arguments, call);
  if (!done) return console.fail(done.error());
  if (console.is_text()) {
    for (const std::string& line : *done) console.print(printable(line) + "\n");
  } else {
    console.print_document(of_cluster(*cluster, twin_broken_json(*cluster, options.fault, *done)));
  }
  return kExitInSync;
}

}  // namespace lockstep
