#include "reconciler/client/why_failed.hpp"

#include <cerrno>
#include <system_error>

#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

std::string said_of(const Failure& failure) {
  return printable(failure.said.empty() ? curl_easy_strerror(failure.code) : failure.said);
}

Error unreachable(const Endpoint& endpoint, const Failure& failure) {
  const std::string& text = endpoint.server.text;
  if (endpoint.server.socket.empty())
    return Error{ErrorKind::transient, "can't reach the service at " + text + ": " + said_of(failure)};
  const std::string why = std::generic_category().message(failure.system_error);
  if (failure.system_error == EACCES || failure.system_error == EPERM)
    return Error{ErrorKind::denied, "can't reach the service at " + text + ": " + why +
                                        "; only root and the service's own user may"};
  if (failure.system_error == ENOENT || failure.system_error == ECONNREFUSED)
    return Error{ErrorKind::transient,
                 "no service runs here (" + text + ": " + why +
                     "); `lockstep serve` is one, and --server or --context names another"};
  return Error{ErrorKind::transient, "can't reach the service at " + text + ": " +
                                         (failure.system_error == 0 ? said_of(failure) : why)};
}

Error not_trusted(const Endpoint& endpoint, const Failure& failure) {
  return Error{
      ErrorKind::denied,
      endpoint.server.text + ": its certificate is not accepted: " + said_of(failure) + "; believed: " +
          (endpoint.ca.empty() ? "the system's authorities (`ca` of a context names others)" : endpoint.ca)};
}

}  // namespace

Error why_failed(const Endpoint& endpoint, const Failure& failure) {
  const std::string& text = endpoint.server.text;
  if (failure.is_alert())
    return Error{ErrorKind::denied,
                 text + ": refuses the certificate " + endpoint.certificate + ": " + said_of(failure)};
  switch (failure.code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST: return unreachable(endpoint, failure);
    case CURLE_OPERATION_TIMEDOUT:
      return Error{ErrorKind::transient,
                   text + (failure.was_sent ? ": no answer in time" : ": can't be reached in time")};
    case CURLE_PEER_FAILED_VERIFICATION: return not_trusted(endpoint, failure);
    case CURLE_SSL_CACERT_BADFILE:
      return Error{ErrorKind::denied, endpoint.ca + ": no certificates of authorities: " + said_of(failure)};
    case CURLE_SSL_CERTPROBLEM:
      return Error{ErrorKind::denied, endpoint.certificate + " and " + endpoint.key +
                                          ": no certificate with its key: " + said_of(failure)};
    case CURLE_SSL_CONNECT_ERROR:
      return Error{ErrorKind::transient, text + ": no TLS 1.3 connection: " + said_of(failure)};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
      return Error{ErrorKind::refused,
                   text + ": what answers is not a Lockstep service: " + said_of(failure)};
    case CURLE_GOT_NOTHING:
      return Error{
          ErrorKind::transient,
          text + ": ended the connection without an answer" +
              (endpoint.server.tls || !endpoint.server.socket.empty() ? "" : "; perhaps it wants https://")};
    default: return Error{ErrorKind::transient, text + ": " + said_of(failure)};
  }
}

}  // namespace lockstep::client
