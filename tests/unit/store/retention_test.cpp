// What a store drops and what it always keeps, with more changes than it retains, inserted through SQLite.
#include <fmt/format.h>

#include "history_lab.hpp"
#include "oracle.hpp"

namespace lockstep {
namespace {

constexpr WallTime kNow{std::chrono::hours(500'000)};  // 2027-01-15

class Retentions : public StateDirectory {
 protected:
  Retentions() { led(directory); }

  static StoreOptions clock() {
    return {.cluster = {}, .now = [] { return kNow; }};
  }
  // Adds `count` changes, each with a ticket, that ended on `day` and have nothing pending.
  void add(int count, const std::string& day) const {
    const Oracle oracle(file());
    ASSERT_EQ(oracle.ask(fmt::format(
                  "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0}) "
                  "INSERT INTO changes(begun, ended, outcome, author, reason, digest, plan, epoch, gate) "
                  "SELECT '{1}', '{1}', 'kept', 'ann', 'why', '', hex(randomblob(1000)), 1, 2 FROM n;"
                  "INSERT INTO tickets(ticket, change, step, device, driver, writes, begun, state) "
                  "SELECT 'of-' || id, id, 1, 'gpu1', 'linux', '[]', '', 1 FROM changes "
                  "WHERE id NOT IN (SELECT change FROM tickets); COMMIT",
                  count, day)),
              "");
  }
  void change() const {
    const auto store = led(directory, clock());
    const auto begun = store->history().begin(Plan{}, "ann", "why");
    ASSERT_TRUE(begun) << begun.error().text();
    ASSERT_TRUE(store->history().end(*begun, "kept"));
  }
  std::string ask(const std::string& text) const { return Oracle(file()).ask(text); }

  const std::string long_ago = "2026-01-01T00:00:00Z";
  const std::string lately = "2026-12-31T00:00:00Z";
};

TEST_F(Retentions, KeepTheNewestThousandOfAnyAge) {
  add(1500, long_ago);
  change();
  EXPECT_EQ(ask("SELECT COUNT(*) FROM changes"), "1001");
  EXPECT_EQ(ask("SELECT COUNT(*) FROM tickets"), "1000");
  EXPECT_EQ(ask("SELECT MIN(id) FROM changes"), "501");
  change();
  EXPECT_EQ(ask("SELECT MIN(id) FROM changes"), "502");
  EXPECT_TRUE(Oracle(file()).sound());
}

TEST_F(Retentions, KeepAQuarterOfAYearUpToTenThousand) {
  add(500, long_ago);
  add(4000, lately);
  change();
  EXPECT_EQ(ask("SELECT MIN(id) FROM changes"), "501") << "those of the quarter stay";
  add(7000, lately);
  change();
  EXPECT_EQ(ask("SELECT COUNT(*) FROM changes"), "10001");
  EXPECT_TRUE(Oracle(file()).sound());
}

TEST_F(Retentions, NeverDropInFlightPendingOrWrittenEntries) {
  add(3, long_ago);
  ASSERT_EQ(
      ask("UPDATE changes SET ended = NULL WHERE id = 1; UPDATE changes SET gate = 1 WHERE id = 2;"
          "INSERT INTO written(device, path, found, wrote) VALUES('gpu1', 'interface[rail0]/mtu', '1500', "
          "'9000');"
          "UPDATE tickets SET state = 2 WHERE change = 3; UPDATE changes SET gate = 1 WHERE id = 3"),
      "");
  add(12'000, long_ago);
  change();
  EXPECT_EQ(ask("SELECT group_concat(id) FROM changes WHERE id <= 10"), "1,2")
      << "the third was taken back: nobody owes anything";
  EXPECT_EQ(ask("SELECT group_concat(ticket) FROM tickets WHERE change <= 10"), "of-1,of-2");
  const auto store = stored(directory);
  EXPECT_EQ(store->history().owed()->size(), 1U);
  EXPECT_EQ(store->history().in_flight()->size(), 1U);
  EXPECT_EQ(store->history().written()->size(), 1U);
}

TEST_F(Retentions, RemediesAreDroppedBeyondTheLongestOfferWindow) {
  {
    const auto store = led(directory, clock());
    const auto tried = [&store](WallTime at) { ASSERT_TRUE(store->history().cure("gpu1", "cure", at)); };
    tried(kNow - kCureWindowMax - std::chrono::seconds(1));
    tried(kNow - kCureWindowMax);
    tried(kNow);
  }
  change();
  EXPECT_EQ(ask("SELECT COUNT(*) FROM cures"), "2");
}

TEST_F(Retentions, RemedyOfferLongerThanTheRetentionIsRefused) {
  const auto store = led(directory, clock());
  Remedy::Offer offer{"cure", "cures", Disruption::none, 1, kCureWindowMax};
  EXPECT_TRUE(count_cure(store->history(), "gpu1", offer, kNow, false));
  offer.within += std::chrono::seconds(1);
  const auto refused = count_cure(store->history(), "gpu2", offer, kNow, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
}

TEST_F(Retentions, FileDoesNotGrowOnceFull) {
  add(1000, long_ago);
  change();
  const auto pages = [this] { return std::stoi(ask("PRAGMA page_count")); };
  const int before = pages();
  for (int i = 0; i < 5; ++i) {
    add(200, long_ago);
    change();
  }
  // The space that 200 changes occupy before they are dropped is reused by the next.
  EXPECT_LT(pages(), before + before / 3);
  EXPECT_LE(std::stoi(ask("SELECT COUNT(*) FROM changes")), 1010);
}

TEST_F(Retentions, RunInTheTransactionThatStartsTheChange) {
  add(1500, long_ago);
  ASSERT_EQ(ask("CREATE TRIGGER no_more BEFORE INSERT ON changes BEGIN SELECT RAISE(ABORT, 'no'); END"), "");
  const auto store = led(directory, clock());
  EXPECT_FALSE(store->history().begin(Plan{}, "ann", "why"));
  EXPECT_EQ(ask("SELECT COUNT(*) FROM changes"), "1500") << "forgotten, and no change began";
}

}  // namespace
}  // namespace lockstep
