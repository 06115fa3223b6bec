// What the journal keeps of a service's events, and its catalog.
#include "reconciler/report/journal_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "specs/language/said.hpp"

namespace lockstep {
namespace {

using Event = ServiceEvent::Kind;

bool has(const std::vector<std::string>& fields, const std::string& field) {
  return std::ranges::count(fields, field) == 1;
}

std::size_t count_of(const std::vector<std::string>& fields, const std::string& name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields, [&](const std::string& one) { return one.starts_with(name + "="); }));
}

TEST(JournalFields, NameWhatAnEventIsAbout) {
  const std::vector<std::string> drift = journal_fields({.kind = Event::drift,
                                                         .at = {},
                                                         .object = "Device/leaf0",
                                                         .message = "mtu is 1500, and the specs want 9216",
                                                         .cluster = "pod1"});
  EXPECT_EQ(drift.front(), "MESSAGE=Drift Device/leaf0: mtu is 1500, and the specs want 9216");
  for (const char* const field :
       {"PRIORITY=4", "LOCKSTEP_EVENT=Drift", "LOCKSTEP_CLUSTER=pod1", "LOCKSTEP_DEVICE=leaf0"})
    EXPECT_TRUE(has(drift, field)) << field;
  EXPECT_EQ(count_of(drift, "LOCKSTEP_REVISION") + count_of(drift, "LOCKSTEP_CHANGE"), 0U);

  const std::string commit(40, 'a');
  const std::vector<std::string> refused = journal_fields({.kind = Event::change_refused,
                                                           .at = {},
                                                           .object = "Revision/" + commit,
                                                           .message = "rail0 is 30 % slower",
                                                           .cluster = "pod1",
                                                           .change = 17,
                                                           .devices = {"gpu1", "leaf0"}});
  EXPECT_EQ(refused.front(), "MESSAGE=ChangeRefused Revision/aaaaaaaaaaaa: rail0 is 30 % slower");
  for (const std::string& field :
       {std::string("PRIORITY=3"), "LOCKSTEP_REVISION=" + commit, std::string("LOCKSTEP_CHANGE=17"),
        std::string("LOCKSTEP_DEVICE=gpu1"), std::string("LOCKSTEP_DEVICE=leaf0")})
    EXPECT_TRUE(has(refused, field)) << field;

  const std::vector<std::string> leads =
      journal_fields({.kind = Event::leads, .at = {}, .object = "Cluster/pod1", .message = ""});
  EXPECT_EQ(leads.front(), "MESSAGE=Leads Cluster/pod1");
  EXPECT_TRUE(has(leads, "PRIORITY=6"));
  EXPECT_EQ(count_of(leads, "LOCKSTEP_DEVICE") + count_of(leads, "LOCKSTEP_CLUSTER"), 0U);
}

// A newline in a value could begin a field of its own.
TEST(JournalFields, AreOnOneLineEach) {
  for (const std::string& field : journal_fields({.kind = Event::unreadable,
                                  .at = {},
                                  .object = "Device/a\nPRIORITY=0",
                                  .message = "x\n_PID=1\x1b[31m",
                                  .cluster = "c\n",
                                  .devices = {"d\n"}}))
    EXPECT_TRUE(std::ranges::none_of(field, [](unsigned char c) { return c < ' ' || c == 0x7f; })) << field;
}

TEST(JournalFields, AreNotMoreThanTheJournalTakes) {
  ServiceEvent event{.kind = Event::change_kept, .at = {}, .object = "Revision/a", .message = ""};
  for (std::size_t i = 0; i < kJournalDevicesMost; ++i) event.devices.push_back("d" + std::to_string(i));
  EXPECT_EQ(count_of(journal_fields(event), "LOCKSTEP_DEVICE"), kJournalDevicesMost);
  event.devices.emplace_back("one-more");
  EXPECT_EQ(count_of(journal_fields(event), "LOCKSTEP_DEVICE"), 0U);
}

TEST(JournalFields, HaveAnIdThatTheCatalogExplains) {
  std::ifstream in(std::string(LOCKSTEP_SOURCE_DIR) + "/packaging/lockstep.catalog");
  std::set<std::string> in_catalog;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("-- ")) continue;
    EXPECT_TRUE(in_catalog.insert(line.substr(3)).second) << line;
  }
  std::set<std::string> ids;
  for (std::size_t i = 0; i < words(Event{}).size(); ++i) {
    const auto kind = static_cast<Event>(i);
    const std::string id(journal_id_of(kind));
    EXPECT_EQ(id.size(), 32U);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), words(Event{}).size()) << "two kinds have one id";
  EXPECT_EQ(ids, in_catalog);
  // Somebody may select by it: it never changes.
  EXPECT_EQ(journal_id_of(Event::leads), "b99e7a8b241f4f25b8a1e30418dfba22");
  EXPECT_EQ(journal_id_of(Event::record_trouble), "32383e421bb145f782b10e968712b804");
}

}  // namespace
}  // namespace lockstep
