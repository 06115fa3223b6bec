#include "reconciler/session/owed.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "reconciler/engine/plan.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

class Owed : public testing::Test {
 protected:
  Owed() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-owed-XXXXXX").string();
    directory = mkdtemp(pattern.data());
  }
  ~Owed() override { std::filesystem::remove_all(directory); }

  // Started under a gate, written, and not ended: the state during a measurement.
  static std::uint64_t begin(History& history, const std::string& device) {
    const std::uint64_t change = *history.begin(Plan{}, "ann", "mtu");
    const Path mtu = *Path::parse("interface[rail0]/mtu");
    if (!history.gate(change, GateState::owed) ||
        !history.ticket(change, {device, 1, device, "linux", {{mtu, {}, Value::integer(9000), 0}}}))
      throw std::runtime_error("not written");
    return change;
  }
  std::string directory;
};

TEST_F(Owed, ChangeOfARunningProcessIsUnderWay) {
  const auto writer = led(directory);
  ASSERT_TRUE(writer->history().end(begin(writer->history(), "gpu1"), "interrupted"));
  begin(writer->history(), "gpu2");
  const Result<Unjudged> now = unjudged({}, *stored(directory), {});
  ASSERT_TRUE(now) << now.error().text();
  ASSERT_EQ(now->under_way.size(), 1U);
  EXPECT_EQ(now->under_way[0].change, 2U);
  ASSERT_EQ(now->left.size(), 1U);
  EXPECT_EQ(now->left[0].owed.change, 1U);
  EXPECT_TRUE(now->writer.starts_with("process " + std::to_string(getpid()) + " since ")) << now->writer;
  EXPECT_TRUE(now->writer.ends_with(" (lockstep apply)")) << now->writer;
}

TEST_F(Owed, ChangeOfADeadProcessIsLeft) {
  begin(led(directory)->history(), "gpu1");
  const Result<Unjudged> now = unjudged({}, *stored(directory), {});
  ASSERT_TRUE(now) << now.error().text();
  EXPECT_TRUE(now->writer.empty());
  EXPECT_TRUE(now->under_way.empty());
  ASSERT_EQ(now->left.size(), 1U);
  EXPECT_EQ(now->left[0].owed.change, 1U);
}

TEST_F(Owed, InterruptedChangeIsEndedAndItsOpenTicketsReturned) {
  begin(led(directory)->history(), "gpu1");
  const auto store = led(directory);
  History& history = store->history();
  const auto recovered = recover_in_flight(history);
  ASSERT_TRUE(recovered) << recovered.error().text();
  ASSERT_EQ(recovered->size(), 1U);
  EXPECT_EQ(recovered->front().change, 1U);
  EXPECT_EQ(devices_of(recovered->front().unsettled), std::vector<std::string>{"gpu1"});
  EXPECT_TRUE(history.in_flight()->empty());
  EXPECT_EQ(history.changes()->front().outcome, "interrupted");
}

TEST_F(Owed, ChangeThatCannotBeValidatedStaysPendingWithTheReason) {
  using Fate = OwedDecision::Fate;
  begin(led(directory)->history(), "gpu1");
  const auto store = led(directory);
  History& history = store->history();
  OpenedCluster cluster;
  cluster.catalog.validation_suites.emplace_back();
  const auto fate = [&](const OwedChoice& choice) {
    const auto decisions = take_owed(cluster, *store, choice);
    return decisions && decisions->size() == 1 ? decisions->front().fate : Fate::no_suite;
  };
  EXPECT_EQ(fate({}), Fate::taken);
  EXPECT_EQ(fate({.only = {"gpu1", "gpu2"}}), Fate::taken);
  EXPECT_EQ(fate({.only = {"gpu2"}}), Fate::other_devices);
  EXPECT_EQ(fate({.measures = false, .only = {"gpu2"}}), Fate::not_measuring);
  cluster.maintenance["gpu1"] = "until 2027-01-01: optics";
  EXPECT_EQ(fate({}), Fate::in_maintenance);
  cluster.maintenance.clear();
  EXPECT_EQ(history.owed()->size(), 1U);
  cluster.catalog.validation_suites.clear();
  EXPECT_EQ(fate({}), Fate::no_suite);
  EXPECT_EQ(history.owed()->size(), 1U) << "a partial checkout forgets nothing";
  EXPECT_TRUE(take_owed(cluster, *store, {})->front().is_left()) << "and no command ends well with it";
}

TEST_F(Owed, UnknownVerdictIsDistinguishedFromNeverMeasured) {
  const auto store = led(directory);
  const std::uint64_t change = begin(store->history(), "gpu1");
  EXPECT_FALSE(take_owed({}, *store, {})->front().measured);
  ASSERT_TRUE(store->history().owe(change, {"slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0"}));
  EXPECT_TRUE(take_owed({}, *store, {})->front().measured);
}

}  // namespace
}  // namespace lockstep
