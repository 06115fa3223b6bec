// ApiService: what each request of the API means and gets, without a socket.
//
// Promises: a request is judged by its head alone before anything of its body is read: path, method, who
// makes it, their role and limits, media types and sizes. No method of an unknown path tells more than that
// it is unknown. Whatever the bytes are, there is an answer, and everything that fails has a message that
// says why. An action is in the audit log, on the disk, before it begins and before it is acknowledged; one
// that can't be recorded does not begin. plan(), holds() and refresh() are for one thread; answer() for any,
// and it waits (for the store, the disk or the engine) only where PlannedRequest::waits.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include "drivers/posix/wake_descriptor.hpp"
#include "reconciler/api/action_body.hpp"
#include "reconciler/api/answer.hpp"
#include "reconciler/api/audit_log.hpp"
#include "reconciler/api/authentication.hpp"
#include "reconciler/api/list_page.hpp"
#include "reconciler/api/proposal_turns.hpp"
#include "reconciler/api/proposed_specs.hpp"
#include "reconciler/api/rate_limits.hpp"
#include "reconciler/api/routes.hpp"
#include "reconciler/api/service_desk.hpp"
#include "reconciler/api/watch_stream.hpp"
#include "reconciler/metrics/service_metrics.hpp"

namespace lockstep::api {

struct RequestLimits {
  // Twice the rate that the service is measured with, and what a page that opens asks for at once.
  double requests_per_second = 200;
  double requests_burst = 400;
  // Of actions: 10,000 digests of 75 bytes each.
  std::size_t body_max = std::size_t{1} << 20;
  // GitHub caps payloads at 25 MB; they are hashed in pieces and not kept.
  std::size_t webhook_body_max = std::size_t{25} << 20;
  // How long an action may wait for the engine, which is between two callbacks for milliseconds.
  std::chrono::milliseconds action_time{10'000};
  std::size_t proposal_max = kProposedBytesMax;
  // Of one client: choices; people and repositories propose a few changes an hour.
  double proposals_per_second = 0.1;
  double proposals_burst = 5;
  std::size_t proposals_waiting = 4;  // in all, the one that is planned included
  // One that is planned: devices that do not answer take 20 s (ObserveOptions), 4,096 others 30 s.
  std::chrono::milliseconds proposal_time{120'000};
};

struct RequestHead {
  std::string_view method;
  std::string_view target;
  // The value of a header; empty: it is not there.
  std::function<std::string_view(std::string_view name)> header{};
  bool has_body = false;
};

struct PlannedRequest {
  Route route{};
  bool head_only = false;
  std::optional<AuthenticatedAs> as{};
  PageRequest page{};
  std::optional<WatchStream::Request> watch{};
  std::size_t body_max = 0;
  std::shared_ptr<WebhookProof> proof{};  // takes the body; nobody else does
  bool waits = false;
  std::shared_ptr<const void> turn{};  // ProposalTurns
};

struct ApiParts {
  ServiceDesk& desk;
  const ObjectFeed& feed;
  const EventLog& log;
  Authentication authentication;
  AuditLog& audit;
  std::map<Forge, std::string> webhook_secrets{};  // by forge; the others' webhooks are not found
  ServiceMetrics* metrics = nullptr;               // null: they are not found
  Planner planner{};                               // null: no specs are planned
};

class ApiService {
 public:
  ApiService(ApiParts parts, RequestLimits limits);

  using Judged = std::variant<Answer, PlannedRequest>;
  Judged plan(const RequestHead& head, const Peer& peer, Time now);
  // Of a request that is planned, with its body (empty if there is a proof).
  Answer answer(const PlannedRequest& request, const std::string& body);
  WatchStream watch(const WatchStream::Request& request) const;

  bool holds(const AuthenticatedAs& as) const { return authentication_.holds(as); }
  bool refresh(const std::function<void(const std::string&)>& log) { return authentication_.refresh(log); }
  void set_webhook_secrets(std::map<Forge, std::string> secrets) { secrets_ = std::move(secrets); }
  // Actions that wait for the engine wait no longer; what has not begun never does; plans end. Any thread.
  void stop();

 private:
  std::optional<Answer> limited(const std::string& client, Time now);
  Judged plan_webhook(PlannedRequest out, const RequestHead& head) const;
  Judged plan_for_caller(PlannedRequest out, const RequestHead& head, const RequestTarget& target,
                         const Peer& peer, Time now);
  Judged judge_proposal(PlannedRequest out, Time now);
  Answer propose(const PlannedRequest& request, const std::string& body);
  // Writes the line again, with the answer; `what` names it in the error if that can't be written.
  Answer completed(AuditLine line, Answer answer, const std::string& what);
  std::optional<Answer> refuse_role(const PlannedRequest& request);
  Answer answer_list(const PlannedRequest& request) const;
  Answer answer_object(const PlannedRequest& request) const;
  Answer act(const PlannedRequest& request, const std::string& body);
  Answer asked(const PlannedRequest& request, ActionBody said);
  std::optional<Answer> not_there(const Route& route) const;
  AuditLine audit_line(const PlannedRequest& request) const;

  ServiceDesk& desk_;
  const ObjectFeed& feed_;
  const EventLog& log_;
  Authentication authentication_;
  AuditLog& audit_;
  std::map<Forge, std::string> secrets_;
  ServiceMetrics* const metrics_;
  const RequestLimits limits_;
  const Planner planner_;
  RateLimits rates_;
  RateLimits proposal_rates_;
  ProposalTurns proposal_turns_;
  const std::string openapi_;
  std::stop_source stops_;
  WakeDescriptor stops_now_;
  std::atomic<bool> stopping_{false};
};

// Of /healthz and /readyz: one line for each check; reasons are for those who may read.
Answer health_answer();
Answer readiness_answer(const ServiceStatus& status);

}  // namespace lockstep::api
