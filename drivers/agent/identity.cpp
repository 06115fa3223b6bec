#include "drivers/agent/identity.hpp"

#include <algorithm>
#include <optional>

#include "drivers/agent/tls_verify.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kScheme = "lockstep:";
constexpr std::string_view kPrefix = "lockstep://";
constexpr std::size_t kNameMax = 253;  // characters of a DNS name (RFC 1035 2.3.4)

std::string quoted(std::string_view text) { return "'" + one_line(text) + "'"; }

Error not_an_identity(std::string_view uri, const std::string& why) {
  return Error{ErrorKind::denied, "identity " + quoted(uri) + " " + why};
}

}  // namespace

bool is_identity_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kNameMax && std::all_of(text.begin(), text.end(), fits);
}

std::string PeerIdentity::text() const {
  std::string out(kPrefix);
  return out.append(cluster).append("/").append(kPeerRoles.at(static_cast<std::size_t>(role))) + "/" + name;
}

Result<PeerIdentity> parse_identity(std::string_view uri) {
  if (!uri.starts_with(kPrefix)) return not_an_identity(uri, "does not start with lockstep://");
  const std::string_view rest = uri.substr(kPrefix.size());
  const std::size_t first = rest.find('/');
  const std::size_t second = first == std::string_view::npos ? first : rest.find('/', first + 1);
  if (second == std::string_view::npos) return not_an_identity(uri, "is not lockstep://CLUSTER/ROLE/NAME");
  const std::string_view cluster = rest.substr(0, first);
  const std::string_view word = rest.substr(first + 1, second - first - 1);
  const std::string_view name = rest.substr(second + 1);
  const auto* const role = std::find(kPeerRoles.begin(), kPeerRoles.end(), word);
  if (role == kPeerRoles.end())
    return not_an_identity(uri, "has role " + quoted(word) +
                                    ", not device, controller, reader, viewer, operator, admin or service");
  if (!is_identity_name(cluster)) return not_an_identity(uri, "has an invalid cluster name");
  if (!is_identity_name(name)) return not_an_identity(uri, "has an invalid name");
  return PeerIdentity{std::string(cluster), static_cast<PeerRole>(role - kPeerRoles.begin()),
                      std::string(name)};
}

Result<PeerIdentity> identity_of(const X509* certificate) {
  int found = 0;
  const AlternativeNames names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, &found, nullptr)));
  if (!names && found == -2)
    return Error{ErrorKind::denied, "the certificate has several lists of alternative names"};
  std::optional<std::string_view> identity;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const text = name->d.uniformResourceIdentifier;
    const std::string_view uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                               static_cast<std::size_t>(ASN1_STRING_length(text)));
    if (!uri.starts_with(kScheme)) continue;
    if (identity)
      return Error{ErrorKind::denied,
                   "the certificate has several identities: " + quoted(*identity) + " and " + quoted(uri)};
    identity = uri;
  }
  if (!identity) return Error{ErrorKind::denied, "the certificate has no identity lockstep://..."};
  return parse_identity(*identity);
}

}  // namespace lockstep
