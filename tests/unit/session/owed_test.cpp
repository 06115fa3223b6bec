#include "reconciler/session/owed.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "reconciler/engine/plan.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

class Owed : public testing::Test {
 protected:
  Owed() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-owed-XXXXXX").string();
    directory = mkdtemp(pattern.data());
  }
  ~Owed() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<Journal> open(bool read_only) const {
    auto journal = Journal::open(directory, {.command = "lockstep apply", .read_only = read_only});
    if (!journal) throw std::runtime_error(journal.error().text());
    return *std::move(journal);
  }
  // Begun under a gate and written, and not ended: as a process has it that measures.
  static std::uint64_t begin(Journal& journal, const std::string& device) {
    const std::uint64_t change = *journal.begin(Plan{}, "ann", "mtu");
    const Path mtu = *Path::parse("interface[rail0]/mtu");
    if (!journal.gate(change, GateState::owed) ||
        !journal.ticket(change, {device, 1, device, "linux", {{mtu, {}, Value::integer(9000), 0}}}))
      throw std::runtime_error("not written");
    return change;
  }
  std::string directory;
};

TEST_F(Owed, WhatAnotherProcessIsAboutToMeasureIsItsOwnAndNotLeft) {
  auto writer = open(false);
  ASSERT_TRUE(writer->end(begin(*writer, "gpu1"), "interrupted"));
  begin(*writer, "gpu2");
  const auto reader = open(true);
  const Result<Unjudged> now = unjudged(directory, *reader);
  ASSERT_TRUE(now) << now.error().text();
  ASSERT_EQ(now->under_way.size(), 1U);
  EXPECT_EQ(now->under_way[0].change, 2U);
  ASSERT_EQ(now->left.size(), 1U);
  EXPECT_EQ(now->left[0].change, 1U);
  EXPECT_TRUE(now->writer.starts_with("process " + std::to_string(getpid()) + " since ")) << now->writer;
  EXPECT_TRUE(now->writer.ends_with(" (lockstep apply)")) << now->writer;
}

TEST_F(Owed, WhatAProcessLeftThatIsGoneWasNeverMeasured) {
  begin(*open(false), "gpu1");
  const Result<Unjudged> now = unjudged(directory, *open(true));
  ASSERT_TRUE(now) << now.error().text();
  EXPECT_TRUE(now->writer.empty());
  EXPECT_TRUE(now->under_way.empty());
  ASSERT_EQ(now->left.size(), 1U);
  EXPECT_EQ(now->left[0].change, 1U);
}

TEST_F(Owed, AnInterruptedChangeIsEndedAndItsOpenTicketsReturned) {
  begin(*open(false), "gpu1");
  const auto journal = open(false);
  const auto recovered = recover_in_flight(*journal);
  ASSERT_TRUE(recovered) << recovered.error().text();
  ASSERT_EQ(recovered->size(), 1U);
  EXPECT_EQ(recovered->front().change, 1U);
  EXPECT_EQ(devices_of(recovered->front().unsettled), std::vector<std::string>{"gpu1"});
  EXPECT_TRUE(journal->in_flight()->empty());
  EXPECT_EQ(journal->changes()->front().outcome, "interrupted");
}

TEST_F(Owed, AChangeThatARunCannotValidateStaysOwedWithTheReason) {
  using Fate = OwedDecision::Fate;
  begin(*open(false), "gpu1");
  const auto journal = open(false);
  OpenedCluster cluster;
  cluster.catalog.validation_suites.emplace_back();
  const auto fate = [&](const OwedChoice& choice) {
    const auto decisions = take_owed(cluster, *journal, choice);
    return decisions && decisions->size() == 1 ? decisions->front().fate : Fate::no_suite;
  };
  EXPECT_EQ(fate({}), Fate::taken);
  EXPECT_EQ(fate({.only = {"gpu1", "gpu2"}}), Fate::taken);
  EXPECT_EQ(fate({.only = {"gpu2"}}), Fate::other_devices);
  EXPECT_EQ(fate({.measures = false, .only = {"gpu2"}}), Fate::not_measuring);
  EXPECT_EQ(journal->owed()->size(), 1U);
  cluster.catalog.validation_suites.clear();
  EXPECT_EQ(fate({}), Fate::no_suite);
  EXPECT_TRUE(journal->owed()->empty());
}

}  // namespace
}  // namespace lockstep
