// Versions of protocol 1 work together both ways. tests/cases/agent/v1_first is what its first version said,
// and stays as it is; tests/cases/agent/v1 is what this version says, and may have more fields.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dead_man_test_fixture.hpp"
#include "drivers/agent/discovery.hpp"
#include "drivers/agent/driver.hpp"
#include "drivers/agent/wire.hpp"
#include "reconciler/agent/calls.hpp"
#include "tests/unit/agent/network_test_fixture.hpp"

namespace lockstep {
namespace {

using VersionsJson = nlohmann::json;

const std::string kMessages = LOCKSTEP_SOURCE_DIR "/tests/cases/agent/";

std::string recorded_text(const std::string& file) {
  std::ifstream in(kMessages + file);
  std::stringstream out;
  out << in.rdbuf();
  EXPECT_FALSE(out.str().empty()) << file;
  return out.str();
}
VersionsJson recorded(const std::string& file) { return VersionsJson::parse(recorded_text(file)); }

// As sha256sum(1) writes them: sum, two spaces, name.
std::map<std::string, std::string> first_sums() {
  std::map<std::string, std::string> out;
  std::istringstream lines(recorded_text("v1_first/SHA256SUMS"));
  for (std::string sum, name; lines >> sum >> name;) out[name] = sum;
  return out;
}

std::string sha256(const std::string& text) {
  std::array<unsigned char, 32> sum{};
  EVP_Digest(text.data(), text.size(), sum.data(), nullptr, EVP_sha256(), nullptr);
  std::ostringstream out;
  for (const unsigned byte : sum) out << std::hex << byte / 16 << byte % 16;
  return out.str();
}

template <class Decode>
std::function<Result<std::string>(const std::string&)> again(Decode decode) {
  return [decode](const std::string& body) -> Result<std::string> {
    auto decoded = decode(body);
    if (!decoded) return decoded.error();
    return wire::encode(*decoded);
  };
}

// What this version writes when it has read a message.
const std::map<std::string, std::function<Result<std::string>(const std::string&)>>& rewritten() {
  static const std::map<std::string, std::function<Result<std::string>(const std::string&)>> all{
      {"hello.json", again(wire::decode_hello)},
      {"observe.json", again(wire::decode_observe)},
      {"apply.json", again(wire::decode_apply)},
      {"settle.json", again(wire::decode_settle)},
      {"remedy.json", again(wire::decode_remedy)},
      {"usage.json", again(wire::decode_usage)},
      {"observation.json", again([](const std::string& body) { return wire::decode_observation(body, {}); })},
      {"receipt.json", again(wire::decode_receipt)},
      {"use.json", again(wire::decode_use)},
      {"woken.json", again(wire::decode_woken)},
      {"done.json", again(wire::decode_done)},
      {"error.json", [](const std::string& body) -> Result<std::string> {
         return wire::encode(wire::decode_error(body, ErrorKind::transient, "no error of ours"));
       }}};
  return all;
}

TEST(WireVersions, TheFirstMessagesAreFrozen) {
  const auto sums = first_sums();
  EXPECT_EQ(sums.size(), rewritten().size());
  for (const auto& [name, sum] : sums)
    EXPECT_EQ(sha256(recorded_text("v1_first/" + name)), sum)
        << name << " was changed: agents and controllers of the first version still send it as it was";
}

// What it has nothing to say about, a newer version leaves out.
TEST(WireVersions, TheFirstMessagesAreReadAndWrittenAsTheyWere) {
  for (const auto& [name, rewrite] : rewritten()) {
    const std::string first = recorded_text("v1_first/" + name);
    const auto now = rewrite(first);
    ASSERT_TRUE(now) << name << ": " << now.error().text();
    EXPECT_EQ(VersionsJson::parse(*now), VersionsJson::parse(first)) << name;
  }
}

// Where `newer` has something else than `older`, beyond fields of objects that `older` has not; empty:
// nowhere.
std::string changed_since(const VersionsJson& older, const VersionsJson& newer, const std::string& at) {
  if (older.is_object() && newer.is_object()) {
    for (const auto& [name, value] : older.items()) {
      if (!newer.contains(name)) return at + "/" + name + " is missing";
      if (std::string where = changed_since(value, newer.at(name), at + "/" + name); !where.empty())
        return where;
    }
    return "";
  }
  if (older.is_array() && newer.is_array() && older.size() == newer.size()) {
    for (std::size_t i = 0; i < older.size(); ++i)
      if (std::string where = changed_since(older[i], newer[i], at + "/" + std::to_string(i)); !where.empty())
        return where;
    return "";
  }
  return older == newer ? "" : at + " is " + newer.dump() + ", and was " + older.dump();
}

TEST(WireVersions, NewerMessagesOnlyHaveMoreFields) {
  for (const auto& [name, sum] : first_sums())
    EXPECT_EQ(changed_since(recorded("v1_first/" + name), recorded("v1/" + name), name), "");
}

// This version's controller with an agent of the first one, which adds fields that nobody knows.
class FirstAgentTest : public NetworkTest {
 protected:
  static std::string first(const std::string& name) {
    VersionsJson out = recorded("v1_first/" + name + ".json");
    out["fromNowhere"] = {{"deep", {1, 2}}};
    if (name == "hello") out["cluster"] = "pod";
    return out.dump();
  }
  // As the first version's server: other calls are unknown paths.
  static ScriptedAgent::Reply reply_to(const ScriptedAgent::Request& request) {
    for (const auto& [call, answer] : std::map<std::string, std::string>{{"hello", "hello"},
                                                                         {"observe", "observation"},
                                                                         {"apply", "receipt"},
                                                                         {"settle", "done"},
                                                                         {"remedy", "done"},
                                                                         {"usage", "use"}})
      if (is_call(request, call)) return {http(first(answer))};
    return {http(R"-({"kind": "unsupported", "what": "unknown path; this agent has protocol 1 (/v1/...)"})-",
                 "404 Not Found")};
  }

  ScriptedAgent agent_{gpu1_, reply_to};
  std::shared_ptr<AgentNetwork> network_ = start({});
};

TEST_F(FirstAgentTest, ServesAllCallsOfTheFirstVersion) {
  auto epoch = std::make_shared<CurrentEpoch>();
  ASSERT_TRUE(epoch->take(7));
  const Attached attached = make_agent_driver(
      network_, {.agent = agent_.address(), .driver = "linux", .epoch = epoch, .offline = {}});
  const auto traits = attached.driver->traits(patient());
  ASSERT_TRUE(traits) << traits.error().text();
  EXPECT_EQ(traits->reads.size(), 2U);
  const auto apply = wire::decode_apply(recorded_text("v1_first/apply.json"));
  ASSERT_TRUE(apply);
  const auto observation = attached.driver->observe({}, "", patient());
  ASSERT_TRUE(observation) << observation.error().text();
  EXPECT_EQ(observation->revision, "41d2");
  const ChangeSet two(apply->changes.begin(), apply->changes.begin() + 2);  // the receipt's
  const auto receipt = attached.driver->apply(two, apply->guard, patient());
  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_EQ(receipt->outcomes.size(), 2U);
  EXPECT_TRUE(attached.driver->settle("e7-c12-s3", Settlement::keep, patient()));
}

TEST_F(FirstAgentTest, HasNoDiscovery) {
  const auto found = discover_by_agent(*network_, agent_.address(), patient());
  ASSERT_TRUE(fails_as(found, ErrorKind::unsupported));
  EXPECT_TRUE(says(found.error().text(), "gpu1 (https://127.0.0.1:"));
  EXPECT_TRUE(says(found.error().text(), "install this version there"));
}

// A controller of the first version with this version's agent.
TEST(WireVersions, AnAgentServesTheFirstControllers) {
  agent::AgentUnderTest device;
  device.linux().device.set(agent::entry("interface[rail0]/mtu"), agent::number(1500));
  auto attached = device.attached();
  auto journal = agent::AgentJournal::open(device.folder() + "-first");
  ASSERT_TRUE(journal);
  agent::DeviceCalls calls(
      {.cluster = "rail-pod", .device = "gpu1"},
      std::make_shared<agent::DeadMan>(*std::move(journal), attached, agent::this_machine()), attached);
  const auto ask = [&calls](const std::string& name, const VersionsJson& body) {
    const agent::Reply reply = calls.handle(name, body.dump(), PeerRole::controller, {});
    EXPECT_EQ(reply.status, 200) << name << ": " << reply.body;
    return VersionsJson::parse(reply.body);
  };
  const VersionsJson hello = ask("hello", VersionsJson::object());
  const VersionsJson first_hello = recorded("v1_first/hello.json");
  for (const auto& [name, value] : first_hello.items())
    EXPECT_TRUE(hello.contains(name) || name == "armed" || name == "hold" || name == "failedUndo") << name;
  VersionsJson observe = recorded("v1_first/observe.json");
  observe.erase("ifNot");
  EXPECT_TRUE(ask("observe", observe).contains("entries"));
  VersionsJson apply = recorded("v1_first/apply.json");
  apply["guard"].erase("revision");
  EXPECT_EQ(ask("apply", apply).at("outcomes").size(), 3U);
  EXPECT_EQ(ask("hello", VersionsJson::object()).at("armed"), "e7-c12-s3");
  VersionsJson settle = recorded("v1_first/settle.json");
  ask("settle", settle);
  settle["settlement"] = "undo";
  ask("settle", settle);
  EXPECT_EQ(device.have(agent::entry("interface[rail0]/mtu")), agent::number(1500));
  ask("remedy", recorded("v1_first/remedy.json"));
}

}  // namespace
}  // namespace lockstep
