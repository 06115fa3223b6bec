// Actions of ApiService, and its answers about the service's own health.

#include <algorithm>
#include <future>

#include "drivers/posix/random_uuid.hpp"
#include "reconciler/api/api_service.hpp"

namespace lockstep::api {
namespace {

// A line for an operator, as Kubernetes' own components print theirs.
std::string check_line(bool well, std::string_view what) {
  return std::string(well ? "[+]" : "[-]") + std::string(what) + (well ? " ok\n" : " failed\n");
}

bool wait_for_engine(const std::future<Result<Done>>& outcome, Time deadline,
                     const std::atomic<bool>& stopping) {
  constexpr std::chrono::milliseconds kLook{50};  // how late a stop may be noticed
  while (!stopping && std::chrono::steady_clock::now() < deadline)
    if (outcome.wait_for(kLook) == std::future_status::ready) return true;
  return outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

Answer health_answer() { return {.body = "ok\n", .type = kText}; }

Answer readiness_answer(const ServiceStatus& status) {
  // A service that does not lead is ready all the same if another one may: it follows.
  const bool fetched = status.source.fetched.has_value();
  const bool valid = !status.cluster.empty();
  const bool stored = status.record_trouble.empty();
  std::string text =
      check_line(fetched, "source") + check_line(valid, "specs") + check_line(stored, "record");
  text += status.leads ? "[+]leads\n" : "[+]follows\n";
  const bool ready = fetched && valid && stored;
  text += ready ? "ready\n" : "not ready; Cluster's status says why\n";
  return {.status = ready ? Http::ok : Http::unavailable, .body = std::move(text), .type = kText};
}

AuditLine ApiService::audit_line(const PlannedRequest& request) const {
  const Result<std::string> id = random_uuid("the audit log");
  return {.id = id ? *id : "",
          .at = std::chrono::system_clock::now(),
          .caller = request.as->caller,
          .action = std::string(request.route.action != nullptr ? request.route.action->word : kPlanWord),
          .object = std::string(row_of(request.route.kind).name) + "/" + request.route.name};
}

// An object that is known not to be there. The engine decides about the others.
std::optional<Answer> ApiService::not_there(const Route& route) const {
  const std::vector<ApiObjectPtr>& all = feed_.board()->of(route.kind);
  const bool found = std::ranges::any_of(all, [&](const ApiObjectPtr& one) {
    return route.kind == Kind::revision ? one->name.starts_with(route.name) : one->name == route.name;
  });
  if (found) return std::nullopt;
  return not_found(row_of(route.kind), route.name);
}

Answer ApiService::act(const PlannedRequest& request, const std::string& body) {
  Result<ActionBody> said = parse_action_body(*request.route.action, body);
  if (!said) return failure(Http::bad_request, said.error().text());
  if (auto missing = not_there(request.route)) return *std::move(missing);
  return asked(request, *std::move(said));
}

// From here on the audit log has it: first that it was asked for, then what became of it.
Answer ApiService::asked(const PlannedRequest& request, ActionBody said) {
  AuditLine line = audit_line(request);
  line.steps = said.steps;
  line.reason = said.reason;
  if (const Result<Done> recorded = audit_.record(line); !recorded)
    return failure(Http::unavailable,
                   "nothing was done, as the audit log can't be written: " + recorded.error().text());
  const auto answered = std::make_shared<std::promise<Result<Done>>>();
  std::future<Result<Done>> outcome = answered->get_future();
  const Time deadline = std::chrono::steady_clock::now() + limits_.action_time;
  const std::shared_ptr<AskedAction> action =
      desk_.ask({.verb = request.route.action->verb,
                 .name = request.route.name,
                 .steps = std::move(said.steps),
                 .by = {.who = line.caller.who(), .reason = line.reason, .at = line.at}},
                deadline, [answered](Result<Done> result) { answered->set_value(std::move(result)); });
  const bool in_time = wait_for_engine(outcome, deadline, stopping_);
  Answer out = success(Http::ok, std::string(request.route.action->word) + ": done");
  line.outcome = "done";
  if (!in_time && action->withdraw()) {
    line.outcome = "nothing was done: the service did not take it in time";
    out = failure(Http::unavailable, line.outcome + "; try again");
  } else if (const Result<Done> result = outcome.get(); !result) {
    line.outcome = result.error().text();
    out = failure(result.error());
  }
  const std::string what = "the outcome (" + line.outcome + ")";
  return completed(std::move(line), std::move(out), what);
}

Answer ApiService::completed(AuditLine line, Answer answer, const std::string& what) {
  line.stage = AuditLine::Stage::complete;
  line.at = std::chrono::system_clock::now();
  line.code = static_cast<int>(answer.status);
  if (const Result<Done> done = audit_.record(line); !done)
    return failure(Http::internal_error,
                   what + " can't be recorded in the audit log: " + done.error().text());
  return answer;
}

}  // namespace lockstep::api
