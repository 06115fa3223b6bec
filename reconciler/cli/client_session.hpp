// The service that a command talks to: by --server, --context, the current context, or on this machine.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/cli/client_commands.hpp"
#include "reconciler/client/service_client.hpp"

namespace lockstep {

struct ChosenServer {
  client::Endpoint endpoint{};
  std::string context{};  // empty: none
};
Result<ChosenServer> chosen_server(const ServerOptions& options);

// None: the error has been told, and the command ends with kExitError.
std::optional<client::ServiceClient> open_service(const ServerOptions& options, const Console& console,
                                                  client::Patience patience = {});
// A file of contexts that can't be read has excerpts with line and column.
int fail_with_excerpts(const Error& error, const Console& console);

// The end of a request: a stop, and no other.
inline Call call_of(const Console& console) { return {.stop = console.stop, .wake_fd = console.stop_fd}; }

// "device leaf0 leaf1", "device/leaf0". Errors (invalid_spec): no kind of this name; different kinds.
struct NamedObjects {
  const client::KindRow* kind = nullptr;
  std::vector<std::string> names;
};
Result<NamedObjects> named_objects(const std::vector<std::string>& words);

}  // namespace lockstep
