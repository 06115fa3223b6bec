// Broken requests over sockets: the server as a whole, whose parts tests/fuzz breaks one by one.
#include <sys/socket.h>

#include <array>
#include <random>
#include <set>
#include <string_view>

#include "server_fixture.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

constexpr std::string_view kDelivered = "Hello, World!";
constexpr std::string_view kTheAction = "/api/v1alpha1/devices/gpu1:cordon";
constexpr std::string_view kItsToken = " operator\r\n";

std::vector<std::string> whole_requests() {
  const std::string host = " HTTP/1.1\r\nHost: api\r\n";
  const std::string viewer = host + "Authorization: Bearer viewer\r\n";
  const std::string action = "POST " + std::string(kTheAction) + host +
                             "Authorization: Bearer operator\r\nContent-Type: application/json\r\n";
  const std::string by_length = action + "Content-Length: 20\r\n\r\n{\"reason\": \"optics\"}";
  return {
      "GET /api/v1alpha1/devices/gpu1" + viewer + "\r\n",
      by_length,
      action +
          "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"reason\r\nc;x=y\r\n\": \"optics\"}\r\n0\r\nT: 1\r\n\r\n",
      "POST /webhooks/github" + host +
          "X-Hub-Signature-256: "
          "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17\r\n"
          "Content-Length: 13\r\n\r\n" +
          std::string(kDelivered),
      "GET /api/v1alpha1/devices?watch=1" + viewer + "\r\n",
      "GET /api/v1alpha1/devices?limit=1" + viewer + "\r\n" + by_length};
}

// One of them with one to eight bytes, mostly few, changed, lost, repeated, or replaced by as many of
// another.
std::string broken(const std::vector<std::string>& whole, std::mt19937& random) {
  const auto below = [&random](std::size_t end) { return random() % end; };
  std::string out = whole[below(whole.size())];
  const std::string& other = whole[below(whole.size())];
  const std::size_t most = 1 + below(8);
  const std::size_t size = 1 + below(most);
  const std::size_t at = below(out.size() - size + 1);
  const std::size_t from = below(other.size() - size + 1);
  switch (below(4)) {
    case 0:
      for (std::size_t i = 0; i < size; ++i)
        out[at + i] = static_cast<char>(static_cast<unsigned char>(out[at + i]) ^ (1U << below(8)));
      return out;
    case 1: return out.erase(at, size);
    case 2: return out.insert(at, out.substr(at, size));
    default: return out.replace(at, size, other, from, size);
  }
}

// All that comes until the other end ends.
std::string received(const ApiClient& from) {
  std::string out;
  std::array<char, 16384> bytes{};
  for (ssize_t got = 1; got > 0;) {
    got = ::recv(from.socket(), bytes.data(), bytes.size(), 0);
    if (got > 0) out.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return out;
}

// The status of the first reply in these bytes, and what follows it; 0: they are no whole reply. A stream
// goes on to their end.
std::pair<int, std::string_view> first_reply(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || end == bytes.npos) return {0, {}};
  const std::string head(bytes.substr(0, end + 2));
  const int status = std::atoi(head.c_str() + 9);
  bytes.remove_prefix(end + 4);
  if (head.find("\r\nTransfer-Encoding: chunked\r\n") != head.npos) return {status, {}};
  const std::string_view length = "\r\nContent-Length: ";
  const std::size_t at = head.find(length);
  const std::size_t body = at == head.npos ? 0 : std::stoul(head.substr(at + length.size()));
  if (bytes.size() < body) return {0, {}};
  return {status, bytes.substr(body)};
}

bool has(std::string_view bytes, std::string_view what) { return bytes.find(what) != bytes.npos; }

TEST_F(ApiServerTest, SurvivesWhateverBytesCome) {
  RequestLimits& limits = settings_.limits.requests;
  limits.requests_per_second = limits.requests_burst = 1e9;
  settings_.limits.connections_per_client = settings_.limits.connections_max;
  settings_.webhook_secrets = {{Forge::github, folder_.write("github", "It's a Secret to Everybody\n")}};
  start();
  const std::set<int> legal{200, 202, 204, 400, 401, 403, 404, 405, 406, 410, 413, 415, 431, 505};
  std::set<int> seen;
  const auto try_out = [&](const std::string& bytes) {
    const std::size_t acted = desk_.actions().size();
    const int fetched = desk_.fetches();
    ApiClient one = client();
    (void)one.send(bytes);  // it may be refused before its end
    ::shutdown(one.socket(), SHUT_WR);
    const std::string replies = received(one);
    for (std::string_view left = replies; !left.empty();) {
      const auto [status, after] = first_reply(left);
      EXPECT_TRUE(legal.contains(status)) << printable(bytes) << "\n" << printable(replies);
      seen.insert(status);
      left = after;
    }
    const bool acts = has(bytes, kTheAction) && has(bytes, kItsToken);
    EXPECT_TRUE(acts || desk_.actions().size() == acted) << printable(bytes);
    EXPECT_TRUE(has(bytes, kDelivered) || desk_.fetches() == fetched) << printable(bytes);
  };
  const std::vector<std::string> whole = whole_requests();
  for (const std::string& one : whole) try_out(one);
  EXPECT_EQ(seen, (std::set<int>{200, 202}));
  EXPECT_EQ(desk_.actions().size(), 3U);
  EXPECT_EQ(desk_.fetches(), 1);
  std::mt19937 random(20261129);
  for (int round = 0; round < 1500; ++round) {
    try_out(broken(whole, random));
    if (round % 50 == 0) {
      EXPECT_EQ(client().get("/healthz").status, 200) << "after round " << round;
    }
  }
  for (const int status : {400, 401, 404, 405, 415})
    EXPECT_TRUE(seen.contains(status)) << "nothing was broken so that this came: " << status;
  for (const Action& action : desk_.actions()) {
    EXPECT_EQ(action.verb, Verb::cordon);
    EXPECT_EQ(action.name, "gpu1");
    EXPECT_EQ(action.by.who, "operator the-operator");
  }
  EXPECT_EQ(said(), "") << "no connection failed within";
}

}  // namespace
}  // namespace lockstep::api
