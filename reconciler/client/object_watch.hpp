// A watch: the objects that there are, then each change of them, for good.
//
// Promises: a connection that ends is made anew, with growing pauses, from where it ended (Last-Event-ID).
// Where the service does not keep that position any more (it was started anew, or much has happened), all is
// read anew, and what changed meanwhile is told, what is gone included; what is the same is not told again.
// Ends with Done when a stop is requested, or `change` returns false; with an error where the first
// connection fails, or the service refuses (a role, a token that was revoked, a selector).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "reconciler/client/service_client.hpp"
#include "specs/language/said.hpp"

namespace lockstep::client {

struct ObjectChange {
  enum class Type : std::uint8_t { added, modified, deleted };
  Type type{};
  const nlohmann::json& object;
};
constexpr auto words(ObjectChange::Type) {
  return std::to_array<std::string_view>({"ADDED", "MODIFIED", "DELETED"});
}

struct WatchRequest {
  const KindRow& kind;
  std::string name{};  // of one object; empty: of all that are selected
  Selection selection{};
};
struct WatchListener {
  std::function<bool(const ObjectChange&)> change{};  // false: it is enough
  std::function<void()> complete{};                   // what there was has been told
  std::function<void(const std::string&)> note{};     // the connection was lost, or is there again
};
Result<Done> watch_objects(ServiceClient& client, const WatchRequest& request, const WatchListener& listener,
                           const Call& call);

}  // namespace lockstep::client
