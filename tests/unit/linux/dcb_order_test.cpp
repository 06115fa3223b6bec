// The order of one apply's requests to a port: what the port is after each of them, and where one is refused.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "drivers/linux/dcb/port_buffers.hpp"
#include "drivers/linux/dcb/port_change.hpp"

namespace lockstep {
namespace {

using dcb::PortDcb;
using dcb::PortState;

int below(int n) { return *rc::gen::inRange(0, n); }

// A port in memory, with all that it was.
class RecordedPort final : public dcb::PortObjects {
 public:
  explicit RecordedPort(PortDcb first) : now(std::move(first)) {}

  Result<Done> read_pauses(const Call&) override { return Done{}; }
  Result<PortState> read(const Link&, const Call&) override {
    PortState out;
    out.dcb = now;
    out.classes = dcb::classes_of(now);
    out.trust = dcb::trust_of(now);
    out.pause = false;
    return out;
  }
  Result<std::string> why_no_pause(const Link&, const Call&) override { return std::string(); }
  Result<Done> set_pfc(const Link&, const ieee_pfc& pfc, const Call&) override {
    return set([&] { now.pfc = pfc; });
  }
  Result<Done> set_ets(const Link&, const ieee_ets& ets, const Call&) override {
    return set([&] { now.ets = ets; });
  }
  Result<Done> set_rates(const Link&, const ieee_maxrate& rates, const Call&) override {
    return set([&] { now.maxrate = rates; });
  }
  Result<Done> add_entries(const Link&, std::span<const dcb_app> entries, const Call&) override {
    return set([&] { now.apps.insert(now.apps.end(), entries.begin(), entries.end()); });
  }
  Result<Done> remove_entries(const Link&, std::span<const dcb_app> entries, const Call&) override {
    for (const dcb_app& gone : entries) {
      const auto removed = set([&] {
        std::erase_if(now.apps, [&](const dcb_app& one) {
          return one.protocol == gone.protocol && one.priority == gone.priority;
        });
      });
      if (!removed) return removed;
    }
    return Done{};
  }
  Result<Done> set_trust(const Link&, std::span<const std::uint8_t> selectors, const Call&) override {
    return set([&] { now.trust = {selectors.begin(), selectors.end()}; });
  }
  Result<Done> set_buffer(const Link&, const dcbnl_buffer& buffer, const Call&) override {
    return set([&] { now.buffer = buffer; });
  }
  Result<Done> set_mode(const Link&, std::uint8_t mode, const Call&) override {
    return set([&] { now.mode = mode; });
  }
  Result<Done> set_pause(const Link&, bool, const Call&) override {
    return set([] {});
  }

  PortDcb now;
  std::vector<PortDcb> states;  // after each request that was not refused
  int refused = -1;             // which of the requests; -1: none

 private:
  template <class Act>
  Result<Done> set(const Act& act) {
    if (refused >= 0 && refused-- == 0) return Error{ErrorKind::refused, "the port says no"};
    act();
    states.push_back(now);
    return Done{};
  }
};

bool has(std::uint8_t mask, std::size_t priority) { return (mask >> priority & 1U) != 0; }

// Of its own: what of buffer 0 is a priority's nobody says.
std::uint32_t room(const PortDcb& port, std::size_t priority) {
  const std::uint8_t at = port.buffer->prio2buffer[priority];
  return at == 0 ? 0 : port.buffer->buffer_size[at];
}

// What must hold on the way from one state to another, whatever the order was.
std::string fault(const PortDcb& first, const PortDcb& now, const PortDcb& last, const PortDcb& wanted) {
  for (std::size_t priority = 0; priority < 8; ++priority) {
    if (!has(now.pfc->pfc_en, priority)) continue;
    std::uint32_t least = UINT32_MAX;
    if (has(first.pfc->pfc_en, priority)) least = room(first, priority);
    if (has(wanted.pfc->pfc_en, priority)) least = std::min(least, room(wanted, priority));
    if (room(now, priority) < least)
      return "priority " + std::to_string(priority) + " has PFC and " + std::to_string(room(now, priority)) +
             " of " + std::to_string(least) + " B";
  }
  const dcb::DscpEntries was = dcb::dscp_entries(first);
  const dcb::DscpEntries is = dcb::dscp_entries(last);
  for (const auto& [dscp, priority] : dcb::dscp_entries(now)) {
    const bool comes = !was.contains({dscp, priority}) && has(wanted.pfc->pfc_en, priority);
    const bool goes = !is.contains({dscp, priority}) && has(first.pfc->pfc_en, priority);
    const bool stays = was.contains({dscp, priority}) && is.contains({dscp, priority}) &&
                       has(first.pfc->pfc_en, priority) && has(wanted.pfc->pfc_en, priority);
    if ((comes || goes || stays) && !has(now.pfc->pfc_en, priority))
      return "DSCP " + std::to_string(dscp) + " is in priority " + std::to_string(priority) + " without PFC";
  }
  return "";
}

// Classes 0, and those of some priorities, each with its DSCPs; PFC and buffers of some of them.
PortDcb random_port() {
  PortDcb out;
  out.ets = ieee_ets{};
  out.ets->ets_cap = 8;
  out.maxrate = ieee_maxrate{};
  out.pfc = ieee_pfc{};
  out.buffer = dcbnl_buffer{};
  out.buffer->buffer_size[0] = 50'000;
  out.mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
  out.ets->tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
  int left = 100;
  for (std::uint8_t priority = 1; priority < 8; ++priority) {
    if (below(2) == 0) continue;
    out.ets->prio_tc[priority] = priority;
    out.ets->tc_tsa[priority] = IEEE_8021QAZ_TSA_ETS;
    left -= out.ets->tc_tx_bw[priority] = static_cast<std::uint8_t>(1 + below(10));
    if (below(2) == 0) {
      out.pfc->pfc_en = static_cast<std::uint8_t>(out.pfc->pfc_en | 1U << priority);
      out.buffer->prio2buffer[priority] = priority;
      out.buffer->buffer_size[priority] = static_cast<std::uint32_t>(10'000 + 256 * below(100));
    }
  }
  out.ets->tc_tx_bw[0] = static_cast<std::uint8_t>(left);
  for (std::uint16_t dscp = 0; dscp < 64; dscp = static_cast<std::uint16_t>(dscp + 8)) {
    const auto priority = static_cast<std::uint8_t>(below(8));
    out.apps.push_back({IEEE_8021QAZ_APP_SEL_DSCP,
                        out.ets->prio_tc[priority] == priority ? priority : std::uint8_t{0}, dscp});
  }
  return out;
}

PortState state_of(const PortDcb& port) {
  RecordedPort recorded(port);
  return *recorded.read({}, {});
}

// From what is there to what is wanted, in any order.
ChangeSet changes_between(const PortDcb& have, const PortDcb& want) {
  std::map<Path, std::pair<Value, Value>> values;
  for (const Entry& one : dcb_map::entries("nic0", state_of(have))) values[one.path].first = one.value;
  for (const Entry& one : dcb_map::entries("nic0", state_of(want))) values[one.path].second = one.value;
  ChangeSet out;
  for (const auto& [path, both] : values)
    if (both.first != both.second) out.push_back({path, both.first, both.second, 0});
  for (std::size_t i = out.size(); i > 1; --i)
    std::swap(out[i - 1], out[static_cast<std::size_t>(below(static_cast<int>(i)))]);
  return out;
}

std::vector<std::string> run(RecordedPort& port, const ChangeSet& changes) {
  dcb::Answers answers(changes.size());
  std::vector<std::size_t> which;
  for (std::size_t at = 0; at < changes.size(); ++at) which.push_back(at);
  const Call call;
  const Link link{.index = 7,
                  .name = "nic0",
                  .kind = {},
                  .hardware_address = {},
                  .parent_bus = {},
                  .parent_device = {},
                  .master = {},
                  .below = {}};
  dcb::PortChange(port, link, changes, which, answers, call).run("");
  std::vector<std::string> out;
  for (std::size_t at = 0; at < changes.size(); ++at)
    if (answers[at]) out.push_back(changes[at].path.text() + ": " + answers[at]->text());
  return out;
}

void check(const PortDcb& first, const RecordedPort& port, const PortDcb& wanted) {
  for (const PortDcb& now : port.states)
    if (const std::string what = fault(first, now, port.now, wanted); !what.empty()) RC_FAIL(what);
}

TEST(DcbOrder, NeverLeavesAPriorityWithPfcWithoutItsBufferNorADscpInItWithoutPfc) {
  EXPECT_TRUE(rc::check([] {
    const PortDcb first = random_port();
    const PortDcb wanted = random_port();
    RecordedPort port(first);
    const auto why = run(port, changes_between(first, wanted));
    RC_LOG() << (why.empty() ? "" : why.front()) << "\n";
    RC_ASSERT(why.empty());
    RC_ASSERT(port.now.pfc->pfc_en == wanted.pfc->pfc_en);
    check(first, port, wanted);
    // The way back, from there.
    const PortDcb there = port.now;
    port.states.clear();
    RC_ASSERT(run(port, changes_between(there, first)).empty());
    check(there, port, first);
  }));
}

TEST(DcbOrder, HoldsWhateverIsRefused) {
  EXPECT_TRUE(rc::check([] {
    const PortDcb first = random_port();
    const PortDcb wanted = random_port();
    const ChangeSet changes = changes_between(first, wanted);
    RecordedPort whole(first);
    run(whole, changes);
    for (int refused = 0; refused < static_cast<int>(whole.states.size()); ++refused) {
      RecordedPort port(first);
      port.refused = refused;
      const auto why = run(port, changes);
      RC_ASSERT(!why.empty());
      check(first, port, wanted);
      port.refused = -1;
      const PortDcb there = port.now;
      port.states.clear();
      RC_ASSERT(run(port, changes_between(there, first)).empty());
      check(there, port, first);
    }
  }));
}

// A set of buffers, by the priorities that have one of their own.
dcbnl_buffer buffers(const std::map<std::size_t, std::pair<std::uint8_t, std::uint32_t>>& own) {
  dcbnl_buffer out{};
  for (const auto& [priority, one] : own) {
    out.prio2buffer[priority] = one.first;
    out.buffer_size[one.first] = one.second;
  }
  return out;
}

TEST(DcbOrder, WhatComesGetsAnotherBufferThanWhatStillNeedsIts) {
  const auto halves = dcb::halves_of(buffers({{3, {1, 1000}}}), buffers({{4, {1, 2000}}}), 1U << 3);
  ASSERT_TRUE(halves);
  EXPECT_EQ(halves->between.prio2buffer[3], 1);
  EXPECT_EQ(halves->between.buffer_size[1], 1000U);
  const std::uint8_t other = halves->between.prio2buffer[4];
  EXPECT_NE(other, 1);
  EXPECT_EQ(halves->between.buffer_size[other], 2000U);
  EXPECT_EQ(halves->after.prio2buffer[3], 0);
  EXPECT_EQ(halves->after.buffer_size[1], 0U);
  EXPECT_EQ(halves->after.prio2buffer[4], other);
  EXPECT_EQ(halves->after.buffer_size[other], 2000U);
}

TEST(DcbOrder, APortWithoutABufferForBothRefusesAndLosesNothing) {
  std::map<std::size_t, std::pair<std::uint8_t, std::uint32_t>> had;
  for (std::uint8_t priority = 1; priority < 8; ++priority) had[priority] = {priority, 1000};
  auto wanted = had;
  wanted.erase(7);
  wanted[0] = {7, 1000};
  EXPECT_FALSE(dcb::halves_of(buffers(had), buffers(wanted), 1U << 7));
  EXPECT_TRUE(dcb::halves_of(buffers(had), buffers(wanted), 0)) << "it needs its buffer no more";
}

}  // namespace
}  // namespace lockstep
