// Conversion between a port's traffic classes and ETS, the app table and the maximal rates, without a kernel.
#include <gtest/gtest.h>

#include "tests/unit/linux/dcb_entries.hpp"

namespace lockstep {
namespace {

using dcb::PortState;

dcb_app entry(std::uint8_t dscp, std::uint8_t priority) {
  return {IEEE_8021QAZ_APP_SEL_DSCP, priority, dscp};
}

// A port with a strict class for each priority.
PortState fresh() {
  PortState out;
  out.dcb.ets = ieee_ets{};
  out.dcb.ets->ets_cap = 8;
  for (std::uint8_t i = 0; i < 8; ++i) out.dcb.ets->prio_tc[i] = i;
  out.dcb.maxrate = ieee_maxrate{};
  out.classes = dcb::classes_of(out.dcb);
  out.trust = dcb::trust_of(out.dcb);
  return out;
}

PortState as_read(const PortState& state) {
  PortState out;
  out.dcb = state.dcb;
  out.classes = dcb::classes_of(out.dcb);
  out.trust = dcb::trust_of(out.dcb);
  return out;
}

Change change(const std::string& entry, Value want) {
  const auto path = Path::parse("interface[nic0]/" + entry);
  EXPECT_TRUE(path) << entry;
  return Change{path ? *path : Path{}, {}, want, 0};
}

Value set(std::vector<std::string> some) { return Value::set(std::move(some)); }

// The state of the port after these changes, from the objects that would be set, or why they are refused.
Result<PortState> made(const PortState& have, const std::vector<Change>& changes) {
  PortState want = have;
  std::vector<Path> named;
  for (const Change& one : changes) {
    TRY_DONE(dcb_map::overlay(one, want));
    if (dcb_map::is_class_row(one.path.row())) named.push_back(one.path);
  }
  TRY_DONE(dcb_map::settle_classes(named, want));
  PortState out = have;
  out.dcb.ets = dcb::ets_for(want.classes, *have.dcb.ets);
  out.dcb.maxrate = dcb::rates_for(want.classes, *have.dcb.maxrate);
  out.dcb.apps.clear();
  const std::uint8_t lossless = have.dcb.pfc ? have.dcb.pfc->pfc_en : std::uint8_t{0};
  for (const auto& [dscp, priority] : dcb::dscp_entries(want.classes, have.dcb, lossless))
    out.dcb.apps.push_back(entry(dscp, priority));
  return as_read(out);
}

std::string why_not(const PortState& have, const std::vector<Change>& changes) {
  const auto out = made(have, changes);
  if (out) return "(made)";
  EXPECT_EQ(to_string(out.error().kind), to_string(ErrorKind::invalid_spec));
  return out.error().text();
}

// The example of the language page: RDMA in class 3, notifications in class 6, all else in class 0.
std::vector<Change> lossless() {
  std::vector<Change> out;
  for (const int gone : {1, 2, 4, 5, 7})
    out.push_back(change("class[" + std::to_string(gone) + "]", Value{}));
  for (const auto& [entry, value] :
       std::vector<std::pair<std::string, Value>>{{"class[0]/dscp", set({"0", "8"})},
                                                  {"class[0]/priority", set({"0", "1", "2", "4", "5", "7"})},
                                                  {"class[0]/share", Value::integer(400)},
                                                  {"class[0]/strict", Value::boolean(false)},
                                                  {"class[3]/dscp", set({"26"})},
                                                  {"class[3]/priority", set({"3"})},
                                                  {"class[3]/share", Value::integer(600)},
                                                  {"class[3]/strict", Value::boolean(false)},
                                                  {"class[6]/dscp", set({"48"})},
                                                  {"class[6]/max-rate", Value::integer(20'000'000'000)},
                                                  {"class[6]/priority", set({"6"})},
                                                  {"class[6]/strict", Value::boolean(true)},
                                                  {"trust", Value::text("dscp")}})
    out.push_back(change(entry, value));
  return out;
}

constexpr std::string_view kLossless =
    "trust = dscp\n"
    "class[0] = present\n"
    "class[0]/dscp = 0, 8\n"
    "class[0]/priority = 0, 1, 2, 4, 5, 7\n"
    "class[0]/share = 400\n"
    "class[0]/strict = false\n"
    "class[3] = present\n"
    "class[3]/dscp = 26\n"
    "class[3]/priority = 3\n"
    "class[3]/share = 600\n"
    "class[3]/strict = false\n"
    "class[6] = present\n"
    "class[6]/dscp = 48\n"
    "class[6]/max-rate = 20000000000\n"
    "class[6]/priority = 6\n"
    "class[6]/strict = true\n";

// The changes of a rollback, from the actual to the previous state.
std::vector<Change> back_to(const PortState& was, const PortState& is) {
  std::vector<Change> out;
  for (const Entry& entry : dcb_map::entries("nic0", was)) out.push_back({entry.path, {}, entry.value, 0});
  for (const Entry& entry : dcb_map::entries("nic0", is))
    if (!dcb_map::value_of(entry.path, was)) out.push_back({entry.path, entry.value, Value{}, 0});
  return out;
}

TEST(DcbClasses, AppliesAndRollsBackAProfile) {
  const PortState before = fresh();
  const auto after = made(before, lossless());
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(text(*after), kLossless);
  EXPECT_EQ(after->dcb.ets->prio_tc[5], 0);
  EXPECT_EQ(after->dcb.ets->tc_tsa[0], IEEE_8021QAZ_TSA_ETS);
  EXPECT_EQ(after->dcb.ets->tc_tsa[5], IEEE_8021QAZ_TSA_STRICT) << "of a class that nothing maps to";
  EXPECT_EQ(after->dcb.maxrate->tc_maxrate[6], 20'000'000U) << "kbit/s";
  const auto undone = made(*after, back_to(before, *after));
  ASSERT_TRUE(undone) << undone.error().text();
  EXPECT_EQ(text(*undone), text(before));
  EXPECT_TRUE(dcb::same_ets(*undone->dcb.ets, *before.dcb.ets));
}

TEST(DcbClasses, RollbackRestoresAVendorAlgorithm) {
  PortState before = fresh();
  for (std::uint8_t i = 0; i < 8; ++i) before.dcb.ets->tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
  before = as_read(before);
  const auto after = made(before, lossless());
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(text(*after), kLossless);
  const auto undone = made(*after, back_to(before, *after));
  ASSERT_TRUE(undone) << undone.error().text();
  EXPECT_TRUE(dcb::same_ets(*undone->dcb.ets, *before.dcb.ets));
}

TEST(DcbClasses, ReclaimsSharesOfClassesWithoutPriorities) {
  PortState have = fresh();
  for (const auto& [tc, share] : {std::pair(0, 30), {3, 50}, {5, 20}}) {
    have.dcb.ets->tc_tsa[tc] = IEEE_8021QAZ_TSA_ETS;
    have.dcb.ets->tc_tx_bw[tc] = static_cast<std::uint8_t>(share);
  }
  have.dcb.ets->prio_tc[5] = 0;
  have = as_read(have);
  const auto after = made(have, lossless());
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(text(*after), kLossless);
}

TEST(DcbClasses, ADscpKeepsItsPriorityOrGetsTheLosslessOrTheLowestOne) {
  PortState have = fresh();
  have.dcb.apps = {entry(8, 5), entry(10, 3)};
  have.dcb.pfc = ieee_pfc{};
  have.dcb.pfc->pfc_en = 0x10;
  have = as_read(have);
  const auto after =
      made(have, {change("class[1]/priority", set({"1", "4"})), change("class[1]/dscp", set({"26"})),
                  change("class[5]/priority", set({"2", "5"})), change("class[5]/dscp", set({"8", "9"}))});
  ASSERT_TRUE(after) << after.error().text();
  const dcb::DscpEntries wanted = {{8, 5}, {9, 2}, {10, 3}, {26, 4}};
  EXPECT_EQ(dcb::dscp_entries(after->dcb), wanted);
}

TEST(DcbClasses, ADscpWithTwoPrioritiesIsReportedInBothClassesAndRepaired) {
  PortState have = fresh();
  have.dcb.apps = {entry(26, 3), entry(26, 5), {IEEE_8021QAZ_APP_SEL_ETHERTYPE, 4, 0x8915}};
  have = as_read(have);
  EXPECT_NE(text(have).find("class[3]/dscp = 26"), std::string::npos);
  EXPECT_NE(text(have).find("class[5]/dscp = 26"), std::string::npos);
  const auto healed = made(have, {change("class[5]/dscp", Value{})});
  ASSERT_TRUE(healed) << healed.error().text();
  const auto gone = dcb::entries_without(dcb::dscp_entries(have.dcb), dcb::dscp_entries(healed->dcb));
  ASSERT_EQ(gone.size(), 1U) << "and nothing of the other selectors";
  EXPECT_EQ(gone[0].priority, 5);
}

TEST(DcbClasses, PrioritiesWithoutAClassJoinTheClassOfPriority0) {
  const auto after = made(fresh(), {change("class[3]", Value{})});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->dcb.ets->prio_tc[3], 0);
  const auto without_0 = made(fresh(), {change("class[0]", Value{})});
  ASSERT_TRUE(without_0);
  EXPECT_EQ(without_0->dcb.ets->prio_tc[0], 1) << "the lowest";
}

TEST(DcbClasses, RefusesImpossibleClasses) {
  const PortState have = fresh();
  EXPECT_EQ(why_not(have, {change("class[3]/strict", Value::boolean(false)),
                           change("class[3]/share", Value::integer(600))}),
            "the shares of the port's traffic classes sum to 60 %, and 802.1Qaz has 100 %");
  EXPECT_NE(why_not(have, {change("class[3]/share", Value::integer(1000))}).find("strict and has a share"),
            std::string::npos);
  EXPECT_NE(why_not(have, {change("class[3]/priority", Value{})}).find("class[3] has no priority"),
            std::string::npos);
  PortState few = have;
  few.dcb.ets->ets_cap = 4;
  for (std::uint8_t i = 0; i < 8; ++i) few.dcb.ets->prio_tc[i] = 0;
  few = as_read(few);
  EXPECT_EQ(why_not(few, {change("class[6]/priority", set({"6"}))}),
            "the port has 4 traffic classes, from 0");
  EXPECT_EQ(why_not(few, {change("class[0]", Value{})}), "a port has one traffic class at least");
}

TEST(DcbClasses, RefusesMalformedValues) {
  for (const Change& one :
       {change("class[8]", Value::present()), change("class[3x]", Value::present()),
        change("class[3]/dscp", set({"64"})), change("class[3]/dscp", Value::integer(26)),
        change("class[3]/priority", set({"8"})), change("class[3]/share", Value::integer(0)),
        change("class[3]/share", Value::integer(1010)), change("class[3]/max-rate", Value::integer(0)),
        change("class[3]/max-rate", Value::integer(1500)), change("class[3]/strict", Value::integer(1)),
        change("trust", Value{}), change("trust", Value::text("cos")),
        change("trust", Value::text("dscp  pcp"))})
    EXPECT_NE(why_not(fresh(), {one}), "(made)") << one.path.text() << " " << one.want.to_string();
}

TEST(DcbClasses, TrustFollowsItsTableOrElseTheDscpEntries) {
  PortState state = fresh();
  const auto trust = [&] { return dcb_map::value_of(*Path::parse("interface[nic0]/trust"), as_read(state)); };
  EXPECT_EQ(trust(), Value::text("pcp"));
  state.dcb.apps = {entry(26, 3)};
  EXPECT_EQ(trust(), Value::text("dscp"));
  for (const auto& [selectors, words] : std::vector<std::pair<std::vector<std::uint8_t>, std::string_view>>{
           {{IEEE_8021QAZ_APP_SEL_DSCP}, "dscp"},
           {{IEEE_8021QAZ_APP_SEL_DSCP, dcb::kSelectorPcp}, "dscp pcp"},
           {{}, "nothing"}}) {
    state.dcb.trust = selectors;
    EXPECT_EQ(trust(), Value::text(words));
    PortState laid = as_read(state);
    laid.trust = {{1}};
    EXPECT_TRUE(dcb_map::overlay(change("trust", Value::text(words)), laid));
    EXPECT_EQ(laid.trust, selectors);
  }
}

TEST(DcbClasses, PreviewShowsDcbCommands) {
  const auto words = [](const std::string& entry, Value want) {
    return dcb_map::native(change(entry, want));
  };
  EXPECT_EQ(words("class[3]/priority", set({"3", "4"})), "dcb ets set dev nic0 prio-tc 3:3 4:3");
  EXPECT_EQ(words("class[3]/share", Value::integer(600)), "dcb ets set dev nic0 tc-tsa 3:ets tc-bw 3:60");
  EXPECT_EQ(words("class[6]/strict", Value::boolean(true)), "dcb ets set dev nic0 tc-tsa 6:strict");
  EXPECT_EQ(words("class[6]/max-rate", Value::integer(1'000'000)),
            "dcb maxrate set dev nic0 tc-maxrate 6:1000bps  # kbit/s for the kernel");
  EXPECT_NE(words("class[3]/dscp", set({"26"})).find("dcb app replace dev nic0 dscp-prio 26:"),
            std::string::npos);
  EXPECT_NE(words("trust", Value::text("dscp")).find("dcb apptrust set dev nic0 order dscp"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
