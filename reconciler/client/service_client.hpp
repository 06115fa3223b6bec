// ServiceClient: what a service's API is asked for: objects, lists, actions, as JSON.
//
// Promises: a list is complete, whatever its pages are, or an error; where its pages are not kept any more
// (410), it is read anew. Reads wait and try again where the service asks for it (429), kRetries times. What
// comes is checked: an answer that is not of a Lockstep service is an error that says so. Errors have the
// service's own words: denied (who one is, one's role), conflict (409), transient (429, 503), refused.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reconciler/client/connection.hpp"
#include "reconciler/client/object_kinds.hpp"

namespace lockstep::client {

inline constexpr int kRetries = 3;  // chosen: a limit of requests is over within seconds

struct Selection {
  std::string labels{};
  std::string fields{};
  std::size_t limit = 0;  // objects; 0: all
};

class ServiceClient {
 public:
  using Json = nlohmann::json;
  static Result<ServiceClient> open(Endpoint endpoint, Patience patience = {});

  // {"apiVersion", "kind": "DeviceList", "metadata", "items"}.
  Result<Json> list(const KindRow& kind, const Selection& selection, const Call& call);
  // By its name; a revision also by the start of it (with or without "sha256:").
  Result<Json> object(const KindRow& kind, const std::string& name, const Call& call);
  // The Status that the service answers.
  Result<Json> act(const KindRow& kind, const std::string& name, const std::string& word, const Json& body,
                   const Call& call);
  // The Plan that the service makes of specs (`body`: api/proposed_specs.hpp), or the Error that says what is
  // wrong with them. Waits for its turn.
  Result<Json> plan(const Json& body, const Call& call);
  // The one that it serves.
  Result<std::string> cluster_name(const Call& call);

  Connection& connection() const { return *connection_; }
  const Patience& patience() const { return patience_; }
  const std::string& server() const { return server_; }

 private:
  ServiceClient(std::unique_ptr<Connection> connection, Patience patience, std::string server)
      : connection_(std::move(connection)), patience_(patience), server_(std::move(server)) {}
  Result<HttpReply> get(const std::string& target, const Call& call);
  Result<Json> document(const HttpReply& reply) const;
  Result<Json> revision(const std::string& start, const Call& call);

  std::unique_ptr<Connection> connection_;
  Patience patience_;
  std::string server_;
};

// "/api/v1alpha1/devices?labelSelector=...", or of one object.
std::string list_target(const KindRow& kind, const Selection& selection);
std::string object_target(const KindRow& kind, const std::string& name);
// Why a reply is no success.
Error failure_of(const HttpReply& reply, const std::string& server);

}  // namespace lockstep::client
