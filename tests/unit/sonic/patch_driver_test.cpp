// The driver over ssh against the stand-in of a switch's commands: what it observes, what is there when a
// change goes wrong at each of its steps, and what it sends. The oracle is the stand-in's CONFIG_DB.
#include "drivers/sonic/patch_driver.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "drivers/sonic/builtin_rules.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/sonic_commands/switch_folder.hpp"
#include "tests/unit/sonic/changes.hpp"
#include "tests/unit/sonic/redis_process.hpp"
#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;
using stand_in::SwitchFolder;

constexpr const char* kPatchLeaf = R"({
  "DEVICE_METADATA": {"localhost": {"hwsku": "ACS-SN5600", "frr_mgmt_framework_config": "true"}},
  "PORT": {"Ethernet0": {"lanes": "0,1", "speed": "400000", "mtu": "9100", "fec": "rs", "admin_status": "up"},
           "Ethernet8": {"lanes": "8,9", "speed": "400000", "mtu": "9100", "fec": "rs", "admin_status": "up"}},
  "DSCP_TO_TC_MAP": {"AZURE": {"0": "0", "26": "1", "48": "6"}},
  "TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "1": "1", "6": "6"}},
  "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
                   "Ethernet8": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"}},
  "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "30000000"}},
  "BUFFER_PROFILE": {"mine": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "0"}},
  "PFC_WD": {"Ethernet8": {"action": "drop", "detection_time": "200", "restoration_time": "400"}}})";

ChangeSet lossless_ports() {
  ChangeSet out;
  for (const std::string port : {"Ethernet0", "Ethernet8"}) {
    out.push_back(change("interface[" + port + "]/class[1]", Value{}));
    const ChangeSet one = lossless_class(port);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

Change native_change(const std::string& name, Value want) {
  return {Path(row("raw[*][*]"), {"sonic", name}), {}, want};
}

Guard of_change(std::string transaction) {
  Guard out{"t1", "", 0, {}};
  out.transaction = std::move(transaction);
  return out;
}

class SonicPatch : public testing::Test {
 protected:
  void SetUp() override { folder.write("config.json", kPatchLeaf); }

  Attached attach() const { return make_sonic_patch_driver(folder.target()); }
  static Observation observed(const Attached& attached) {
    auto seen = attached.driver->observe(Scope{}, "", patient());
    EXPECT_TRUE(seen) << said(seen);
    return seen ? *std::move(seen) : Observation{};
  }
  // What an outcome says, and whether what it says is so.
  static void expect_true(const ChangeSet& changes, const Receipt& receipt, const Tree& have,
                          const std::string& when) {
    ASSERT_EQ(receipt.outcomes.size(), changes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const auto& error = receipt.outcomes[i].error;
      if (error && error->kind == ErrorKind::unknown_outcome) continue;
      EXPECT_EQ(have.value(changes[i].path) == changes[i].want, !error)
          << when << ": " << changes[i].path.text();
      if (error) {
        EXPECT_NE(error->kind, ErrorKind::transient) << when << ": it would be tried again unseen";
      }
    }
  }
  static std::size_t failed(const Receipt& receipt) {
    return static_cast<std::size_t>(
        std::ranges::count_if(receipt.outcomes, [](const auto& one) { return one.error.has_value(); }));
  }
  std::vector<std::string> config_calls() {
    std::vector<std::string> out = folder.calls();
    std::erase_if(out, [](const std::string& line) { return !line.starts_with("config "); });
    return out;
  }
  bool is_clean() const { return std::filesystem::is_empty(folder / "tmp"); }

  SwitchFolder folder{LOCKSTEP_SONIC_STAND_IN};
};

TEST_F(SonicPatch, AChangeIsTriedMadeReadBackAndASecondOneSendsNothing) {
  const Attached leaf = attach();
  const ChangeSet changes = lossless_ports();
  const auto receipt = leaf.driver->apply(changes, of_change("change/7"), patient());
  ASSERT_TRUE(receipt) << said(receipt);
  for (const auto& outcome : receipt->outcomes)
    EXPECT_FALSE(outcome.error) << outcome.path.text() << ": " << outcome.error->text();
  EXPECT_EQ(receipt->ticket, "t1");
  ASSERT_EQ(receipt->notes.size(), 1U);
  EXPECT_EQ(receipt->notes[0], "shut down meanwhile, by SONiC: Ethernet0, Ethernet8");
  const std::vector<std::string> calls = config_calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_TRUE(calls[0].starts_with("config apply-patch -d " + folder / "tmp/lockstep."));
  EXPECT_EQ(calls[1], "config checkpoint lockstep-change-7");
  EXPECT_TRUE(calls[2].starts_with("config apply-patch " + folder / "tmp/lockstep."));
  EXPECT_TRUE(is_clean());
  EXPECT_EQ(Json::parse(folder.read("checkpoints/lockstep-change-7.cp.json")), Json::parse(kPatchLeaf));
  const Json now = folder.config();
  EXPECT_EQ(now.at("PORT_QOS_MAP").at("Ethernet0").at("pfc_enable"), "3");
  EXPECT_EQ(now.at("PORT").at("Ethernet8").at("admin_status"), "up");
  EXPECT_TRUE(check_by_builtin_rules(*parse_config_db(now.dump())).valid());
  const Tree have = observed(leaf).have;
  for (const Change& one : changes) EXPECT_EQ(have.value(one.path), one.want) << one.path.text();
  ASSERT_TRUE(leaf.driver->apply(changes, {}, patient()));
  EXPECT_EQ(config_calls(), std::vector<std::string>{});
  EXPECT_EQ(folder.config(), now);
}

TEST_F(SonicPatch, ARetryKeepsTheCheckpointAndOldOnesGo) {
  const Attached leaf = attach();
  for (int i = 0; i < 12; ++i) {
    const std::string name = "checkpoints/lockstep-old" + std::to_string(i) + ".cp.json";
    folder.write(name, "{}");
    std::filesystem::last_write_time(
        folder / name, std::filesystem::file_time_type::clock::now() - std::chrono::hours(100 - i));
  }
  folder.write("checkpoints/mine.cp.json", "{}");
  for (const int mtu : {1500, 9216}) {
    const auto receipt = leaf.driver->apply({change("interface[Ethernet0]/mtu", Value::integer(mtu))},
                                            of_change("c1"), patient());
    ASSERT_TRUE(receipt) << said(receipt);
  }
  EXPECT_EQ(Json::parse(folder.read("checkpoints/lockstep-c1.cp.json")), Json::parse(kPatchLeaf));
  std::set<std::string> left;
  for (const auto& one : std::filesystem::directory_iterator(folder / "checkpoints"))
    left.insert(one.path().filename());
  EXPECT_EQ(left.size(), 11U);
  EXPECT_TRUE(left.contains("mine.cp.json"));
  EXPECT_FALSE(left.contains("lockstep-old2.cp.json"));
  // Another run's transactions may have the same names.
  const ChangeSet more{change("interface[Ethernet0]/mtu", Value::integer(1500))};
  ASSERT_TRUE(attach().driver->apply(more, of_change("c1"), patient()));
  const Json taken = Json::parse(folder.read("checkpoints/lockstep-c1.cp.json"));
  EXPECT_EQ(taken.at("PORT").at("Ethernet0").at("mtu"), "9216");
  EXPECT_TRUE(left.contains("lockstep-old3.cp.json"));
}

TEST_F(SonicPatch, OneConnectionReadsAll) {
  folder.write("appl.json", R"({"PORT_TABLE:Ethernet0": {"type": "hash", "value": {"oper_status": "up"}},
    "PORT_TABLE:Ethernet8": {"type": "hash", "value": {"oper_status": "down"}, "ttl": 5},
    "PORT_TABLE:PortInitDone": {"type": "hash", "value": {"lanes": "0"}},
    "LLDP_ENTRY_TABLE:Ethernet0": {"type": "hash", "value": {"lldp_rem_sys_name": "gpu1",
      "lldp_rem_port_id_subtype": "3", "lldp_rem_port_id": "52:54:00:12:34:56", "lldp_rem_port_desc": "rail0"}}})");
  folder.write("state.json",
               R"({"NEIGH_STATE_TABLE|Ethernet8": {"type": "hash", "value": {"state": "Established"}}})");
  const Observation seen = observed(attach());
  EXPECT_EQ(seen.have.value(*Path::parse("interface[Ethernet0]/carrier")), Value::boolean(true));
  EXPECT_EQ(seen.have.value(*Path::parse("interface[Ethernet8]/carrier")), Value::boolean(false));
  EXPECT_EQ(seen.have.value(*Path::parse("interface[Ethernet0]/peer")), Value::text("gpu1:rail0"));
  EXPECT_EQ(seen.have.value(*Path::parse("bgp/neighbor[Ethernet8]/session")), Value::text("established"));
  EXPECT_EQ(seen.have.value(*Path::parse("interface[Ethernet0]/mtu")), Value::integer(9100));
  EXPECT_TRUE(seen.unread.empty());
  EXPECT_FALSE(seen.boot_id.empty());
  EXPECT_EQ(seen.facts.at("model"), "ACS-SN5600");
  const std::vector<std::string> calls = folder.calls();
  EXPECT_EQ(std::ranges::count_if(calls, [](const std::string& line) { return line.starts_with("ssh "); }),
            1);
  const auto again = attach().driver->observe(Scope{}, seen.revision, patient());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->revision, seen.revision);
  EXPECT_TRUE(again->have.entries().empty());
}

TEST_F(SonicPatch, WhatCantBeReadIsNotAbsence) {
  folder.misbehave(
      {{"sonic-db-dump", {{"in", "PORT_TABLE"}, {"what", "print"}, {"text", "Traceback"}, {"code", 1}}}});
  const Observation seen = observed(attach());
  EXPECT_TRUE(seen.revision.empty());
  ASSERT_FALSE(seen.unread.empty());
  EXPECT_NE(seen.unread[0].why.text().find("sonic-db-dump of PORT_TABLE failed with exit code 1"),
            std::string::npos);
  for (const char* const text :
       {"", "[]", "{", "{\"PORT\": 3}", "{\"PORT\": {\"Ethernet0\": {\"mtu\": true}}}"}) {
    folder.misbehave({{"sonic-cfggen", {{"what", "print"}, {"text", text}, {"code", 0}}}});
    const auto wrong = attach().driver->observe(Scope{}, "", patient());
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().kind, ErrorKind::refused) << said(wrong);
  }
  folder.misbehave({{"sonic-cfggen", {{"what", "print"}, {"text", "no python"}, {"code", 1}}}});
  EXPECT_NE(said(attach().driver->observe(Scope{}, "", patient()))
                .find("sonic-cfggen failed with exit code 1: no python"),
            std::string::npos);
}

TEST_F(SonicPatch, AConfigDbThatIsNotInitialisedIsNotRead) {
  for (const char* const text : {"", "0"}) {
    folder.write("initialised", text);
    folder.calls();
    const auto seen = attach().driver->observe(Scope{}, "", patient());
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().kind, ErrorKind::transient);
    EXPECT_NE(said(seen).find("CONFIG_DB is not initialised yet"), std::string::npos) << said(seen);
    // sonic-cfggen would wait for it.
    for (const std::string& line : folder.calls()) EXPECT_FALSE(line.starts_with("sonic-cfggen")) << line;
  }
}

// Each in its own words, and the rest is applied.
TEST_F(SonicPatch, WhatTheAllowListRefusesIsRefusedAndTheRestIsApplied) {
  folder.write("state.json", R"({"PORT_TABLE|Ethernet0": {"type": "hash", "value":
    {"supported_speeds": "100000,400000", "supported_fecs": "rs"}}})");
  const ChangeSet changes{change("interface[Ethernet0]/mtu", Value::integer(9216)),
                          change("interface[Ethernet0]/speed", Value::integer(200000)),
                          native_change("BUFFER_POOL|ingress_lossless_pool size", Value::text("20000000")),
                          native_change("BUFFER_PROFILE|mine size", Value::text("100")),
                          native_change("BUFFER_PROFILE|mine dynamic_th", Value::text("1")),
                          change("interface[Ethernet8]/mtu", Value::integer(9216)),
                          change("interface[Ethernet4]/mtu", Value::integer(9216))};
  const auto receipt = attach().driver->apply(changes, {}, patient());
  ASSERT_TRUE(receipt) << said(receipt);
  const auto words = [&](std::size_t i) {
    return receipt->outcomes[i].error ? receipt->outcomes[i].error->text() : "";
  };
  EXPECT_EQ(words(0), "");
  EXPECT_EQ(words(1),
            "PORT|Ethernet0: config apply-patch refuses speed 200000, which the port does not support "
            "(STATE_DB PORT_TABLE, supported_speeds)");
  EXPECT_EQ(words(2),
            "BUFFER_POOL|ingress_lossless_pool: config apply-patch refuses to change field size "
            "(SONiC's gcu_field_operation_validators.conf.json)");
  EXPECT_NE(words(3).find("refuses to change field size"), std::string::npos) << words(3);
  EXPECT_EQ(words(4), "");
  EXPECT_EQ(words(5), "");
  EXPECT_NE(words(6), "");
  for (const std::size_t i : {1U, 2U, 3U}) EXPECT_EQ(receipt->outcomes[i].error->kind, ErrorKind::refused);
  const Json now = folder.config();
  EXPECT_EQ(now.at("PORT").at("Ethernet0").at("mtu"), "9216");
  EXPECT_EQ(now.at("PORT").at("Ethernet0").at("speed"), "400000");
  EXPECT_EQ(now.at("BUFFER_POOL").at("ingress_lossless_pool").at("size"), "30000000");
  EXPECT_EQ(now.at("BUFFER_PROFILE").at("mine").at("dynamic_th"), "1");
}

TEST_F(SonicPatch, NothingIsSentIfAllIsRefused) {
  const auto receipt = attach().driver->apply(
      {native_change("BUFFER_POOL|ingress_lossless_pool size", Value::text("20000000"))}, {}, patient());
  ASSERT_TRUE(receipt);
  EXPECT_TRUE(receipt->outcomes[0].error);
  EXPECT_EQ(config_calls(), std::vector<std::string>{});
}

TEST_F(SonicPatch, AnInvalidTargetIsRefusedBeforeAnythingIsSent) {
  const auto receipt =
      attach().driver->apply({change("interface[Ethernet0]/mtu", Value::integer(20000))}, {}, patient());
  ASSERT_TRUE(receipt);
  ASSERT_TRUE(receipt->outcomes[0].error);
  EXPECT_EQ(receipt->outcomes[0].error->kind, ErrorKind::refused);
  EXPECT_EQ(config_calls(), std::vector<std::string>{});
}

TEST_F(SonicPatch, WhatTheDryRunRefusesIsRefusedInItsWordsAndNothingIsApplied) {
  const Json before = folder.config();
  folder.misbehave(
      {{"config",
        {{"in", "-d"},
         {"what", "refuse"},
         {"text", "Given patch will produce invalid config. Error: Data Loading Failed\nSome text"}}}});
  const ChangeSet changes{change("interface[Ethernet0]/mtu", Value::integer(9216)),
                          change("interface[Ethernet8]/mtu", Value::integer(9216))};
  const auto receipt = attach().driver->apply(changes, {}, patient());
  ASSERT_TRUE(receipt) << said(receipt);
  for (const auto& outcome : receipt->outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->kind, ErrorKind::refused);
    EXPECT_EQ(outcome.error->text(),
              "admin@leaf0: config apply-patch: Given patch will produce invalid config. Error: "
              "Data Loading Failed Some text");
  }
  EXPECT_EQ(folder.config(), before);
  EXPECT_EQ(config_calls().size(), 1U);
  EXPECT_TRUE(is_clean());
}

// After each number of changes SONiC fails or is killed: what is said is so, ports are up, the next run
// finishes.
TEST_F(SonicPatch, AFailureInTheMiddleIsToldByWhatIsThereAndPortsComeUp) {
  const ChangeSet changes = lossless_ports();
  std::size_t tries = 0;
  for (const char* const what : {"fail", "killed"})
    for (std::size_t after = 0; after < 100; after += 5) {
      const std::string when = std::string(what) + " after " + std::to_string(after);
      folder.write("config.json", kPatchLeaf);
      folder.misbehave(
          {{"config", {{"in", "apply-patch /"}, {"what", what}, {"after", after}, {"text", "no"}}}});
      const auto receipt = attach().driver->apply(changes, {}, patient());
      ASSERT_TRUE(receipt) << when << ": " << said(receipt);
      folder.misbehave(nullptr);
      const Attached leaf = attach();
      expect_true(changes, *receipt, observed(leaf).have, when);
      EXPECT_TRUE(is_clean());
      const Json now = folder.config();
      for (const char* const port : {"Ethernet0", "Ethernet8"})
        EXPECT_EQ(now.at("PORT").at(port).at("admin_status"), "up") << when;
      if (failed(*receipt) == 0) break;
      ++tries;
      const auto again = leaf.driver->apply(changes, {}, patient());
      ASSERT_TRUE(again) << when << ": " << said(again);
      EXPECT_EQ(failed(*again), 0U) << when;
      const Tree have = observed(leaf).have;
      for (const Change& one : changes) EXPECT_EQ(have.value(one.path), one.want) << when << one.path.text();
    }
  EXPECT_GT(tries, 6U);
}

TEST_F(SonicPatch, AFailureSaysWhichPortsWereDown) {
  folder.misbehave({{"config", {{"in", "apply-patch /"}, {"what", "fail"}, {"after", 1}, {"text", "no"}}}});
  const auto receipt = attach().driver->apply(lossless_ports(), {}, patient());
  ASSERT_TRUE(receipt);
  ASSERT_EQ(receipt->notes.size(), 2U);
  EXPECT_EQ(receipt->notes[1],
            "were left down by a failed config apply-patch, and brought up again: Ethernet0");
}

TEST_F(SonicPatch, ALostReplyIsUnknownAndWhatWasBegunIsFinished) {
  folder.misbehave({{"ssh", {{"in", "part apply"}, {"what", "lose reply"}}}});
  const ChangeSet changes{change("interface[Ethernet0]/mtu", Value::integer(9216))};
  const auto receipt = attach().driver->apply(changes, {}, patient());
  ASSERT_TRUE(receipt) << said(receipt);
  ASSERT_TRUE(receipt->outcomes[0].error);
  EXPECT_EQ(receipt->outcomes[0].error->kind, ErrorKind::unknown_outcome);
  EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("mtu"), "9216");
}

// The call ends in the middle; SONiC goes on, nobody else changes anything meanwhile, and who reads waits.
TEST_F(SonicPatch, AChangeThatOutlastsItsCallIsFinishedAndWaitedFor) {
  folder.misbehave({{"config", {{"in", "apply-patch /"}, {"what", "wait"}, {"after", 1}}}});
  const ChangeSet changes = lossless_ports();
  const stand_in::StopWhen stop(folder / "waits");
  const Attached leaf = attach();
  const auto receipt = leaf.driver->apply(changes, {}, stop.call());
  ASSERT_TRUE(receipt) << said(receipt);
  for (const auto& one : receipt->outcomes) {
    ASSERT_TRUE(one.error);
    EXPECT_EQ(one.error->kind, ErrorKind::unknown_outcome);
  }
  const auto soon = [] {
    return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5), .stop = {}};
  };
  const auto early = leaf.driver->observe(Scope{}, "", soon());
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().kind, ErrorKind::transient);
  EXPECT_NE(said(early).find("an earlier config apply-patch of Lockstep still runs"), std::string::npos)
      << said(early);
  EXPECT_FALSE(
      attach().driver->apply({change("interface[Ethernet0]/mtu", Value::integer(1500))}, {}, soon()));
  const std::jthread goes([this] { folder.write("go", ""); });
  const Tree have = observed(leaf).have;  // waits
  for (const Change& one : changes) EXPECT_EQ(have.value(one.path), one.want) << one.path.text();
  EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("admin_status"), "up");
}

TEST_F(SonicPatch, EndsOfSshBeforeAnythingRanAreNotUnknown) {
  const ChangeSet changes{change("interface[Ethernet0]/mtu", Value::integer(9216))};
  for (const auto& [in, what, kind] : {std::tuple{"", "unreachable", ErrorKind::transient},
                                       {"", "deny", ErrorKind::denied},
                                       {"part apply", "unreachable", ErrorKind::transient},
                                       {"part try", "lose reply", ErrorKind::transient},
                                       {"part try", "garbage", ErrorKind::refused}}) {
    folder.misbehave({{"ssh", {{"in", in}, {"what", what}}}});
    const auto receipt = attach().driver->apply(changes, {}, patient());
    if (receipt) {
      ASSERT_TRUE(receipt->outcomes[0].error) << in << what;
      EXPECT_EQ(receipt->outcomes[0].error->kind, kind) << in << what;
    } else {
      EXPECT_EQ(receipt.error().kind, kind) << in << what << said(receipt);
    }
    EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("mtu"), "9100");
  }
}

TEST_F(SonicPatch, WithoutSudoItIsDenied) {
  folder.misbehave({{"sudo", {{"what", "password"}}}});
  const auto receipt =
      attach().driver->apply({change("interface[Ethernet0]/mtu", Value::integer(9216))}, {}, patient());
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind, ErrorKind::denied);
  EXPECT_NE(said(receipt).find("sudo does not let this user run config"), std::string::npos) << said(receipt);
}

TEST_F(SonicPatch, WithoutACheckpointNothingIsApplied) {
  const Json before = folder.config();
  folder.misbehave({{"config", {{"in", "checkpoint"}, {"what", "no space"}}}});
  const auto receipt =
      attach().driver->apply({change("interface[Ethernet0]/mtu", Value::integer(9216))}, {}, patient());
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().kind, ErrorKind::refused);
  EXPECT_NE(said(receipt).find("No space left on device"), std::string::npos) << said(receipt);
  EXPECT_EQ(folder.config(), before);
}

TEST_F(SonicPatch, AnotherWriterIsAConflict) {
  const Attached leaf = attach();
  const Observation seen = observed(leaf);
  Json other = folder.config();
  other["PORT"]["Ethernet8"]["mtu"] = "1500";
  folder.set_config(other);
  const ChangeSet changes{change("interface[Ethernet0]/mtu", Value::integer(9216))};
  const auto stale = leaf.driver->apply(changes, {"t1", seen.revision, 0, {}}, patient());
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().kind, ErrorKind::conflict);
  EXPECT_TRUE(leaf.driver->apply(changes, {"t1", observed(leaf).revision, 0, {}}, patient()));
  EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("mtu"), "9216");
}

TEST_F(SonicPatch, AnEarlierLeaderAndATimerAreRefused) {
  const Attached leaf = attach();
  const ChangeSet changes{change("interface[Ethernet0]/mtu", Value::integer(9216))};
  EXPECT_TRUE(leaf.driver->apply(changes, {"t1", "", 7, {}}, patient()));
  const auto old = leaf.driver->apply(changes, {"t1", "", 6, {}}, patient());
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::denied);
  const auto armed = leaf.driver->apply(changes, {"t1", "", 7, std::chrono::seconds(5)}, patient());
  ASSERT_FALSE(armed);
  EXPECT_EQ(armed.error().kind, ErrorKind::unsupported);
  EXPECT_FALSE(leaf.driver->settle("c", Settlement::undo, patient()));
  EXPECT_TRUE(leaf.driver->settle("c", Settlement::keep, patient()));
  EXPECT_FALSE(leaf.watch);
}

TEST_F(SonicPatch, NativeLinesAreThePatch) {
  const Attached leaf = attach();
  observed(leaf);
  EXPECT_EQ(leaf.preview->native({change("interface[Ethernet0]/mtu", Value::integer(9216))}),
            std::vector<std::string>{R"({"op":"replace","path":"/PORT/Ethernet0/mtu","value":"9216"})"});
}

}  // namespace
}  // namespace lockstep::sonic
