// The order of the requests of one apply to a port: the state after each of them, and after a refusal.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "drivers/linux/dcb/port_buffers.hpp"
#include "tests/unit/linux/recorded_port.hpp"

namespace lockstep {
namespace {

using dcb::PortDcb;
using dcb::PortState;

bool has(std::uint8_t mask, std::size_t priority) { return (mask >> priority & 1U) != 0; }

// The size of a priority's own buffer. Buffer 0 is shared and does not count.
std::uint32_t room(const PortDcb& port, std::size_t priority) {
  const std::uint8_t at = port.buffer->prio2buffer[priority];
  return at == 0 ? 0 : port.buffer->buffer_size[at];
}

// Checks what must hold between two states, in any order of requests. Returns the violation.
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

void check(const PortDcb& first, const RecordedPort& port, const PortDcb& wanted) {
  for (const PortDcb& now : port.states)
    if (const std::string what = fault(first, now, port.now, wanted); !what.empty()) RC_FAIL(what);
}

TEST(DcbOrder, NeverLeavesPfcWithoutItsBufferNorALosslessDscpWithoutPfc) {
  EXPECT_TRUE(rc::check([] {
    const PortDcb first = random_port();
    const PortDcb wanted = random_port();
    RecordedPort port(first);
    const auto why = run(port, changes_between(first, wanted));
    RC_LOG() << (why.empty() ? "" : why.front()) << "\n";
    RC_ASSERT(why.empty());
    RC_ASSERT(port.now.pfc->pfc_en == wanted.pfc->pfc_en);
    check(first, port, wanted);
    // Back to the first state.
    const PortDcb there = port.now;
    port.states.clear();
    RC_ASSERT(run(port, changes_between(there, first)).empty());
    check(there, port, first);
  }));
}

TEST(DcbOrder, HoldsWhicheverRequestIsRefused) {
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

// A set of buffers, by the priorities that have their own.
dcbnl_buffer buffers(const std::map<std::size_t, std::pair<std::uint8_t, std::uint32_t>>& own) {
  dcbnl_buffer out{};
  for (const auto& [priority, one] : own) {
    out.prio2buffer[priority] = one.first;
    out.buffer_size[one.first] = one.second;
  }
  return out;
}

TEST(DcbOrder, ANewPriorityGetsADifferentBufferThanOneStillInUse) {
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

TEST(DcbOrder, RefusesWithoutLossWhenNoBufferIsLeftForBoth) {
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
