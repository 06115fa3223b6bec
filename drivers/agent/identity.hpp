// Who is at the other end of a TLS connection: the name in its certificate (docs/agents.md).
//
// Certificates carry the URI SAN `lockstep://CLUSTER/ROLE/NAME` (RFC 5280 4.2.1.6). ROLE is device,
// controller or reader between agents and controllers: a controller may make all calls, a reader those that
// change nothing; a device's certificate is for an agent's own end. Or it is viewer, operator or admin, of a
// user of a service (reconciler/api), or service, of that one's own end: no agent accepts these. Exactly one
// such URI must be there: two would make one key two machines.
#pragma once

#include <openssl/x509.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

enum class PeerRole : std::uint8_t { device, controller, reader, viewer, operator_, admin, service };
inline constexpr auto kPeerRoles = std::to_array<std::string_view>(
    {"device", "controller", "reader", "viewer", "operator", "admin", "service"});  // by PeerRole

// Of a cluster, or of who it names: 1 to 253 characters of [A-Za-z0-9._-].
bool is_identity_name(std::string_view text);

struct PeerIdentity {
  std::string cluster;
  PeerRole role = PeerRole::reader;
  std::string name;
  std::string text() const;  // "lockstep://rail-pod/device/gpu1"
  bool operator==(const PeerIdentity&) const = default;
};

// Errors (denied): not of that form. Cluster and name are 1 to 253 characters of [A-Za-z0-9._-].
Result<PeerIdentity> parse_identity(std::string_view uri);
// Errors (denied): the certificate has no such URI, or several.
Result<PeerIdentity> identity_of(const X509* certificate);

}  // namespace lockstep
