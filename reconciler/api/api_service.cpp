#include "reconciler/api/api_service.hpp"

#include "reconciler/api/media_types.hpp"
#include "reconciler/api/openapi.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

Answer not_acceptable(std::string_view type) {
  return failure(Http::not_acceptable, "the Accept header does not admit " + std::string(type));
}

bool is_set(const std::map<std::string, std::string>& query, const char* name) {
  const auto found = query.find(name);
  return found != query.end() && (found->second == "1" || found->second == "true");
}

std::string text_in(const std::map<std::string, std::string>& query, const char* name) {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

// What the request of an action or a plan must say of its body.
std::optional<Answer> wrong_content(const RequestHead& head) {
  const std::string_view coding = head.header("Content-Encoding");
  if (!coding.empty() && coding != "identity")
    return failure(Http::unsupported_media_type, "the body must not be compressed");
  if (head.has_body && !is_json_type(head.header("Content-Type")))
    return failure(Http::unsupported_media_type, "the body must be application/json");
  return std::nullopt;
}

Answer allowed_methods(const Route& route) {
  Answer out{.status = Http::no_content, .type = {}};
  out.headers.emplace_back("Allow", std::string(route.allowed()));
  return out;
}

}  // namespace

ApiService::ApiService(ApiParts parts, RequestLimits limits)
    : desk_(parts.desk),
      feed_(parts.feed),
      log_(parts.log),
      authentication_(std::move(parts.authentication)),
      audit_(parts.audit),
      secrets_(std::move(parts.webhook_secrets)),
      metrics_(parts.metrics),
      limits_(limits),
      planner_(std::move(parts.planner)),
      rates_(limits.requests_per_second, limits.requests_burst),
      proposal_rates_(limits.proposals_per_second, limits.proposals_burst),
      proposal_turns_(limits.proposals_waiting),
      openapi_(openapi_document().dump()) {}

std::optional<Answer> ApiService::limited(const std::string& client, Time now) {
  const auto wait = rates_.take(client, now);
  if (!wait) return std::nullopt;
  return too_many("too many requests from this client; try again later", *wait);
}

ApiService::Judged ApiService::plan(const RequestHead& head, const Peer& peer, Time now) {
  const std::string stranger = "address:" + peer.limits_key;
  if (head.method == "OPTIONS" && head.target == "*") {
    if (auto wait = limited(stranger, now)) return *std::move(wait);
    return allowed_methods({.what = What::healthz});
  }
  const Result<RequestTarget> target = parse_target(head.target);
  PlannedRequest out;
  if (target) out.route = route_of(*target);
  const bool for_callers = target && (out.route.what == What::list || out.route.what == What::object ||
                                      out.route.what == What::action || out.route.what == What::proposal ||
                                      out.route.what == What::metrics);
  if (!for_callers)
    if (auto wait = limited(stranger, now)) return *std::move(wait);
  if (!target) return failure(target.error());
  if (out.route.what == What::nothing ||
      (out.route.what == What::webhook && !secrets_.contains(out.route.forge)) ||
      (out.route.what == What::metrics && metrics_ == nullptr))
    return failure(Http::not_found, "unknown path; /openapi.json has all of them");
  if (!out.route.allows(head.method)) {
    if (for_callers)
      if (auto wait = limited(stranger, now)) return *std::move(wait);
    Answer refused =
        failure(Http::method_not_allowed, "method must be one of " + std::string(out.route.allowed()));
    refused.headers.emplace_back("Allow", std::string(out.route.allowed()));
    return refused;
  }
  if (head.method == "OPTIONS") {
    if (for_callers)
      if (auto wait = limited(stranger, now)) return *std::move(wait);
    return allowed_methods(out.route);
  }
  out.head_only = head.method == "HEAD";
  if (head.has_body && head.method != "POST") return failure(Http::bad_request, "a GET request has no body");
  if (out.route.what == What::webhook) return plan_webhook(std::move(out), head);
  if (for_callers) return plan_for_caller(std::move(out), head, *target, peer, now);
  return out;
}

ApiService::Judged ApiService::plan_webhook(PlannedRequest out, const RequestHead& head) const {
  const std::string_view proof = head.header(proof_header(out.route.forge));
  if (proof.empty())
    return failure(Http::unauthorized, "header " + std::string(proof_header(out.route.forge)) +
                                           " is missing: set the secret there");
  out.body_max = limits_.webhook_body_max;
  out.proof = std::make_shared<WebhookProof>(out.route.forge, secrets_.at(out.route.forge), proof);
  return out;
}

ApiService::Judged ApiService::plan_for_caller(PlannedRequest out, const RequestHead& head,
                                               const RequestTarget& target, const Peer& peer, Time now) {
  Result<AuthenticatedAs> as = authentication_.judge(head.header("Authorization"), peer);
  if (auto wait = limited(as ? as->caller.key() : "address:" + peer.limits_key, now)) return *std::move(wait);
  if (!as) return failure(Http::unauthorized, as.error().text());
  out.as = *std::move(as);
  if (out.route.what == What::metrics) {
    out.waits = true;  // of thousands of devices it is a megabyte
    return out;
  }
  const KindRow& kind = row_of(out.route.kind);
  if (out.route.what == What::action || out.route.what == What::proposal) {
    out.waits = true;
    if (out.route.what == What::action)
      if (auto refused = refuse_role(out)) return *std::move(refused);
    if (!accepts(head.header("Accept"), kJson)) return not_acceptable(kJson);
    if (auto wrong = wrong_content(head)) return *std::move(wrong);
    out.body_max = limits_.body_max;
    return out.route.what == What::proposal ? judge_proposal(std::move(out), now) : Judged(std::move(out));
  }
  Result<PageRequest> page = page_request(target.query, out.route.kind, log_);
  if (!page)
    return failure(page.error().kind == ErrorKind::conflict ? Http::gone : Http::bad_request,
                   page.error().text());
  out.page = *std::move(page);
  if (!is_set(target.query, "watch")) {
    if (!accepts(head.header("Accept"), kJson)) return not_acceptable(kJson);
    out.waits = kind.stored;
    return out;
  }
  if (!accepts(head.header("Accept"), kEventStream)) return not_acceptable(kEventStream);
  WatchStream::Request watch{.kind = out.route.kind, .selector = out.page.selector};
  if (out.route.what == What::object) watch.selector.require_name(out.route.name);
  watch.from = head.header("Last-Event-ID");
  if (watch.from.empty()) watch.from = text_in(target.query, "resourceVersion");
  out.watch = std::move(watch);
  return out;
}

// With a line in the audit log: somebody known has tried.
std::optional<Answer> ApiService::refuse_role(const PlannedRequest& request) {
  const ActionRow& action = *request.route.action;
  if (request.as->caller.role >= action.role) return std::nullopt;
  const std::string why = request.as->caller.who() + " may not " + std::string(action.word) +
                          ": this needs the role " + std::string(to_string(action.role));
  AuditLine line = audit_line(request);
  line.stage = AuditLine::Stage::complete;
  line.outcome = why;
  line.code = static_cast<int>(Http::forbidden);
  (void)audit_.record(line);  // it is refused either way
  return failure(Http::forbidden, why);
}

WatchStream ApiService::watch(const WatchStream::Request& request) const {
  return {log_, feed_.board(), request};
}

Answer ApiService::answer(const PlannedRequest& request, const std::string& body) {
  switch (request.route.what) {
    case What::list: return answer_list(request);
    case What::object: return answer_object(request);
    case What::action: return act(request, body);
    case What::proposal: return propose(request, body);
    case What::healthz: return health_answer();
    case What::readyz: return readiness_answer(*desk_.status());
    case What::openapi: return {.body = openapi_};
    case What::metrics: return {.body = metrics_->text(desk_.status()), .type = ServiceMetrics::kContentType};
    case What::webhook: break;
    case What::nothing: return failure(Http::not_found, "unknown path");
  }
  if (!request.proof || !request.proof->holds())
    return failure(Http::unauthorized, "the delivery is not signed with the secret that this service has");
  desk_.fetch_soon();
  return success(Http::accepted, "the specs are fetched soon");
}

Answer ApiService::answer_list(const PlannedRequest& request) const {
  const Kind kind = request.route.kind;
  if (!row_of(kind).stored) return {.body = list_page(*feed_.board(), kind, request.page, log_)};
  std::optional<std::uint64_t> before;
  if (request.page.position) {
    before = std::strtoull(request.page.after.c_str(), nullptr, 10);
    if (*before == 0) return failure(Http::bad_request, "'continue' is not a token of this list");
  }
  const std::uint64_t newest = feed_.board()->sequence;
  const Result<StoredPage> page =
      stored_page(feed_.stored_place(), kind, request.page.selector, request.page.limit, before);
  if (!page) return failure(Http::unavailable, page.error().text());
  return {.body = list_stored(page->objects, page->more, kind, newest, request.page, log_)};
}

Answer ApiService::answer_object(const PlannedRequest& request) const {
  const KindRow& kind = row_of(request.route.kind);
  if (kind.stored) {
    const auto found = stored_object(feed_.stored_place(), kind.kind, request.route.name);
    if (!found) return failure(Http::unavailable, found.error().text());
    return *found ? Answer{.body = (*found)->text} : not_found(kind, request.route.name);
  }
  const ApiObjectPtr found = feed_.board()->find(kind.kind, request.route.name);
  return found ? Answer{.body = found->text} : not_found(kind, request.route.name);
}

}  // namespace lockstep::api
