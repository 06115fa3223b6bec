// Requests to plan specs: how they are judged and answered.

#include "reconciler/api/api_service.hpp"

namespace lockstep::api {
namespace {

constexpr const char* kAgainAfter = "5";  // seconds: a plan of some thousand devices takes as long

Answer come_back(const std::string& why) {
  Answer out = failure(Http::too_many_requests, why);
  out.headers.emplace_back("Retry-After", kAgainAfter);
  return out;
}

}  // namespace

// Before its body is read.
ApiService::Judged ApiService::judge_proposal(PlannedRequest out, Time now) {
  if (!planner_) return failure(Http::not_found, "this service plans no specs but its own");
  const std::string client = out.as->caller.key();
  if (const auto wait = proposal_rates_.take(client, now)) {
    Answer refused = failure(Http::too_many_requests, "too many plans for this client; try again later");
    refused.headers.emplace_back("Retry-After",
                                 std::to_string(std::chrono::ceil<std::chrono::seconds>(*wait).count()));
    return refused;
  }
  out.turn = proposal_turns_.take(client);
  if (!out.turn)
    return come_back("the service makes other plans, of this client or of too many; try again later");
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
  line.stage = AuditLine::Stage::complete;
  line.at = std::chrono::system_clock::now();
  line.code = static_cast<int>(out.status);
  if (const Result<Done> recorded = audit_.record(line); !recorded)
    return failure(Http::internal_error,
                   "the plan can't be recorded in the audit log: " + recorded.error().text());
  return out;
}

void ApiService::stop() {
  stopping_ = true;
  stops_.request_stop();
  stops_now_.signal();
}

}  // namespace lockstep::api
