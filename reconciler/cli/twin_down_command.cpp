// `lockstep twin list` and `lockstep twin down`: for all twins on this machine, even if their specs are gone.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/twin_report.hpp"
#include "reconciler/session/cluster_twin.hpp"
#include "reconciler/twin/remains.hpp"
#include "reconciler/twin/twin.hpp"
#include "specs/files/own_folder.hpp"

namespace lockstep {
namespace {

constexpr const char* kHowWithoutSpecs =
    "`lockstep twin list` names the twins on this machine, and `lockstep twin down --name NAME` takes one "
    "down";

Result<std::vector<TwinHere>> twins_here() {
  std::vector<TwinHere> out;
  TRY(const std::vector<std::string> clusters, twin_clusters());
  for (const std::string& id : clusters) {
    out.push_back({id, examine(id)});
    Result<TwinReport>& report = out.back().report;
    // If a twin's supervisor has died, only its record still identifies it.
    if (report && !report->alive) report->record = recorded_twin(id).value_or(TwinRecord{});
  }
  return out;
}

// Similar twins, if the folder has none: of a cluster with that name, or from that folder.
std::string others_like(const OpenedCluster& cluster) {
  std::string out;
  const Result<std::vector<TwinHere>> twins = twins_here();
  if (!twins) return "";
  for (const TwinHere& twin : *twins) {
    if (!twin.report || twin.id == cluster.id) continue;
    const TwinRecord& record = twin.report->record;
    if (record.name != cluster.name && record.folder != cluster.folder) continue;
    out += fmt::format("{} of {}, made from {}, is up\n", twin.id, record.name, record.folder);
  }
  return out.empty() ? "" : out + kHowWithoutSpecs + "\n";
}

// `name`: for display. The cluster: null if no specs were read.
int take_down(const std::string& id, const std::string& name, const OpenedCluster* cluster, bool force,
              const Console& console) {
  if (geteuid() != 0)
    return console.fail(
        Error{ErrorKind::denied, "a twin is taken down by root: it is made of namespaces and mounts"});
  if (Result<Done> valid = validate_cluster_id(id); !valid) return console.fail(valid.error());
  const std::string directory = state_directory(id, true);
  const Result<Done> own = check_own_folder(directory);
  const Result<std::vector<FileLock>> locks =
      own ? lock_out_others(directory, "lockstep twin down") : own.error();
  if (!locks && !force)
    return console.fail(wrap("not taken down; --force does it all the same", locks.error()));
  const Result<TwinGone> gone = down(id);
  if (!gone) return console.fail(gone.error());
  std::error_code ignored;  // the store of a twin is deleted with it, and may be missing
  if (own) std::filesystem::remove_all(directory, ignored);
  const bool was_there = gone->was_up || !gone->cleaned.empty();
  if (!was_there && cluster == nullptr)
    return console.fail(
        Error{ErrorKind::refused, "no twin is called " + id + "; `lockstep twin list` names them"});
  if (!console.is_text()) {
    console.print_document(twin_down_json(name, id, *gone));
    return kExitInSync;
  }
  console.print(twin_down_text(name, *gone));
  if (!was_there) console.print(others_like(*cluster));
  return kExitInSync;
}

}  // namespace

int run_twin_list(const Console& console) {
  const Result<std::vector<TwinHere>> twins = twins_here();
  if (!twins) return console.fail(twins.error());
  if (console.is_text())
    console.print(twins_text(*twins, console.out()));
  else
    console.print_document(twins_json(*twins));
  return kExitInSync;
}

int run_twin_down(const TwinDownOptions& options, const Console& console) {
  if (!options.name.empty()) return take_down(options.name, options.name, nullptr, options.force, console);
  ClusterSource source = options.source;
  source.twin = true;
  source.renumber = true;  // irrelevant here: an unreadable store is deleted with the twin
  const std::optional<OpenedCluster> cluster = open_cluster(source, console);
  if (!cluster) {
    if (console.is_text()) console.note(kHowWithoutSpecs);
    return kExitError;
  }
  return take_down(cluster->id, cluster->name, &*cluster, options.force, console);
}

}  // namespace lockstep
