#include "reconciler/store/history.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "history_lab.hpp"
#include "oracle.hpp"

namespace lockstep {
namespace {

using Histories = StateDirectory;

TEST_F(Histories, ReportsTheChangeOfAKilledRun) {
  // The child is killed in the middle of a change: nothing is closed, flushed or destroyed.
  const pid_t child = fork();
  if (child == 0) {
    const auto store = led(directory);
    History& history = store->history();
    const auto change = history.begin(Plan{}, "ann", "mtu");
    if (!change || !history.ticket(*change, ticket("t1")) || !history.ticket(*change, ticket("t2")) ||
        !history.receipt("t1", TicketState::kept, ""))
      _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));

  const auto store = led(directory);
  History& history = store->history();
  EXPECT_EQ(store->leadership().epoch(), 2U);
  const auto found = history.in_flight();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  ASSERT_EQ(found->front().unsettled.size(), 1U);
  EXPECT_EQ(found->front().unsettled[0].ticket, "t2");
  EXPECT_EQ(found->front().unsettled[0].changes, ticket("t2").changes);
  EXPECT_EQ(found->front().kept.size(), 1U);
  EXPECT_EQ(found->front().author, "ann");
}

TEST_F(Histories, EndedChangesAreNotInFlight) {
  const auto store = led(directory);
  History& history = store->history();
  const auto change = history.begin(Plan{}, "ann", "why");
  ASSERT_TRUE(change);
  ASSERT_TRUE(history.end(*change, "kept"));
  EXPECT_TRUE(history.in_flight()->empty());
  const auto all = history.changes();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().outcome, "kept");
}

TEST_F(Histories, ChangeUnderAGateIsPendingUntilItsVerdict) {
  const auto store = led(directory);
  History& history = store->history();
  const auto change = history.begin(Plan{}, "ann", "why");
  ASSERT_TRUE(change);
  ASSERT_TRUE(history.gate(*change, GateState::owed));
  EXPECT_TRUE(history.owed()->empty()) << "nothing was written yet";
  ASSERT_TRUE(history.ticket(*change, ticket("t1")));
  ASSERT_TRUE(history.ticket(*change, ticket("t2")));
  ASSERT_TRUE(history.receipt("t2", TicketState::undone, ""));
  ASSERT_TRUE(history.end(*change, "stopped"));
  const auto owed = history.owed();
  ASSERT_TRUE(owed);
  ASSERT_EQ(owed->size(), 1U);
  EXPECT_EQ(owed->front().author, "ann");
  ASSERT_EQ(owed->front().tickets.size(), 1U);
  EXPECT_EQ(owed->front().tickets[0].changes, ticket("t1").changes);
  ASSERT_TRUE(history.gate(*change, GateState::settled));
  EXPECT_TRUE(history.owed()->empty());
}

TEST_F(Histories, UnknownPairsArePendingOneByOne) {
  const auto store = led(directory);
  History& history = store->history();
  const auto change = history.begin(Plan{}, "ann", "why");
  ASSERT_TRUE(change);
  ASSERT_TRUE(history.ticket(*change, ticket("t1")));
  const std::set<std::string> subjects{"slo/pairs bandwidth min, gpu1:rail0 -> gpu2:rail0", "\"odd\" \x01 ü"};
  ASSERT_TRUE(history.owe(*change, subjects));
  EXPECT_EQ(stored(directory)->history().owed()->at(0).subjects, subjects);
  ASSERT_TRUE(history.owe(*change, {}));
  EXPECT_TRUE(history.owed()->at(0).subjects.empty()) << "all of it";
  ASSERT_TRUE(history.owe(*change, subjects));
  ASSERT_TRUE(history.gate(*change, GateState::settled));
  EXPECT_TRUE(history.owed()->empty());
  EXPECT_FALSE(history.owe(77, subjects));
}

GateMeasurement two_figures() {
  GateMeasurement out;
  out.figures.push_back({.subject = "slo/pairs bandwidth min, \"odd\" \x01 ü",
                         .state = SloState::unknown,
                         .figure = 0.1 + 0.2,
                         .noise = 0.03,
                         .cpu = 1e-11,
                         .terms = "tcp, >= 15% of nominal",
                         .why = "cpu-limited"});
  out.controls.push_back(
      {.subject = "c", .state = SloState::holds, .figure = {}, .noise = 0, .cpu = {}, .why = ""});
  return out;
}

// The baseline must survive a kill after the measurement and be readable by the next process.
TEST_F(Histories, KeepTheBaselineOfAPendingChange) {
  std::uint64_t change = 0;
  {
    const auto store = led(directory);
    change = *store->history().begin(Plan{}, "ann", "why");
    ASSERT_TRUE(store->history().gate(change, GateState::owed));
    EXPECT_FALSE(*store->history().kept_before(change));
    ASSERT_TRUE(store->history().keep_before(change, two_figures()));
    ASSERT_TRUE(store->history().ticket(change, ticket("t1")));
  }
  const auto store = led(directory);
  History& history = store->history();
  const auto kept = [&]() -> std::optional<GateMeasurement> {
    return *stored(directory)->history().kept_before(change);
  };
  ASSERT_TRUE(kept());
  EXPECT_EQ(kept()->figures, two_figures().figures);
  EXPECT_EQ(kept()->controls, two_figures().controls);
  ASSERT_TRUE(history.end(change, "interrupted"));
  ASSERT_TRUE(history.owe(change, {"slo/pairs"}));
  ASSERT_TRUE(history.owe(change, {}));
  EXPECT_TRUE(kept()) << "it is owed still";
  ASSERT_TRUE(history.gate(change, GateState::settled));
  EXPECT_FALSE(kept());
  EXPECT_FALSE(history.keep_before(77, two_figures()));
}

TEST_F(Histories, DamagedBaselineIsReported) {
  const auto store = led(directory);
  const std::uint64_t change = *store->history().begin(Plan{}, "ann", "why");
  ASSERT_TRUE(store->history().keep_before(change, two_figures()));
  const Oracle oracle(file());
  const std::string whole = oracle.ask("SELECT measured_before FROM changes");
  const auto said = [&](const std::string& text) {
    EXPECT_EQ(oracle.ask("UPDATE changes SET measured_before = '" + text + "'"), "");
    const auto kept = store->history().kept_before(change);
    return kept ? std::string() : kept.error().text();
  };
  const std::string damaged = file() + ": what was measured before change 1 is damaged: ";
  EXPECT_EQ(said(R"({"figures":[]})"), damaged + "'controls' is missing");
  EXPECT_EQ(said(R"({"figures":[{"state":"holds"}],"controls":[]})"),
            damaged + "figures[0]: 'subject' is missing");
  EXPECT_EQ(said(R"({"figures":[{"subject":"a","state":"good"}],"controls":[]})"),
            damaged + "figures[0]: 'state' is none that this version knows");
  EXPECT_EQ(said(R"({"figures":[{"subject":"a","state":"holds","figure":-1}],"controls":[]})"),
            damaged + "figures[0]: 'figure' is no number from 0 on");
  EXPECT_EQ(said(R"({"figures":[{"subject":"a","state":"holds","why":3}],"controls":[]})"),
            damaged + "figures[0]: 'why' is no text");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    EXPECT_TRUE(said(whole.substr(0, cut)).starts_with(damaged)) << cut;
  }
  EXPECT_EQ(said(whole), "");
}

// A run killed before its first write must not stay pending forever.
TEST_F(Histories, ChangeThatWroteNothingLeavesNothingPending) {
  const auto store = led(directory);
  History& history = store->history();
  for (const char* const name : {"none", "undone", "failed"}) {
    const std::uint64_t change = *history.begin(Plan{}, "ann", name);
    ASSERT_TRUE(history.gate(change, GateState::owed));
    if (name == std::string("none")) continue;
    ASSERT_TRUE(history.ticket(change, ticket(name)));
    ASSERT_TRUE(
        history.receipt(name, name == std::string("undone") ? TicketState::undone : TicketState::failed, ""));
  }
  for (std::uint64_t change = 1; change <= 3; ++change) ASSERT_TRUE(history.end(change, "interrupted"));
  EXPECT_EQ(Oracle(file()).ask("SELECT group_concat(gate) FROM (SELECT gate FROM changes ORDER BY id)"),
            "2,2,1")
      << "what failed may have been written";
}

// A change with nothing pending at its end keeps no baseline.
TEST_F(Histories, ChangeThatWroteNothingDropsItsBaseline) {
  const auto store = led(directory);
  History& history = store->history();
  const std::uint64_t change = *history.begin(Plan{}, "ann", "mtu");
  ASSERT_TRUE(history.gate(change, GateState::owed));
  ASSERT_TRUE(history.keep_before(change, two_figures()));
  ASSERT_TRUE(history.end(change, "interrupted"));
  EXPECT_TRUE(history.owed()->empty());
  EXPECT_FALSE(*history.kept_before(change));
}

TEST_F(Histories, RefusedWritesAreKeptUntilTheyAreAccepted) {
  RefusedWrite one{"sha256:1", 7, "guilty: slower", false, 1};
  const RefusedWrite other{"sha256:2", 7, "exonerated", true, 1};
  {
    const auto store = led(directory);
    ASSERT_TRUE(store->history().refuse({one, other}));
    one.change = 9;
    ASSERT_TRUE(store->history().refuse({one}));
  }
  const auto store = led(directory);
  const auto all = store->history().refused();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->at(0).change, 9U);
  EXPECT_EQ(all->at(0).times, 2U);
  EXPECT_FALSE(all->at(0).cleared);
  EXPECT_EQ(all->at(1).change, 7U);
  EXPECT_EQ(all->at(1).times, 1U);
  EXPECT_TRUE(all->at(1).cleared);
  ASSERT_TRUE(store->history().accept({"sha256:2", "sha256:none"}));
  EXPECT_EQ(store->history().refused()->size(), 1U);
}

TEST_F(Histories, UnknownChangesAndTicketsAreRefused) {
  const auto store = led(directory);
  EXPECT_FALSE(store->history().ticket(77, ticket("t")));
  EXPECT_FALSE(store->history().receipt("t", TicketState::kept, ""));
  EXPECT_FALSE(store->history().gate(77, GateState::settled));
  const Result<Done> ended = store->history().end(77, "kept");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().text(), directory + "/journal.sqlite: there is no change 77");
}

TEST_F(Histories, CountsRemediesOverAllRunsByDeviceRemedyAndTime) {
  const WallTime now = WallTime(std::chrono::hours(500'000));
  ASSERT_TRUE(led(directory)->history().cure("leaf0", "clear-session", now - std::chrono::seconds(60)));
  const auto store = led(directory);
  History& history = store->history();
  ASSERT_TRUE(history.cure("leaf0", "clear-session", now));
  ASSERT_TRUE(history.cure("leaf0", "restart-daemon", now));
  ASSERT_TRUE(history.cure("leaf1", "clear-session", now));
  EXPECT_EQ(*history.cures("leaf0", "clear-session", now - std::chrono::seconds(61)), 2U);
  EXPECT_EQ(*history.cures("leaf0", "clear-session", now - std::chrono::seconds(60)), 1U);
  EXPECT_EQ(*history.cures("leaf1", "restart-daemon", now - std::chrono::seconds(61)), 0U);
}

class WrittenEntries : public Histories {
 protected:
  void write(const std::string& name, Value was, Value want, TicketState end) {
    LedgerTicket one = ticket(name);
    one.changes = {{mtu, was, want, 0}};
    ASSERT_TRUE(history.ticket(change, one));
    ASSERT_TRUE(history.receipt(name, end, ""));
  }
  WrittenEntry only() const {
    const auto all = history.written();
    EXPECT_TRUE(all && all->size() == 1);
    return all && all->size() == 1 ? all->front() : WrittenEntry{};
  }
  const Path mtu = entry("interface[rail0]/mtu");
  std::unique_ptr<Store> store = led(directory);
  History& history = store->history();
  std::uint64_t change = *history.begin(Plan{}, "ann", "why");
};

TEST_F(WrittenEntries, KeepTheFoundValueUntilItIsRestored) {
  write("t1", number(1500), number(9000), TicketState::undone);
  EXPECT_TRUE(history.written()->empty());
  write("t2", number(1500), number(9000), TicketState::kept);
  write("t3", number(9000), number(4000), TicketState::kept);
  EXPECT_EQ(only().path, mtu);
  EXPECT_EQ(only().found, number(1500));
  EXPECT_EQ(only().wrote, number(4000));
  EXPECT_FALSE(only().tried);
  EXPECT_FALSE(only().restore);
  WrittenEntry noted = only();
  noted.restore = true;
  noted.object = "Fabric/backend";
  ASSERT_TRUE(history.note({noted}));
  EXPECT_TRUE(only().restore);
  EXPECT_EQ(only().object, "Fabric/backend");
  write("t4", number(4000), number(1500), TicketState::kept);
  EXPECT_TRUE(history.written()->empty());
  write("t5", {}, number(9000), TicketState::kept);
  ASSERT_TRUE(history.forget(*history.written()));
  EXPECT_TRUE(history.written()->empty());
}

TEST_F(WrittenEntries, FailedWriteIsNotOursUntilObserved) {
  write("t1", number(1500), number(9000), TicketState::failed);
  EXPECT_EQ(only().found, number(1500));
  EXPECT_EQ(only().wrote, number(1500)) << "nothing of ours was verified";
  EXPECT_EQ(only().tried, number(9000));
  // The next write observed the value before it wrote.
  write("t2", number(9000), number(4000), TicketState::failed);
  EXPECT_EQ(only().wrote, number(9000));
  EXPECT_EQ(only().tried, number(4000));
  // An observation finds 9000: the second write had no effect.
  WrittenEntry seen = only();
  seen.tried.reset();
  ASSERT_TRUE(history.note({seen}));
  EXPECT_FALSE(only().tried);
  // An observation finds the earlier value.
  seen.wrote = seen.found;
  ASSERT_TRUE(history.note({seen}));
  EXPECT_TRUE(history.written()->empty());
}

TEST_F(WrittenEntries, VerifiedWriteSettlesAnEarlierFailedOne) {
  write("t1", number(1500), number(9000), TicketState::failed);
  write("t2", number(1500), number(9000), TicketState::kept);
  EXPECT_EQ(only().wrote, number(9000));
  EXPECT_FALSE(only().tried);
  write("t3", number(9000), number(1500), TicketState::failed);
  EXPECT_EQ(only().wrote, number(9000)) << "it may not be back";
  EXPECT_EQ(only().tried, number(1500));
}

// A kill between a write and its receipt loses neither.
TEST_F(WrittenEntries, StoreTheFoundValueAndItsObjectBeforeTheWrite) {
  store->leadership().resign();
  SaidBy says{"HostProfile/training", true};
  const auto other = led(directory, {.said_by = [&says](const std::string& device, Path path) {
                           EXPECT_EQ(device, "gpu1");
                           EXPECT_EQ(path, entry("interface[rail0]/mtu"));
                           return says;
                         }});
  ASSERT_TRUE(other->history().ticket(change, ticket("t1")));
  EXPECT_EQ(only().found, number(1500));
  EXPECT_EQ(only().wrote, number(1500)) << "not verified yet";
  EXPECT_EQ(only().tried, number(9000));
  EXPECT_TRUE(only().restore);
  EXPECT_EQ(only().object, "HostProfile/training");
  ASSERT_TRUE(other->history().receipt("t1", TicketState::kept, ""));
  EXPECT_EQ(only().wrote, number(9000));
  EXPECT_TRUE(only().restore);
  // The object of a change that may still be rolled back.
  says = {"HostProfile/other", false};
  LedgerTicket next = ticket("t2");
  next.changes = {{mtu, number(9000), number(4000), 0}};
  ASSERT_TRUE(other->history().ticket(change, next));
  EXPECT_TRUE(only().restore);
  EXPECT_EQ(only().object, "HostProfile/training");
  ASSERT_TRUE(other->history().receipt("t2", TicketState::undone, ""));
  EXPECT_EQ(only().wrote, number(9000));
  EXPECT_FALSE(only().tried);
}

TEST_F(WrittenEntries, KeepTheFoundValueAfterAFailedGuard) {
  const Path admin = entry("interface[rail0]/admin");
  LedgerTicket guarded = ticket("t1");
  guarded.changes = {{admin, yes(), no(), 0}, {admin, no(), yes(), 0}};
  ASSERT_TRUE(history.ticket(change, guarded));
  ASSERT_TRUE(history.receipt("t1", TicketState::failed, ""));
  guarded.ticket = "t2";
  guarded.changes = {{admin, no(), yes(), 0}};
  ASSERT_TRUE(history.ticket(change, guarded));
  ASSERT_TRUE(history.receipt("t2", TicketState::failed, ""));
  EXPECT_EQ(only().found, yes());
}

}  // namespace
}  // namespace lockstep
