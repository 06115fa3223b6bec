// The process that plans proposed specs.
#include "reconciler/cli/plan_proposal.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drivers/runtime/real_executor.hpp"
#include "reconciler/cli/console.hpp"
#include "reconciler/cli/planning.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/cli/version.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/report/lock_report.hpp"
#include "specs/files/file_error.hpp"
#include "specs/files/read_file.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/words.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kRequestMost = std::size_t{1} << 20;  // paths, and a hostlist of 64 KiB

struct Asked {
  std::string specs;  // folder
  std::string shown;  // how its author names it
  std::string in_force;
  std::string directory;  // of the store
  SpecsAim aim;
  std::string only;
  std::string revision;
  bool details = false;
  api::PlanText text{};

  Terminal terminal() const { return {.colour = text == api::PlanText::colour}; }
  ClusterSource source(const std::string& folder) const {
    return {
        .specs = {folder}, .twin = aim.twin, .stands_for = aim.stands_for, .max_entries = aim.max_entries};
  }
};

// What the command would print, and end with.
struct Answer {
  Json document;
  std::string text{};
  std::string warnings{};
  std::vector<std::string> notes{};
  int exit_code = kExitError;
};

Asked asked_by(const Json& request) {
  Asked out;
  out.specs = request.at("specs");
  out.shown = request.at("shown");
  out.in_force = request.at("inForce");
  out.directory = request.at("directory");
  out.aim.twin = request.at("twin");
  out.aim.stands_for = request.at("standsFor");
  out.aim.max_entries = request.at("maxEntries");
  out.only = request.at("only");
  out.revision = request.at("revision");
  out.details = request.at("details");
  out.text = spelled<api::PlanText>(request.at("text").get<std::string>()).value();
  return out;
}

Answer failed(const Error& error, const Asked& asked) {
  const std::string message = printable(error.text());
  return {
      .document = {{"kind", "Error"}, {"errors", {{{"code", to_string(error.kind)}, {"message", message}}}}},
      .text = asked.terminal().paint(Ink::red, "error: ") + message + "\n"};
}

Colour colour_of(const Asked& asked) {
  return asked.text == api::PlanText::colour ? Colour::on : Colour::off;
}

// Files as their author names them.
void name_as_shown(Sources& sources, const Asked& asked) {
  for (SourceFile& file : sources.files)
    if (!file.name.empty())
      file.name = (std::filesystem::path(asked.shown) / file.name).lexically_normal().string();
}

bool is_same(const Connect& one, const Connect& other) {
  const auto same = [](const auto& a, const auto& b) { return a.said == b.said && a.value == b.value; };
  return same(one.agent, other.agent) && same(one.local, other.local) && same(one.redis, other.redis) &&
         same(one.ssh, other.ssh) && same(one.https, other.https);
}

using Connects = std::map<std::string, Connect>;  // by device

Connects connects_of(const OpenedCluster& cluster) {
  Connects out;
  for (const TopologyDevice& device : cluster.compiled.topology.devices)
    out.emplace(device.name, cluster.catalog.device_sets[device.set].connect.value);
  return out;
}

// A twin's devices are reached in the twin, whatever specs say.
std::optional<Error> why_not_asked(const Connects& in_force, const DriverTarget& target) {
  if (target.twin) return std::nullopt;
  const auto known = in_force.find(target.device);
  if (known == in_force.end())
    return Error{ErrorKind::refused,
                 "new with these specs: the service asks only devices of the specs in force"};
  if (!is_same(known->second, target.connect))
    return Error{ErrorKind::refused,
                 "its `connect` is not that of the specs in force: the service asks it nowhere else"};
  return std::nullopt;
}

DriverTable drivers_for(const std::shared_ptr<const Connects>& in_force) {
  DriverTable out = driver_table();
  for (auto& [name, row] : out) {
    row.jobs = nullptr;
    row.attach = [in_force,
                  attach = row.attach](const DriverTarget& target) -> Result<std::optional<Attached>> {
      if (auto why = why_not_asked(*in_force, target)) return *std::move(why);
      return attach(target);
    };
  }
  return out;
}

// The specs in force decide which cluster this is, and where its devices are.
Result<std::shared_ptr<const Connects>> may_plan(const OpenedCluster& cluster, const Asked& asked) {
  TRY_DONE(has_devices(cluster));
  TRY(const OpenedCluster in_force, load_cluster(asked.source(asked.in_force)));
  if (!in_force.valid())
    return Error{ErrorKind::transient, "the specs in force are not valid any more; try again later"};
  if (identity_of(cluster) != identity_of(in_force))
    return Error{ErrorKind::refused, "these are the specs of another cluster (" + identity_of(cluster) +
                                         "); this service leads " + identity_of(in_force)};
  if (!why_not_locked(cluster).empty()) return Error{ErrorKind::refused, why_stale(lock_change(cluster))};
  return std::make_shared<const Connects>(connects_of(in_force));
}

Result<Answer> planned(OpenedCluster cluster, const Asked& asked) {
  TRY(const std::shared_ptr<const Connects> in_force, may_plan(cluster, asked));
  const DriverTable drivers = drivers_for(in_force);
  std::unique_ptr<ClusterSession> session;  // the executor must be destroyed before it
  RealExecutor executor;
  SessionSeams seams{.drivers = drivers, .executor = executor};
  seams.directory = asked.directory;
  seams.version = LOCKSTEP_VERSION;
  seams.first_hops = first_hops_here();
  TRY(session, ClusterSession::open(std::move(cluster), seams));
  if (!asked.only.empty()) {
    TRY(const std::vector<std::string> names, expand_hostlist(asked.only));
    Result<Done> chosen = session->choose(names);
    if (!chosen) return wrap("--only", std::move(chosen.error()));
  }
  TRY(const Planned planned, planned_from(*session, session->observe(), asked.details));
  Answer out{.document = plan_report_json(planned.report), .exit_code = planned.exit_code};
  out.document["cluster"] = session->cluster().name;
  out.document["twin"] = session->cluster().twin;
  out.document["specsCommit"] = "";  // whoever proposes them knows
  for (const NotObserved& some : planned.not_observed)
    out.notes.push_back(not_observed_line(some, asked.terminal()));
  if (asked.text != api::PlanText::none) out.text = plan_report_text(planned.report, asked.terminal());
  return out;
}

Answer answer_to(const Asked& asked) {
  // No message names a folder of the service.
  if (::chdir(asked.specs.c_str()) != 0) return failed(file_error(asked.specs, errno), asked);
  Result<OpenedCluster> cluster = load_cluster(asked.source("."));
  if (!cluster) return failed(cluster.error(), asked);
  Sources& sources = cluster->catalog.sources;
  name_as_shown(sources, asked);
  const std::string shown = excerpts(cluster->diagnostics, sources, colour_of(asked));
  if (!cluster->valid()) return {.document = error_report(cluster->diagnostics, sources), .text = shown};
  Result<Answer> out = planned(*std::move(cluster), asked);
  if (!out) return failed(out.error(), asked);
  out->warnings = shown;
  return *std::move(out);
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// In all texts: messages may have the whole name of a file, as of allocations.lock.
void rename_folder(Json& document, const Asked& asked) {
  if (document.is_string()) {
    auto& text = document.get_ref<std::string&>();
    replace_all(text, asked.specs + "/", asked.shown.empty() ? "" : asked.shown + "/");
    replace_all(text, asked.specs, asked.shown.empty() ? "." : asked.shown);
  } else if (document.is_structured()) {
    for (Json& one : document) rename_folder(one, asked);
  }
}

std::string text_of(Answer answer, const Asked& asked) {
  Json service{{"exitCode", answer.exit_code}, {"notObserved", std::move(answer.notes)}};
  service["revision"] = asked.revision;
  if (asked.text != api::PlanText::none) {
    service["text"] = std::move(answer.text);
    service["warnings"] = std::move(answer.warnings);
  }
  answer.document["service"] = std::move(service);
  rename_folder(answer.document, asked);
  return json_text(Console().whole(std::move(answer.document)), 2);
}

// The service goes first, as far as the filter of its unit lets nice(2) do that.
void stand_back() {
  constexpr int kNice = 10;
  [[maybe_unused]] const int nice = ::nice(kNice);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

// It ends with the service, also where that is killed. prctl(2), as setpriv(1) needs capset(2), which the
// unit of the service does not allow.
void end_with_service() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

}  // namespace

int plan_proposal_main() {
  stand_back();
  end_with_service();
  const FileText request = read_open(STDIN_FILENO, kRequestMost);
  const Json parsed = Json::parse(request.text, nullptr, false);
  if (!request || !parsed.is_object()) {
    std::fputs("only `lockstep serve` starts this\n", stderr);
    return kExitError;
  }
  if (parsed.at("service").get<pid_t>() != ::getppid())
    return kExitError;  // the service ended before prctl(2)
  const Asked asked = asked_by(parsed);
  Answer answer = answer_to(asked);
  const std::string word = answer.document["kind"] == "Error" ? "error\n" : "plan\n";
  const std::string out = word + text_of(std::move(answer), asked);
  const bool written =
      std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
  return written ? kExitInSync : kExitError;
}

}  // namespace lockstep
