// A round that is started in parts.
#include "cluster.hpp"
#include "hanging_executor.hpp"

namespace lockstep {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class ObserveInParts : public testing::Test {
 protected:
  ObserveInParts() {
    for (const std::string name : {"gpu1", "gpu2", "gpu3"})
      cluster.add(name).seen = [this](const SimulatedCall&) { ++calls; };
  }
  // Sizes of the parts, until the last one.
  std::vector<std::size_t> parts_of(ObserveOptions options) {
    ObserveRound round(cluster.fleet(), executor, std::move(options));
    std::vector<std::size_t> out;
    bool over = false;
    round.start_in_parts([&](const ObserveRound::Part& part) {
      EXPECT_FALSE(over);
      out.push_back(part.devices.size());
      for (const auto& [device, state] : part.devices) seen[cluster.fleet()[device].name] = state;
      over = part.is_last;
      if (out.size() == stop_after) round.stop();
    });
    EXPECT_TRUE(out.empty()) << "not before it returns";
    while (!over && executor.step()) continue;
    EXPECT_TRUE(over);
    return out;
  }
  Cluster cluster;
  HangingExecutor executor{cluster.executor};
  std::map<std::string, DeviceState> seen;
  int calls = 0;
  std::size_t stop_after = 0;
};

TEST_F(ObserveInParts, PassesOnWhatWasReadWhileOthersTakeTheirTime) {
  executor.hang.insert("gpu2");
  const std::vector<std::size_t> parts = parts_of({.timeout = seconds(10), .only = {}});
  ASSERT_GE(parts.size(), 2U);
  EXPECT_EQ(parts.back(), 1U);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_TRUE(seen.at("gpu1").reachable);
  EXPECT_FALSE(seen.at("gpu2").reachable);
  EXPECT_TRUE(seen.at("gpu3").reachable);
}

TEST_F(ObserveInParts, StopEndsWhatIsUnderWay) {
  executor.hang = {"gpu2", "gpu3"};
  stop_after = 1;
  EXPECT_EQ(parts_of({.timeout = minutes(10), .only = {}}), (std::vector<std::size_t>{1, 2}));
  EXPECT_LT(executor.now(), Time{} + seconds(1));
}

TEST_F(ObserveInParts, OfNoDeviceEndsAtOnce) {
  Cluster none;
  ObserveRound round(none.fleet(), executor);
  int parts = 0;
  round.start_in_parts([&](const ObserveRound::Part& part) {
    ++parts;
    EXPECT_TRUE(part.is_last && part.devices.empty());
  });
  while (executor.step()) continue;
  EXPECT_EQ(parts, 1);
}

TEST_F(ObserveInParts, MayBeDestroyedWhileSomethingWaitsToBePassedOn) {
  executor.hang.insert("gpu2");
  int parts = 0;
  {
    ObserveRound round(cluster.fleet(), executor, {.timeout = seconds(10), .only = {}});
    round.start_in_parts([&](const ObserveRound::Part&) { ++parts; });
    while (calls == 0 && executor.step()) continue;
  }
  while (executor.step()) continue;
  EXPECT_EQ(parts, 0);
}

}  // namespace
}  // namespace lockstep
