// `lockstep state`: the stored state of a cluster, backup and restore.
#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/local/local_drivers.hpp"
#include "reconciler/report/state_report.hpp"
#include "reconciler/session/identity.hpp"
#include "reconciler/store/backup.hpp"

namespace lockstep {

int run_state_show(const ClusterSource& source, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_cluster(source, console);
  if (!cluster) return kExitError;
  const Result<StoredState> state = stored_state(state_directory(*cluster));
  if (!state) return console.fail(state.error());
  if (console.is_text())
    console.print(state_text(*cluster, *state, console.out()));
  else
    console.print_document(of_cluster(*cluster, state_json(*cluster, *state)));
  return kExitInSync;
}

int run_state_backup(const StateFileOptions& options, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_cluster(options.source, console);
  if (!cluster) return kExitError;
  const Result<Backup> backup =
      back_up(state_directory(*cluster), options.file, {.cluster = cluster->state_name()});
  if (!backup) return console.fail(backup.error());
  if (console.is_text())
    console.print(backup_text(*cluster, *backup));
  else
    console.print_document(of_cluster(*cluster, backup_json(*cluster, *backup)));
  return kExitInSync;
}

int run_state_restore(const StateFileOptions& options, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_cluster(options.source, console);
  if (!cluster) return kExitError;
  const Result<Restored> restored = restore(state_directory(*cluster), options.file, "lockstep state restore",
                                            {.cluster = cluster->state_name()});
  if (!restored) return console.fail(restored.error());
  if (console.is_text())
    console.print(restored_text(*cluster, options.file, *restored));
  else
    console.print_document(of_cluster(*cluster, restored_json(*cluster, options.file, *restored)));
  return kExitInSync;
}

int run_state_adopt(const ClusterSource& source, const Console& console) {
  std::optional<OpenedCluster> cluster = open_cluster(source, console);
  if (!cluster) return kExitError;
  const char* const command = "lockstep state adopt";
  const Result<Done> settled = settle_identity(*cluster, command, std::chrono::system_clock::now());
  if (!settled) return console.fail(settled.error());
  const MachineUser user{cluster->name, cluster->folder, state_directory(*cluster), cluster->uuid()};
  const Result<Adopted> adopted =
      adopt(this_machine(), machine_folders(), user, command, {.cluster = cluster->state_name()});
  if (!adopted) return console.fail(adopted.error());
  if (console.is_text())
    console.print(adopted_text(*cluster, *adopted));
  else
    console.print_document(of_cluster(*cluster, adopted_json(*cluster, *adopted)));
  return kExitInSync;
}

}  // namespace lockstep
