#include "reconciler/api/authentication.hpp"

namespace lockstep::api {
namespace {

constexpr std::string_view kScheme = "bearer ";

bool is_bearer(std::string_view authorization) {
  if (authorization.size() < kScheme.size()) return false;
  for (std::size_t i = 0; i < kScheme.size(); ++i)
    if ((authorization[i] | 0x20) != kScheme[i]) return false;  // any case (RFC 9110 11.1)
  return true;
}

Role role_of(PeerRole role) {
  if (role == PeerRole::admin) return Role::admin;
  return role == PeerRole::operator_ ? Role::operator_ : Role::viewer;
}

}  // namespace

Result<AuthenticatedAs> Authentication::judge(std::string_view authorization, const Peer& peer) const {
  if (!authorization.empty()) {
    if (!is_bearer(authorization))
      return Error{ErrorKind::denied, "the Authorization header has no bearer token"};
    const std::string_view token = authorization.substr(kScheme.size());
    const std::optional<TokenOwner> owner = tokens_.find(token);
    if (!owner) return Error{ErrorKind::denied, "the token is not known, or was revoked"};
    return AuthenticatedAs{
        {.role = owner->role, .name = owner->name, .credential = "token", .from = peer.address}, *owner};
  }
  if (peer.certificate)
    return AuthenticatedAs{{.role = role_of(peer.certificate->role),
                            .name = peer.certificate->name,
                            .credential = "certificate",
                            .from = peer.address}};
  if (peer.user && (*peer.user == 0 || *peer.user == own_user_))
    return AuthenticatedAs{{.role = Role::admin,
                            .name = *peer.user == 0 ? "root" : "uid-" + std::to_string(*peer.user),
                            .credential = "user",
                            .from = peer.address}};
  if (!peer.why_no_certificate.empty()) return Error{ErrorKind::denied, peer.why_no_certificate};
  return Error{ErrorKind::denied, "no bearer token and no client certificate"};
}

}  // namespace lockstep::api
