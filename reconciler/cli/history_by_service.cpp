// `lockstep history --server`: the changes that a running service has in its state.
#include <charconv>
#include <nlohmann/json.hpp>

#include "reconciler/cli/client_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/client/object_fields.hpp"
#include "reconciler/report/run_report.hpp"
#include "specs/language/words.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using client::find_at;
using client::is_true_at;
using client::text_at;
using Json = nlohmann::json;

// What only the state itself can be asked for; empty: nothing of it was asked for.
std::string why_not_by_service(const HistoryOptions& options) {
  if (options.source.twin) return kServiceKnowsTwin;
  if (options.source.specs != ClusterSource().specs)
    return "SPECS: a service has the history of its own cluster alone";
  if (!options.of.empty())
    return "--of: figures run by run are shown where the service runs, without --server or --context; "
           "`lockstep get benchmarkruns` has the runs of a service";
  return "";
}

std::uint64_t number_at(const Json& object, std::string_view path) {
  const Json* const found = find_at(object, path);
  return found != nullptr && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

Result<RunHead> run_from(const Json& run) {
  const auto purpose = spelled<RunPurpose>(text_at(run, "purpose"));
  if (!purpose)
    return Error{ErrorKind::refused, "the service has a run without a purpose that is known here"};
  return RunHead{.number = number_at(run, "run"),
                 .purpose = *purpose,
                 .change = number_at(run, "change"),
                 .under = number_at(run, "newestChange"),
                 .at = text_at(run, "at"),
                 .command = text_at(run, "command"),
                 .author = text_at(run, "author"),
                 .verdict = text_at(run, "verdict"),
                 .config_hash = text_at(run, "configHash"),
                 .version = text_at(run, "version"),
                 .kernel = text_at(run, "kernel"),
                 .measured = number_at(run, "figures"),
                 .kept = number_at(run, "figuresKept")};
}

Result<HistoryChange> change_from(const Json& object) {
  HistoryChange out;
  const std::string name = text_at(object, "metadata.name");
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), out.record.change);
  if (wrong != std::errc() || end != name.data() + name.size())
    return Error{ErrorKind::refused,
                 "the service has a change '" + printable(name) + "', which is no number"};
  out.record.begun = text_at(object, "status.begun");
  out.record.ended = text_at(object, "status.ended");
  out.record.outcome = text_at(object, "status.outcome");
  out.record.author = text_at(object, "spec.author");
  out.record.reason = text_at(object, "spec.reason");
  out.record.digest = text_at(object, "spec.digest");
  out.touched.steps = number_at(object, "status.steps");
  if (const Json* const devices = find_at(object, "status.devices");
      devices != nullptr && devices->is_array())
    for (const Json& device : *devices)
      if (device.is_string()) out.touched.devices.push_back(device.get<std::string>());
  if (const Json* const runs = find_at(object, "status.runs"); runs != nullptr && runs->is_array())
    for (const Json& run : *runs) {
      TRY(RunHead head, run_from(run));
      out.runs.push_back(std::move(head));
    }
  return out;
}

struct ServedHistory {
  std::string cluster;
  bool twin = false;
  ChangeHistory history;
};

Result<ServedHistory> served_history(client::ServiceClient& service, std::size_t newest, const Call& call) {
  ServedHistory out;
  TRY(out.cluster, service.cluster_name(call));
  TRY(const Json cluster, service.object(client::cluster_kind(), out.cluster, call));
  out.twin = is_true_at(cluster, "status.twin");
  TRY(const Json changes, service.list(client::change_kind(), {.limit = newest}, call));
  for (const Json& one : changes.at("items")) {
    TRY(HistoryChange change, change_from(one));
    out.history.changes.push_back(std::move(change));
  }
  return out;
}

}  // namespace

int run_history_by_service(const HistoryOptions& options, const Console& console) {
  if (const std::string why = why_not_by_service(options); !why.empty()) return console.fail_usage(why);
  std::optional<client::ServiceClient> service = open_service(options.at, console);
  if (!service) return kExitError;
  const Result<ServedHistory> served = served_history(*service, options.newest, call_of(console));
  if (!served) return console.fail(served.error());
  if (console.is_text())
    console.print(history_text(printable(served->cluster) + (served->twin ? " (twin)" : ""), served->history,
                               console.out()));
  else
    console.print_document(history_json(served->cluster, served->twin, served->history));
  return kExitInSync;
}

}  // namespace lockstep
