// Requests to plan specs: how they are judged and answered.

#include "reconciler/api/api_service.hpp"

namespace lockstep::api {
namespace {

constexpr std::chrono::seconds kAgainAfter{5};  // a plan of some thousand devices takes as long

}  // namespace

// Before its body is read.
ApiService::Judged ApiService::judge_proposal(PlannedRequest out, Time now) {
  if (!planner_) return failure(Http::not_found, "this service plans no specs but its own");
  const std::string client = out.as->caller.key();
  if (const auto wait = proposal_rates_.take(client, now))
    return too_many("too many plans for this client; try again later", *wait);
  out.turn = proposal_turns_.take(client);
  if (!out.turn)
    return too_many("the service makes other plans, of this client or of too many; try again later",
                    kAgainAfter);
  out.waits = true;
  out.body_max = limits_.proposal_max;
  return out;
}

Answer ApiService::propose(const PlannedRequest& request, const std::string& body) {
  Result<ProposedSpecs> specs = parse_proposed_specs(body);
  if (!specs) return failure(Http::bad_request, specs.error().text());
  if (auto missing = not_there(request.route)) return *std::move(missing);
  AuditLine line = audit_line(request);
  line.reason = summary_of(*specs);
  if (const Result<Done> recorded = audit_.record(line); !recorded)
    return failure(Http::unavailable,
                   "nothing is planned, as the audit log can't be written: " + recorded.error().text());
  const std::shared_ptr<const ServiceStatus> status = desk_.status();
  Result<PlannedProposal> planned =
      planner_(*specs, *status,
               {.deadline = std::chrono::steady_clock::now() + limits_.proposal_time,
                .stop = stops_.get_token(),
                .wake_fd = stops_now_.number()});
  Answer out;
  if (!planned) {
    line.outcome = planned.error().text();
    out = failure(planned.error());
  } else {
    line.outcome = planned->valid ? "planned" : "the specs can't be planned";
    out = {.status = planned->valid ? Http::ok : Http::unprocessable, .body = std::move(planned->document)};
  }
  return completed(std::move(line), std::move(out), "the plan");
}

void ApiService::stop() {
  stopping_ = true;
  stops_.request_stop();
  stops_now_.signal();
}

}  // namespace lockstep::api
