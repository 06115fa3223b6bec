// `lockstep history` and `lockstep show`: past changes, and their measurements.
#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/run_report.hpp"

namespace lockstep {

int run_history(const HistoryOptions& options, const Console& console) {
  if (options.at.is_named()) return run_history_by_service(options, console);
  const std::optional<OpenedCluster> cluster = open_cluster(options.source, console);
  if (!cluster) return kExitError;
  const Result<ChangeHistory> history =
      change_history(state_directory(*cluster), {.newest = options.newest,
                                                 .of = options.of,
                                                 .metric = options.metric,
                                                 .statistic = options.statistic.value_or(Statistic::median)});
  if (!history) return console.fail(history.error());
  if (console.is_text())
    console.print(history_text(cluster->title(), *history, console.out()));
  else
    console.print_document(of_cluster(*cluster, history_json(cluster->name, cluster->twin, *history)));
  return kExitInSync;
}

int run_show(const ShowOptions& options, const Console& console) {
  const std::optional<OpenedCluster> cluster = open_cluster(options.source, console);
  if (!cluster) return kExitError;
  const Result<ShownChange> change = shown_change(state_directory(*cluster), options.change);
  if (!change) return console.fail(change.error());
  if (console.is_text())
    console.print(change_text(cluster->title(), *change, console.out()));
  else
    console.print_document(of_cluster(*cluster, change_json(cluster->name, cluster->twin, *change)));
  return kExitInSync;
}

}  // namespace lockstep
