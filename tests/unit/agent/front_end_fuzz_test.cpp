// Mutated requests: the golden messages of protocol 1 (tests/cases/agent/v1) with wrong bytes, in well-formed
// HTTP and in HTTP with wrong bytes, to a whole agent over a simulated device. Whatever comes, each answer is
// HTTP with a status that fits and JSON in its body, what is armed was asked for in so many words and can be
// undone, and the agent serves afterwards.
//
// LOCKSTEP_FUZZ_ROUNDS=1000 runs more of them; each round is 400 requests, the same each time.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dead_man_test_fixture.hpp"
#include "drivers/runtime/random.hpp"
#include "reconciler/agent/calls.hpp"
#include "reconciler/agent/server.hpp"
#include "tests/unit/agent/pki.hpp"
#include "tests/unit/agent/server_test_client.hpp"

namespace lockstep::agent {
namespace {

using Json = nlohmann::json;

struct Message {
  std::string call;
  std::string body;
};

// Requests, and answers, whose parts get into requests as well.
std::vector<Message> golden_messages() {
  std::vector<Message> out;
  for (const auto& file : std::filesystem::directory_iterator(LOCKSTEP_SOURCE_DIR "/tests/cases/agent/v1"))
    out.push_back({file.path().stem().string(), text_of_file(file.path().string())});
  std::ranges::sort(out, {}, &Message::call);  // the order of a folder is not the same everywhere
  return out;
}

class Mutator {
 public:
  Mutator(Random& random, const std::vector<Message>& parts) : random_(random), parts_(parts) {}

  std::string wrong(std::string text, const std::vector<std::string>& words) {
    for (std::uint64_t i = 0, count = 1 + random_.below(4); i < count; ++i) one_change(text, words);
    return text;
  }

 private:
  std::size_t place(const std::string& text) {
    return static_cast<std::size_t>(random_.below(text.size() + 1));
  }
  void one_change(std::string& text, const std::vector<std::string>& words) {
    const std::size_t at = place(text);
    const std::size_t length = static_cast<std::size_t>(random_.below(random_.chance(0.9) ? 12 : 400));
    switch (random_.below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random_.below(8)));
        return;
      case 1: text.erase(at, length); return;
      case 2: text.insert(at, text.substr(place(text), length)); return;
      case 3: text.insert(at, words[random_.below(words.size())]); return;
      case 4: replace_number(text, at); return;
      case 5: {
        const std::string& other = parts_[random_.below(parts_.size())].body;
        text.insert(at, other.substr(place(other), length));
        return;
      }
      default: text.insert(at, 1, static_cast<char>(random_.below(256)));
    }
  }
  void replace_number(std::string& text, std::size_t from) {
    static const std::vector<std::string> kNumbers{"0",
                                                   "-1",
                                                   "1e999",
                                                   "18446744073709551615",
                                                   "99999999999999999999",
                                                   "1.5",
                                                   "00",
                                                   "-0",
                                                   "9223372036854775807",
                                                   "2147483648",
                                                   "null",
                                                   "\"\"",
                                                   "[]",
                                                   "{}"};
    const std::size_t begin = text.find_first_of("0123456789", from);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    text.replace(begin, end - begin, kNumbers[random_.below(kNumbers.size())]);
  }

  Random& random_;
  const std::vector<Message>& parts_;
};

const std::vector<std::string> kJsonWords{"null",
                                          "true",
                                          "\"",
                                          "\\",
                                          "{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"\\ud800\"",
                                          std::string(1, '\0'),
                                          "\xff\xfe",
                                          "{\"bytes\":\"zz\"}",
                                          "{\"secret\":\"x\"}",
                                          std::string(3000, '['),
                                          std::string(3000, '{'),
                                          "\"interface[x]/mtu\"",
                                          "\"transaction\":\"other\",",
                                          "\"epoch\":1,"};
const std::vector<std::string> kHttpWords{"\r\n",
                                          "\n",
                                          "\r\n\r\n",
                                          ":",
                                          " ",
                                          "\t",
                                          std::string(1, '\0'),
                                          "\x7f",
                                          "\xff",
                                          "HTTP/1.0",
                                          "HTTP/2.0",
                                          "GET ",
                                          "/v1/events",
                                          "/v1/../v1/apply",
                                          "%2e%2e/",
                                          "Content-Length: 5\r\n",
                                          "Content-Length: -1\r\n",
                                          "Content-Length: 18446744073709551616\r\n",
                                          "Transfer-Encoding: chunked\r\n",
                                          "Transfer-Encoding: gzip\r\n",
                                          "Expect: 100-continue\r\n",
                                          "Connection: close\r\n",
                                          "Connection: upgrade\r\nUpgrade: websocket\r\n",
                                          "Lockstep-Deadline-Ms: 0\r\n",
                                          "X: " + std::string(20'000, 'x') + "\r\n"};

// What a client that knows HTTP/1.1 makes of bytes; empty: they are no sequence of whole answers.
std::optional<std::vector<RawClient::Answer>> answers_in(std::string bytes) {
  std::vector<RawClient::Answer> out;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos || !bytes.starts_with("HTTP/1.1 ")) return std::nullopt;
    std::istringstream head(bytes.substr(9, end - 9));
    RawClient::Answer one;
    std::string line;
    if (!(head >> one.status) || !std::getline(head, line)) return std::nullopt;
    while (std::getline(head, line)) {
      const std::size_t colon = line.find(": ");
      if (colon == std::string::npos) return std::nullopt;
      one.headers[line.substr(0, colon)] = line.substr(colon + 2, line.find('\r') - colon - 2);
    }
    if (!one.headers.contains("Content-Length")) return std::nullopt;
    const std::size_t size = std::stoul(one.headers["Content-Length"]);
    if (bytes.size() < end + 4 + size) return std::nullopt;
    one.body = bytes.substr(end + 4, size);
    bytes.erase(0, end + 4 + size);
    out.push_back(std::move(one));
  }
  return out;
}

// An agent of its own for each round, as one epoch that is too high shuts out what follows.
class Round {
 public:
  Round(std::uint64_t seed, const std::vector<Message>& messages, const TlsFiles& device,
        const TlsFiles& controller, std::map<int, std::size_t>& statuses)
      : random_(seed),
        mutator_(random_, messages),
        messages_(messages),
        controller_(controller),
        statuses_(statuses) {
    agent_.linux().device.set(entry("interface[rail0]/mtu"), number(1500));
    before_ = truth();
    calls_ = std::make_shared<DeviceCalls>(DeviceCalls::Identity{.cluster = "pod", .device = "gpu1"},
                                           std::shared_ptr<DeadMan>(&agent_.dead_man(), [](DeadMan*) {}),
                                           agent_.attached());
    ServerOptions options{.listen = "127.0.0.1:0", .cluster = "pod", .files = device};
    auto server = AgentServer::start(std::move(options), calls_, [](const std::string&) {});
    EXPECT_TRUE(server) << server.error().text();
    if (server) server_ = *std::move(server);
  }

  std::size_t armed() const { return armed_; }
  void run() {
    for (int i = 0; i < 400 && !::testing::Test::HasFailure(); ++i) {
      random_.chance(0.95) ? wrong_body() : wrong_head();
      if (::testing::Test::HasFailure()) ADD_FAILURE() << "request " << i << ":\n" << sent_.substr(0, 4000);
    }
    EXPECT_EQ(RawClient(server_->port(), controller_).call("hello", "{}").status, 200)
        << "it serves afterwards";
  }

 private:
  std::string head(const std::string& call, std::size_t size) {
    return "POST /v1/" + call + " HTTP/1.1\r\nHost: agent\r\nContent-Length: " + std::to_string(size) +
           "\r\nLockstep-Deadline-Ms: 5000\r\n\r\n";
  }
  const Message& any() { return messages_[random_.below(messages_.size())]; }
  // Mostly a request's: what has no call of its name ends the connection.
  const Message& any_request() {
    static const std::set<std::string> kCalls{"apply", "observe", "remedy", "settle", "usage"};
    const Message* out = &any();
    while (!kCalls.contains(out->call) && random_.chance(0.97)) out = &any();
    return *out;
  }

  void wrong_body() {
    Message from = any_request();
    // A transaction of its own: one that is settled can't be armed again.
    const std::string own = "e7-c12-s" + std::to_string(++transactions_);
    for (std::size_t at = 0; (at = from.body.find("e7-c12-s3", at)) != std::string::npos; at += own.size())
      from.body.replace(at, 9, own);
    const std::string body = random_.chance(0.15) ? from.body : mutator_.wrong(from.body, kJsonWords);
    sent_ = head(random_.chance(0.95) ? from.call : any_request().call, body.size()) + body;
    if (!client_) client_ = std::make_unique<RawClient>(server_->port(), controller_);
    ASSERT_TRUE(client_->send(sent_)) << client_->failure();
    const RawClient::Answer got = client_->answer();
    expect_well_formed(got);
    if (got.headers.contains("Connection")) client_.reset();
    expect_asked_for(body);
  }

  // The end of what is sent ends a request that waits for more.
  void wrong_head() {
    const Message& from = any_request();
    sent_ = mutator_.wrong(head(from.call, from.body.size()), kHttpWords) + from.body;
    RawClient client(server_->port(), controller_);
    ASSERT_TRUE(client);
    (void)client.send(sent_);  // it may be refused before its end
    ::shutdown(client.socket(), SHUT_WR);
    const auto all = answers_in(client.rest());
    ASSERT_TRUE(all) << "no whole answers";
    for (const RawClient::Answer& one : *all) expect_well_formed(one);
    expect_asked_for(sent_.substr(sent_.find('{') == std::string::npos ? 0 : sent_.find('{')));
  }

  void expect_well_formed(const RawClient::Answer& got) {
    ++statuses_[got.status];
    EXPECT_TRUE(got.status == 200 || (got.status >= 400 && got.status < 600)) << got.status;
    const Json body = Json::parse(got.body, nullptr, false);
    ASSERT_TRUE(body.is_object()) << got.body;
    if (got.status == 200) return;
    ASSERT_TRUE(body.contains("error")) << got.body;
    EXPECT_TRUE(body["error"]["kind"].is_string() && body["error"]["what"].is_string()) << got.body;
  }

  // By what is on disk and in the request's text.
  void expect_asked_for(const std::string& body) {
    const Json journal = Json::parse(text_of_file(journal_file(agent_.folder())));
    EXPECT_EQ(journal.contains("failed"), false);
    if (!journal.contains("armed")) {
      EXPECT_EQ(truth(), before_) << "changed, and not armed";
      return;
    }
    ++armed_;
    const std::string name = journal["armed"]["transaction"];
    const Json asked = Json::parse(body, nullptr, false);
    ASSERT_TRUE(asked.is_object()) << "no JSON has armed " << name;
    const Json guard = asked.value("guard", Json::object());
    EXPECT_EQ(guard.value("transaction", Json()), name);
    EXPECT_TRUE(guard.value("undoAfterMs", Json()).is_number_unsigned());
    EXPECT_EQ(asked.value("driver", Json()), journal["armed"]["driver"]);
    EXPECT_TRUE(asked.value("changes", Json()).is_array());
    EXPECT_EQ(guard.value("undo", Json::array()).size(), journal["armed"]["undo"].size());
    undo(name, journal["epoch"]);
  }

  // What a wrong undo leaves is put back by the test: it asked for it.
  void undo(const std::string& name, std::uint64_t epoch) {
    const auto undone = agent_.settle(name, Settlement::undo, epoch);
    EXPECT_TRUE(undone) << undone.error().text();
    for (const Entry& one : agent_.linux().device.truth().entries()) agent_.linux().device.set(one.path, {});
    for (const Entry& one : agent_.frr().device.truth().entries()) agent_.frr().device.set(one.path, {});
    agent_.linux().device.set(entry("interface[rail0]/mtu"), number(1500));
  }
  std::string truth() {
    std::string out;
    for (StoppableDriver* const driver : {&agent_.linux(), &agent_.frr()})
      for (const Entry& one : driver->device.truth().entries())
        out += one.path.text() + "=" + one.value.to_string() + "\n";
    return out;
  }

  Random random_;
  Mutator mutator_;
  const std::vector<Message>& messages_;
  const TlsFiles& controller_;
  std::map<int, std::size_t>& statuses_;
  std::size_t armed_ = 0;
  int transactions_ = 0;
  std::string before_;
  std::string sent_;
  AgentUnderTest agent_;
  std::shared_ptr<DeviceCalls> calls_;
  std::unique_ptr<AgentServer> server_;
  std::unique_ptr<RawClient> client_;
};

TEST(FrontEndFuzz, AnswersWhateverItIsAskedAndArmsOnlyWhatWasAskedFor) {
  const char* const asked = std::getenv("LOCKSTEP_FUZZ_ROUNDS");
  const std::uint64_t rounds = asked == nullptr ? 5 : std::strtoull(asked, nullptr, 10);
  const TemporaryFolder folder;
  TestCa ca(folder.path(), "pod CA", "ca");
  const TlsFiles device = ca.issue("gpu1", "lockstep://pod/device/gpu1");
  const TlsFiles controller = ca.issue("ops", "lockstep://pod/controller/ops");
  const std::vector<Message> messages = golden_messages();
  ASSERT_GT(messages.size(), 10U);
  std::map<int, std::size_t> statuses;
  std::size_t armed = 0;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    Round round(seed, messages, device, controller, statuses);
    round.run();
    armed += round.armed();
    ASSERT_FALSE(HasFailure()) << "in round " << seed;
  }
  // Not all are refused for the same reason at the door.
  EXPECT_GT(armed, rounds);
  for (const int status : {200, 400, 404, 409, 422}) EXPECT_GT(statuses[status], rounds) << status;
}

}  // namespace
}  // namespace lockstep::agent
