#include "reconciler/client/service_client.hpp"

#include <algorithm>
#include <utility>

#include "drivers/posix/wait.hpp"
#include "reconciler/client/object_fields.hpp"
#include "specs/model/bounded_json.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kVersionPath = "/api/v1alpha1/";
constexpr std::string_view kGroup = "lockstep.dev/";
constexpr std::size_t kPage = 500;  // as kubectl's --chunk-size
constexpr int kListsAnew = 3;       // where pages are gone because the service has started anew: chosen
constexpr std::chrono::milliseconds kWaitMost{10'000};  // whatever a Retry-After says
// For the turn of one's plan: others, and limits, are over within minutes.
constexpr std::chrono::minutes kTurnsMost{5};
constexpr std::size_t kShown = 200;  // bytes of an answer that is not ours
// Of one page of 500 objects at most: 1,000 waiting steps of 50 changes are some 500,000 values.
constexpr JsonBounds kBounds{.depth = 64, .values = 20'000'000};

Error not_ours(const std::string& server, const HttpReply& reply) {
  return Error{ErrorKind::refused, server + ": what answers is not a Lockstep service (status " +
                                       std::to_string(reply.status) +
                                       (reply.type.empty() ? "" : ", " + printable(reply.type)) +
                                       "): " + printable(std::string_view(reply.body).substr(0, kShown))};
}

ErrorKind kind_of(int status) {
  switch (status) {
    case 401:
    case 403: return ErrorKind::denied;
    case 409:
    case 410: return ErrorKind::conflict;
    case 429:
    case 503: return ErrorKind::transient;
    case 400: return ErrorKind::invalid_spec;
    default: return ErrorKind::refused;
  }
}

std::string without_sha(std::string_view text) {
  constexpr std::string_view kSha = "sha256:";
  if (text.starts_with(kSha)) text.remove_prefix(kSha.size());
  return std::string(text);
}

}  // namespace

std::string list_target(const KindRow& kind, const Selection& selection) {
  std::string out = std::string(kVersionPath) + std::string(kind.plural) + "?";
  if (!selection.labels.empty()) out += "labelSelector=" + percent_encoded(selection.labels) + "&";
  if (!selection.fields.empty()) out += "fieldSelector=" + percent_encoded(selection.fields) + "&";
  out.pop_back();
  return out;
}

std::string object_target(const KindRow& kind, const std::string& name) {
  return std::string(kVersionPath) + std::string(kind.plural) + "/" + percent_encoded(name);
}

Error failure_of(const HttpReply& reply, const std::string& server) {
  const Result<Json> body = parse_bounded_json(reply.body, kBounds);
  if (!body || !body->is_object() || text_at(*body, "kind") != "Status") return not_ours(server, reply);
  std::string message = printable(text_at(*body, "message"));
  if (reply.status == 401)
    message = server + " does not know who you are: " + message +
              "; a context names a token or certificate (docs/service.md)";
  if (reply.status >= 500) message = server + ": " + message;
  return Error{kind_of(reply.status), message.empty() ? "status " + std::to_string(reply.status) : message};
}

Result<ServiceClient> ServiceClient::open(Endpoint endpoint, Patience patience) {
  const std::string server = endpoint.server.text;
  TRY(std::unique_ptr<Connection> connection, Connection::open(std::move(endpoint), patience));
  return ServiceClient(std::move(connection), patience, server);
}

Result<HttpReply> ServiceClient::get(const std::string& target, const Call& call) {
  for (int tries = 0;; ++tries) {
    TRY(HttpReply reply, connection_->send({.target = target}, call));
    if (reply.status != 429 || tries == kRetries) return reply;
    TRY_DONE(pause(reply.retry_after ? std::min(*reply.retry_after, kWaitMost) : patience_.again, call));
  }
}

Result<nlohmann::json> ServiceClient::document(const HttpReply& reply) const {
  if (reply.status != 200) return failure_of(reply, server_);
  Result<Json> out = parse_bounded_json(reply.body, kBounds);
  if (!out || !out->is_object() || !text_at(*out, "apiVersion").starts_with(kGroup))
    return not_ours(server_, reply);
  return out;
}

Result<nlohmann::json> ServiceClient::list(const KindRow& kind, const Selection& selection,
                                           const Call& call) {
  Json out;
  std::string next;
  for (int begun = 1;;) {
    const std::size_t left =
        selection.limit == 0 || out.is_null() ? selection.limit : selection.limit - out["items"].size();
    std::string target = list_target(kind, selection);
    target += target.find('?') == target.npos ? "?" : "&";
    target += "limit=" + std::to_string(left == 0 ? kPage : std::min(left, kPage));
    if (!next.empty()) target += "&continue=" + percent_encoded(next);
    TRY(const HttpReply reply, get(target, call));
    if (reply.status == 410 && !next.empty() && begun < kListsAnew) {
      ++begun;
      out = nullptr;
      next.clear();
      continue;
    }
    TRY(Json page, document(reply));
    if (!page.contains("items") || !page["items"].is_array() || !page.contains("metadata"))
      return not_ours(server_, reply);
    next = text_at(page["metadata"], "continue");
    page["metadata"].erase("continue");
    if (out.is_null())
      out = std::move(page);
    else
      for (Json& item : page["items"]) out["items"].push_back(std::move(item));
    if (next.empty() || (selection.limit != 0 && out["items"].size() >= selection.limit)) return out;
  }
}

// The kind has few objects, and the API finds them by their whole names alone.
Result<nlohmann::json> ServiceClient::revision(const std::string& start, const Call& call) {
  TRY(Json all, list(revision_kind(), {}, call));
  Json* found = nullptr;
  for (Json& one : all["items"]) {
    const std::string name = text_at(one["metadata"], "name");
    if (name == start || without_sha(name) == start) return std::move(one);
    if (!without_sha(name).starts_with(without_sha(start))) continue;
    if (found != nullptr)
      return Error{ErrorKind::invalid_spec, "more than one revision begins with '" + printable(start) + "'"};
    found = &one;
  }
  if (found == nullptr)
    return Error{ErrorKind::refused, "no revision begins with '" + printable(start) + "'"};
  return std::move(*found);
}

Result<nlohmann::json> ServiceClient::object(const KindRow& kind, const std::string& name, const Call& call) {
  if (kind.plural == revision_kind().plural) return revision(name, call);
  TRY(const HttpReply reply, get(object_target(kind, name), call));
  return document(reply);
}

Result<nlohmann::json> ServiceClient::act(const KindRow& kind, const std::string& name,
                                          const std::string& word, const Json& body, const Call& call) {
  TRY(const HttpReply reply,
      connection_->send({.method = "POST",
                         .target = object_target(kind, name) + ":" + word,
                         .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)},
                        call));
  if (reply.status != 200) return failure_of(reply, server_);
  Result<Json> out = parse_bounded_json(reply.body, kBounds);
  if (!out || !out->is_object() || text_at(*out, "kind") != "Status") return not_ours(server_, reply);
  return out;
}

Result<nlohmann::json> ServiceClient::plan(const Json& body, const Call& call) {
  TRY(const std::string cluster, cluster_name(call));
  const HttpRequest request{.method = "POST",
                            .target = object_target(cluster_kind(), cluster) + ":plan",
                            .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)};
  const Time last = std::chrono::steady_clock::now() + kTurnsMost;
  for (;;) {
    TRY(const HttpReply reply, connection_->send(request, call));
    if (reply.status == 429 && std::chrono::steady_clock::now() < last) {
      TRY_DONE(pause(reply.retry_after ? std::min(*reply.retry_after, kWaitMost) : patience_.again, call));
      continue;
    }
    Result<Json> out = parse_bounded_json(reply.body, kBounds);
    const std::string kind = out && out->is_object() ? text_at(*out, "kind") : "";
    if ((reply.status == 200 && kind == "Plan") || (reply.status == 422 && kind == "Error")) return out;
    return failure_of(reply, server_);
  }
}

Result<std::string> ServiceClient::cluster_name(const Call& call) {
  TRY(const Json all, list(cluster_kind(), {}, call));
  if (all["items"].size() != 1 || !all["items"][0].contains("metadata"))
    return Error{ErrorKind::refused, server_ + " serves no cluster"};
  return text_at(all["items"][0]["metadata"], "name");
}

}  // namespace lockstep::client
