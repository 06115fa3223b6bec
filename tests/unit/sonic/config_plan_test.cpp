// Plans between configurations of SONiC: replayed, and each state judged whole.
#include "drivers/sonic/config_plan.hpp"

#include <random>

#include "drivers/sonic/builtin_rules.hpp"
#include "tests/unit/sonic/config_samples.hpp"

namespace lockstep::sonic {
namespace {

class ConfigPlans : public testing::Test {
 protected:
  void SetUp() override { LOCKSTEP_NEEDS_SONIC_YANG(); }

  // Replays a plan; judges about `most` of its states whole, and the last.
  void replay(const ConfigPlan& plan, ConfigDb state, const ConfigDb& target, std::size_t most) {
    for (std::size_t i = 0; i < plan.moves.size(); ++i) {
      make_move(plan.moves[i], state);
      if (random() % plan.moves.size() >= most && i + 1 != plan.moves.size()) continue;
      const ConfigFindings findings = sonic_models().check(state);
      ASSERT_TRUE(findings.valid()) << "after move " << i + 1 << " of " << plan.moves.size() << ": "
                                    << said(findings);
      ++judged;
    }
    EXPECT_EQ(state, target);
    moves += plan.moves.size();
  }

  std::mt19937 random{7};
  std::size_t moves = 0;
  std::size_t judged = 0;
};

TEST_F(ConfigPlans, BetweenRandomPairsOfValidConfigurationsEachStateIsValid) {
  const std::vector<ConfigDb>& all = valid_configs();
  const std::size_t pairs = 20 * effort();
  for (std::size_t i = 0; i < pairs; ++i) {
    const ConfigDb& from = all[random() % all.size()];
    const ConfigDb& to = all[random() % all.size()];
    const Result<ConfigPlan> plan = plan_config(&sonic_models(), from, to);
    ASSERT_TRUE(plan) << plan.error().text() << "\nfrom " << config_db_json(from) << "to "
                      << config_db_json(to);
    replay(*plan, from, to, 5);
    if (HasFatalFailure()) return;
  }
  std::printf("%zu configurations, %zu pairs, %zu moves, %zu states judged whole\n", all.size(), pairs, moves,
              judged);
}

// Rules of order, by plans that need no models.
class PlanOrder : public testing::Test {
 protected:
  static ConfigPlan plan(const char* from, const char* to) {
    const ConfigDb current = *parse_config_db(from);
    const ConfigDb target = *parse_config_db(to);
    Result<ConfigPlan> made = plan_config(nullptr, current, target);
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return {};
    ConfigDb state = current;
    for (const ConfigMove& move : made->moves) {
      make_move(move, state);
      EXPECT_TRUE(check_by_builtin_rules(state).valid()) << said(check_by_builtin_rules(state));
    }
    EXPECT_EQ(state, target);
    return *std::move(made);
  }
  // "PORT|Ethernet0 down", "-VLAN|Vlan1", "QUEUE|Ethernet0|3".
  static std::vector<std::string> words(const ConfigPlan& plan) {
    std::vector<std::string> out;
    for (const ConfigMove& move : plan.moves) {
      std::string word = (move.row ? "" : "-") + redis_name(move.table, move.key);
      if (move.table == "PORT" && move.row) word += is_port_up(*move.row) ? " up" : " down";
      out.push_back(std::move(word));
    }
    return out;
  }
};
using Words = std::vector<std::string>;

TEST_F(PlanOrder, PortsGoDownAndComeUpOneAfterTheOther) {
  const ConfigPlan made = plan(
      R"({"PORT": {"A": {"lanes": "1", "speed": "100", "admin_status": "up"},
                   "B": {"lanes": "2", "speed": "100", "admin_status": "up"},
                   "C": {"lanes": "3", "speed": "100", "admin_status": "down"}},
          "QUEUE": {"A|3": {}, "B|3": {}}})",
      R"({"PORT": {"A": {"lanes": "1", "speed": "100", "admin_status": "up"},
                   "B": {"lanes": "2", "speed": "100", "admin_status": "up"},
                   "C": {"lanes": "3", "speed": "100", "admin_status": "down"}},
          "SCHEDULER": {"s": {"type": "STRICT"}},
          "QUEUE": {"A|3": {"scheduler": "s"}, "B|4": {"scheduler": "s"}, "C|3": {"scheduler": "s"}}})");
  EXPECT_EQ(words(made), (Words{"SCHEDULER|s", "PORT|A down", "QUEUE|A|3", "PORT|A up", "PORT|B down",
                                "-QUEUE|B|3", "QUEUE|B|4", "PORT|B up", "QUEUE|C|3"}));
  EXPECT_EQ(made.ports_down, (Words{"A", "B"}));
  EXPECT_TRUE(made.rebuilt.empty());
}

TEST_F(PlanOrder, ANewPortComesUpBehindItsRows) {
  const ConfigPlan made = plan(R"({})",
                               R"({"PORT": {"A": {"lanes": "1", "speed": "100", "admin_status": "up"}},
                                   "QUEUE": {"A|3": {}}, "INTERFACE": {"A": {}, "A|10.0.0.0/31": {}}})");
  EXPECT_EQ(words(made),
            (Words{"PORT|A down", "INTERFACE|A", "INTERFACE|A|10.0.0.0/31", "QUEUE|A|3", "PORT|A up"}));
  EXPECT_TRUE(made.ports_down.empty());
}

TEST_F(PlanOrder, VirtualQueuesAreOfTheirPort) {
  const ConfigPlan made = plan(
      R"({"PORT": {"A": {"lanes": "1", "speed": "100", "admin_status": "up"}}})",
      R"({"PORT": {"A": {"lanes": "1", "speed": "100", "admin_status": "up"}}, "QUEUE": {"host|asic0|A|3": {}}})");
  EXPECT_EQ(words(made), (Words{"PORT|A down", "QUEUE|host|asic0|A|3", "PORT|A up"}));
}

TEST_F(PlanOrder, AnAddressLeavesBeforeItComes) {
  const char* const ports =
      R"("PORT": {"A": {"lanes": "1", "speed": "100"}, "B": {"lanes": "2", "speed": "100"}})";
  const std::string from =
      "{" + std::string(ports) + R"(, "INTERFACE": {"B": {}, "B|FC00::1/64": {}, "A": {}}})";
  const std::string to =
      "{" + std::string(ports) + R"(, "INTERFACE": {"A": {}, "A|fc00::1/64": {}, "B": {}}})";
  EXPECT_EQ(words(plan(from.c_str(), to.c_str())),
            (Words{"-INTERFACE|B|FC00::1/64", "INTERFACE|A|fc00::1/64"}));
}

TEST_F(PlanOrder, AFieldThatIsReadOnlyOnceTakesANewRow) {
  const ConfigPlan made = plan(
      R"({"PORT": {"A": {"lanes": "1", "speed": "100"}}, "PFC_WD": {"A": {"action": "drop"}}, "VLAN": {"v": {}}})",
      R"({"PORT": {"A": {"lanes": "2", "speed": "100"}}, "PFC_WD": {"A": {"action": "drop"}}, "VLAN": {"v": {}}})");
  EXPECT_EQ(words(made), (Words{"-PFC_WD|A", "-PORT|A", "PORT|A down", "PFC_WD|A"}));
  ASSERT_EQ(made.rebuilt.size(), 2U);
  EXPECT_EQ(made.rebuilt[1].key, "A");
}

TEST_F(PlanOrder, WhatCannotBeIsRefusedWithItsReason) {
  const ConfigDb good = *parse_config_db(R"({"PORT": {"A": {"lanes": "1", "speed": "100"}}})");
  const ConfigDb bad = *parse_config_db(R"({"PORT": {"A": {"lanes": "1", "speed": "0"}}})");
  const ConfigDb twice = *parse_config_db(R"({"PORT": {"A": {"speed": "0"}, "B": {"speed": "0"}}})");
  EXPECT_EQ(plan_config(nullptr, good, bad).error().text(),
            "the target is not valid: PORT|A speed: '0' is not a whole number from 1 to 1600000");
  ASSERT_TRUE(plan_config(nullptr, bad, good));
  EXPECT_FALSE(plan_config(nullptr, twice, good));
  // With faults that may stay, from and to: one goes, the other stays.
  const ConfigDb once = *parse_config_db(R"({"PORT": {"A": {"speed": "100"}, "B": {"speed": "0"}}})");
  const auto made = plan_config(nullptr, twice, once, KnownFaults::stay);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(words(*made), Words{"PORT|A down"});
  EXPECT_FALSE(plan_config(nullptr, once, twice, KnownFaults::stay)) << "a new fault";
}

}  // namespace
}  // namespace lockstep::sonic
