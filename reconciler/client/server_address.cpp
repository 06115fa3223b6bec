#include "reconciler/client/server_address.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <sys/un.h>

#include <memory>

namespace lockstep::client {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::uint32_t kLoopbackNet = 127;  // RFC 1122 3.2.1.3

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
struct FreeText {
  void operator()(char* text) const { curl_free(text); }
};

// Empty: the URL has no such part.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  const std::unique_ptr<char, FreeText> owned(text);
  return text;
}

bool is_loopback(const std::string& host) {
  in_addr address{};
  if (::inet_pton(AF_INET, host.c_str(), &address) == 1) return ntohl(address.s_addr) >> 24U == kLoopbackNet;
  return host == "[::1]" || host == "localhost";
}

}  // namespace

Result<ServerAddress> parse_server(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorKind::invalid_spec, "server '" + text + "' " + why};
  };
  constexpr const char* kForms = "is not unix:/PATH, https://HOST[:PORT] or http://LOOPBACK[:PORT]";
  ServerAddress out{.text = text};
  if (text.starts_with(kUnixPrefix)) {
    out.socket = text.substr(kUnixPrefix.size());
    if (!out.socket.starts_with('/')) return wrong("must have an absolute path");
    if (out.socket.size() > kPathMax)
      return wrong("has a path of more than " + std::to_string(kPathMax) + " bytes");
    out.origin = "http://localhost";
    return out;
  }
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return wrong(kForms);
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  const std::string host = part_of(url.get(), CURLUPART_HOST);
  const std::string port = part_of(url.get(), CURLUPART_PORT);
  if ((scheme != "https" && scheme != "http") || host.empty()) return wrong(kForms);
  if (!part_of(url.get(), CURLUPART_USER).empty() || !part_of(url.get(), CURLUPART_PASSWORD).empty())
    return wrong("must not have a user or password: a context names a file with the token");
  if (part_of(url.get(), CURLUPART_PATH) != "/" || text.find_first_of("?#") != text.npos)
    return wrong("must have no path: " + std::string(kForms));
  out.tls = scheme == "https";
  if (!out.tls && !is_loopback(host))
    return wrong("is not loopback: without TLS, tokens could be read on the way; use https://");
  out.origin = scheme + "://" + host + (port.empty() ? "" : ":" + port);
  return out;
}

}  // namespace lockstep::client
