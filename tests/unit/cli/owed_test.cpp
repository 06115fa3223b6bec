#include "reconciler/cli/owed.hpp"

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
  std::string text(const Unjudged& all) const { return unjudged_text(all, Terminal{}); }

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
  const std::string said = text(*now);
  EXPECT_TRUE(said.starts_with("being changed by process " + std::to_string(getpid()) + " since ")) << said;
  EXPECT_NE(said.find("(lockstep apply): change 2 "), std::string::npos) << said;
  EXPECT_NE(said.find("\nnever measured: change 1 "), std::string::npos) << said;
  EXPECT_EQ(said.find("never measured: change 2"), std::string::npos) << said;
}

TEST_F(Owed, WhatAProcessLeftThatIsGoneWasNeverMeasured) {
  begin(*open(false), "gpu1");
  const Result<Unjudged> now = unjudged(directory, *open(true));
  ASSERT_TRUE(now) << now.error().text();
  EXPECT_TRUE(now->writer.empty());
  EXPECT_TRUE(now->under_way.empty());
  EXPECT_TRUE(text(*now).starts_with("never measured: change 1 ")) << text(*now);
}

}  // namespace
}  // namespace lockstep
