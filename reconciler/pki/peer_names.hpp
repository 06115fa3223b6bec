// The names that certificates may have. Part of lockstep_pki.
#pragma once

#include <string>
#include <string_view>

#include "drivers/agent/identity.hpp"

namespace lockstep {

// Errors (invalid_spec): a cluster or a name that no agent would accept (parse_identity).
Result<Done> check_identity(const PeerIdentity& identity);
// What a controller can dial and find in the certificate: no wildcard, no address. Errors: invalid_spec.
Result<Done> check_dns_name(std::string_view name);
Result<Done> check_address(const std::string& address);

// 4 or 16 bytes in network order; empty: no address.
std::string address_bytes(const std::string& address);

// An authority's certificate has its cluster as the URI lockstep://CLUSTER. It is no identity: an authority
// is no peer.
std::string authority_uri(const std::string& cluster);
// Empty: it is no such URI.
std::string cluster_of_authority(std::string_view uri);

}  // namespace lockstep
