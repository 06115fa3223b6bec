#include "reconciler/api/listen_address.hpp"

#include <sys/un.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace lockstep::api {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace

Result<ListenAddress> parse_listen(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorKind::invalid_spec, "listen address '" + text + "' " + why};
  };
  ListenAddress out;
  if (text.starts_with(kUnixPrefix)) {
    out.path = text.substr(kUnixPrefix.size());
    if (!out.path.starts_with('/')) return wrong("must have an absolute path");
    if (out.path.size() > kPathMax)
      return wrong("has a path of more than " + std::to_string(kPathMax) + " bytes");
    return out;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return wrong("is not ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH");
  std::string host = text.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  boost::system::error_code code;
  const auto address = boost::asio::ip::make_address(host, code);
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data() + colon + 1, end, port);
  if (code || address.is_v6() != brackets || problem != std::errc() || stop != end)
    return wrong("is not ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH");
  out.tcp = {address, port};
  return out;
}

std::string limits_key_of(const boost::asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6).to_string();
  auto bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return boost::asio::ip::make_address_v6(bytes).to_string() + "/64";
}

}  // namespace lockstep::api
