// `lockstep plan --server`: a running service plans the specs, on the devices that it reaches.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reconciler/api/proposed_specs.hpp"
#include "reconciler/cli/client_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/client/object_fields.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/session/specs_commit.hpp"
#include "reconciler/source/folder_snapshot.hpp"
#include "specs/files/absolute_path.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Behind three other plans, each of 2 minutes (api::RequestLimits).
constexpr std::chrono::minutes kAnswerMost{10};

// What only an observation from here can be used for; empty: nothing of it was asked for.
std::string why_not_by_service(const PlanOptions& options) {
  const ClusterSource& source = options.source;
  std::error_code none;
  if (source.twin || !source.link_rate.empty())
    return kServiceKnowsTwin;
  if (source.renumber) return "--renumber: a service takes the numbers of allocations.lock alone";
  if (!options.out.empty())
    return "--out: `apply` takes plans that were made where it runs; without --server or --context, plan "
           "writes one";
  if (source.specs.size() != 1 || !fs::is_directory(source.specs.front(), none))
    return "SPECS: a service is sent one folder, with all that is in it";
  return "";
}

bool is_spec_file(const std::string& path) { return path.ends_with(".yaml") || path.ends_with(".yml"); }

// All files of the folder: specs name some of them. What is no text is none of the specs.
Result<Json> files_in(const FolderSnapshot& snapshot) {
  Json out = Json::object();
  for (const auto& [path, entry] : snapshot) {
    if (entry.kind != SnapshotEntry::Kind::file) continue;
    if (!find_invalid_utf8(entry.content) && !find_invalid_utf8(path))
      out[path] = entry.content;
    else if (is_spec_file(path))
      return Error{ErrorKind::invalid_spec, printable(path) + ": is not UTF-8"};
  }
  if (out.empty()) return Error{ErrorKind::invalid_spec, "there are no files in the folder of specs"};
  return out;
}

// As `plan` names the folder in what it shows.
std::string shown_folder(const std::string& specs) {
  std::string out = fs::path(specs).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out == "." ? "" : out;
}

Result<FolderSnapshot> snapshot_of(const std::string& specs, const Call& call) {
  Fetched<FolderSnapshot> read = read_folder({.folder = absolute_path(specs),
                                              .cache = "",
                                              .max_bytes = api::kProposedBytesMax,
                                              .max_files = api::kProposedFilesMax},
                                             call);
  if (!read) return read.error().error;
  return *std::move(read);
}

Json request_for(const PlanOptions& options, Json files, const Console& console) {
  Json out{{"files", std::move(files)}, {"folder", shown_folder(options.source.specs.front())}};
  if (!options.only.empty()) out["only"] = options.only;
  if (options.details) out["details"] = true;
  if (console.is_text()) out["text"] = console.out().colour ? "colour" : "plain";
  return out;
}

std::string commit_of(const std::string& specs, const FolderSnapshot& snapshot) {
  Sources sources;
  for (const auto& [path, entry] : snapshot)
    if (is_spec_file(path)) sources.add((fs::path(specs) / path).string(), entry.content);
  return specs_commit(specs, sources);
}

int exit_code_in(const Json& service) {
  const Json* const code = client::find_at(service, "exitCode");
  if (code == nullptr || !code->is_number_integer()) return kExitError;
  return std::clamp(code->get<int>(), kExitInSync, kExitIncomplete);
}

int show_text(const Json& document, const Json& service, const Console& console) {
  const std::string text = client::text_at(service, "text");
  std::fputs(report_text(client::text_at(service, "warnings")).c_str(), stderr);
  if (client::text_at(document, "kind") == "Error") {
    std::fputs(report_text(text).c_str(), stderr);
    return kExitError;
  }
  if (const Json* const notes = client::find_at(service, "notObserved");
      notes != nullptr && notes->is_array())
    for (const Json& note : *notes)
      if (note.is_string()) console.note(note.get<std::string>());
  console.print(text);
  return exit_code_in(service);
}

}  // namespace

int run_plan_by_service(const PlanOptions& options, const Console& console) {
  if (const std::string why = why_not_by_service(options); !why.empty()) return console.fail_usage(why);
  const std::string& specs = options.source.specs.front();
  const Result<FolderSnapshot> snapshot = snapshot_of(specs, call_of(console));
  if (!snapshot) return console.fail(snapshot.error());
  Result<Json> files = files_in(*snapshot);
  if (!files) return console.fail(files.error());
  std::optional<client::ServiceClient> service = open_service(options.at, console, {.answer = kAnswerMost});
  if (!service) return kExitError;
  console.say_passing("waiting for the plan of " + service->server());
  Result<Json> answer = service->plan(request_for(options, *std::move(files), console), call_of(console));
  console.say_passing("");
  if (!answer) return console.fail(answer.error());
  Json beside = answer->value("service", Json::object());
  if (console.is_text()) return show_text(*answer, beside, console);
  const int code = client::text_at(*answer, "kind") == "Error" ? kExitError : exit_code_in(beside);
  beside["address"] = service->server();
  (*answer)["service"] = std::move(beside);
  if (answer->contains("specsCommit")) (*answer)["specsCommit"] = commit_of(specs, *snapshot);
  console.print_document(*answer);
  return code;
}

}  // namespace lockstep
