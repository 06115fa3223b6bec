// Plans between configurations of SONiC: replayed, and each state judged whole.
#include "drivers/sonic/config_plan.hpp"

#include <random>

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
  const std::size_t pairs = 10 * effort();
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

}  // namespace
}  // namespace lockstep::sonic
