// PFC and its headroom on ports whose drivers have their own rules: a NIC that computes with the length of
// its cable, and a switch that accepts sizes only with a root qdisc. tests/vm/netdev has the arithmetic of
// the kernel; these tests check the requests to a port, their order, and the state after a refusal.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "specs/model/schema_rows.hpp"
#include "tests/unit/linux/recorded_port.hpp"

namespace lockstep {
namespace {

using dcb::Headroom;
using dcb::PortDcb;
using dcb::PortState;

bool has(std::uint8_t mask, std::size_t priority) { return (mask >> priority & 1U) != 0; }

// Follows the order of mlx5, with 1 KB of headroom per metre: PFC is on before the buffers are checked.
class CablePort : public RecordedPort {
 public:
  using RecordedPort::RecordedPort;
  Result<PortState> read(const Link& port, const Call& call) override {
    TRY(PortState out, RecordedPort::read(port, call));
    out.headroom = Headroom::by_cable;
    return out;
  }
  Result<Done> set_pfc(const Link&, const ieee_pfc& pfc, const Call&) override {
    const std::uint16_t cable = now.pfc->delay;
    const auto done = set([&] { now.pfc = pfc; });
    if (!done || fits()) return done;
    now.pfc->delay = cable;
    return Error{ErrorKind::refused, "Cannot allocate memory"};
  }
  Result<Done> set_buffer(const Link& port, const dcbnl_buffer& buffer, const Call& call) override {
    const dcbnl_buffer old = *now.buffer;
    for (const bool map_first : {true, false}) {
      now.buffer = buffer;
      if (map_first) std::ranges::copy(old.buffer_size, now.buffer->buffer_size);
      if (fits()) continue;
      now.buffer = old;
      return Error{ErrorKind::refused, "Cannot allocate memory"};
    }
    now.buffer = old;
    return RecordedPort::set_buffer(port, buffer, call);
  }

 private:
  bool fits() const {
    for (std::size_t priority = 0; priority < 8; ++priority)
      if (has(now.pfc->pfc_en, priority) &&
          now.buffer->buffer_size[now.buffer->prio2buffer[priority]] < std::uint32_t{1000} * now.pfc->delay)
        return false;
    return true;
  }
};

// Has the two modes of mlxsw.
class SwitchPort : public RecordedPort {
 public:
  using RecordedPort::RecordedPort;
  Result<PortState> read(const Link& port, const Call& call) override {
    TRY(PortState out, RecordedPort::read(port, call));
    out.headroom = Headroom::by_traffic_control;
    out.has_root_ets = by_tc;
    return out;
  }
  Result<Done> set_ets(const Link&, const ieee_ets&, const Call&) override {
    return Error{ErrorKind::refused, "would undo what the qdisc made"};
  }
  Result<Done> set_root_ets(const Link& port, const EtsParameters& root, const Call& call) override {
    const bool first = !by_tc;
    const auto done = RecordedPort::set_root_ets(port, root, call);
    if (!done || !offloads) return done;
    by_tc = true;
    if (first) std::ranges::fill(now.buffer->prio2buffer, std::uint8_t{0});
    look();
    return done;
  }
  Result<Done> set_pfc(const Link& port, const ieee_pfc& pfc, const Call& call) override {
    auto done = RecordedPort::set_pfc(port, pfc, call);
    look();
    return done;
  }
  Result<Done> remove_root(const Link&, const Call&) override {
    removed = true;
    return Done{};
  }
  Result<Done> set_buffer(const Link& port, const dcbnl_buffer& buffer, const Call& call) override {
    if (!by_tc || refuses_sizes) return Error{ErrorKind::refused, "Invalid argument"};
    auto done = RecordedPort::set_buffer(port, buffer, call);
    look();
    return done;
  }

  std::string fault;  // set when a priority with PFC lacks its own buffer
  bool by_tc = false;
  bool offloads = true;
  bool refuses_sizes = false;
  bool removed = false;

 private:
  void look() {
    for (std::size_t priority = 0; priority < 8 && by_tc; ++priority)
      if (has(now.pfc->pfc_en, priority) && now.buffer->prio2buffer[priority] == 0)
        fault = "priority " + std::to_string(priority) + " has PFC and no buffer";
  }
};

PortDcb port_of(std::uint8_t pfc, std::uint16_t delay) {
  PortDcb out;
  out.ets = ieee_ets{};
  out.ets->ets_cap = 8;
  out.pfc = ieee_pfc{};
  out.pfc->pfc_en = pfc;
  out.pfc->delay = delay;
  out.maxrate = ieee_maxrate{};
  out.buffer = dcbnl_buffer{};
  out.buffer->buffer_size[0] = 50'000;
  out.mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
  return out;
}

Change change(const std::string& entry, const Value& want) {
  const auto path = Path::parse("interface[nic0]/" + entry);
  EXPECT_TRUE(path) << entry;
  return {path ? *path : Path{}, {}, want, 0};
}
Change cable(std::int64_t metres) { return change("cable-length", Value::integer(metres)); }
Change pfc(std::vector<std::string> priorities) { return change("pfc", Value::set(std::move(priorities))); }
Change size(std::int64_t bytes) { return change("buffer[3]/size", Value::integer(bytes)); }

TEST(DcbHeadroom, SetsTheCableLengthAndKeepsItWhenOnlyPfcChanges) {
  CablePort port(port_of(0, 7));
  EXPECT_TRUE(run(port, {cable(30), size(64'000)}).empty());
  EXPECT_EQ(port.now.pfc->delay, 30);
  EXPECT_TRUE(run(port, {pfc({"3"})}).empty());
  EXPECT_EQ(port.now.pfc->pfc_en, 0x08);
  EXPECT_EQ(port.now.pfc->delay, 30);
}

TEST(DcbHeadroom, SetsALongerCableAfterItsBufferAndAShorterOneBefore) {
  CablePort port(port_of(0, 7));
  ASSERT_TRUE(run(port, {size(10'000), pfc({"3"})}).empty());
  EXPECT_TRUE(run(port, {cable(60), size(60'000)}).empty());
  EXPECT_EQ(port.now.pfc->delay, 60);
  EXPECT_TRUE(run(port, {cable(20), size(20'000)}).empty());
  EXPECT_EQ(port.now.pfc->delay, 20);
  EXPECT_EQ(port.now.buffer->buffer_size[3], 20'000U);
}

TEST(DcbHeadroom, RefusesACableLengthThatTheDriverIgnoresAndKeepsPfcOff) {
  CablePort port(port_of(0, 7));
  const auto why = run(port, {cable(1000), pfc({"3"})});
  ASSERT_EQ(why.size(), 2U);
  EXPECT_NE(why[0].find("999 m at most"), std::string::npos) << why[0];
  EXPECT_NE(why[1].find("PFC stays off"), std::string::npos) << why[1];
  EXPECT_EQ(port.now.pfc->pfc_en, 0);
  EXPECT_EQ(port.now.pfc->delay, 7);
}

TEST(DcbHeadroom, TurnsOffPfcThatThePortKeptDespiteRefusingIt) {
  CablePort port(port_of(0, 7));
  const auto why = run(port, {size(1000), pfc({"3"})});
  ASSERT_EQ(why.size(), 1U);
  EXPECT_NE(why[0].find("a larger buffer[*]/size"), std::string::npos) << why[0];
  EXPECT_EQ(port.now.pfc->pfc_en, 0);
}

// The first of two priorities that share a buffer gets its own: the new map does not fit the old sizes.
TEST(DcbHeadroom, SetsSizesBeforeTheMapThatNeedsThem) {
  PortDcb first = port_of(0x18, 7);
  first.buffer->prio2buffer[3] = first.buffer->prio2buffer[4] = 1;
  first.buffer->buffer_size[1] = 8000;
  CablePort port(first);
  EXPECT_TRUE(run(port, {size(9000)}).empty());
  EXPECT_EQ(port.now.buffer->buffer_size[3], 9000U);
}

TEST(DcbHeadroom, ARefusedSizeKeepsPfcOffInLaterAppliesUntilItIsSet) {
  SwitchPort port(port_of(0, 0));
  port.refuses_sizes = true;
  ASSERT_EQ(run(port, {size(9000)}).size(), 1U);
  port.now.buffer->prio2buffer[3] = 3;  // its own buffer, and too small
  port.now.buffer->buffer_size[3] = 4000;
  const auto why = run(port, {pfc({"3"})});
  ASSERT_EQ(why.size(), 1U);
  EXPECT_NE(why[0].find("buffer[3]/size = 9000 was refused"), std::string::npos) << why[0];
  EXPECT_EQ(port.now.pfc->pfc_en, 0);
  EXPECT_TRUE(run(port, {pfc({"4"})}).size() == 1) << "it has no buffer of its own";
  port.refuses_sizes = false;
  EXPECT_TRUE(run(port, {size(9000)}).empty());
  EXPECT_TRUE(run(port, {pfc({"3"})}).empty());
  EXPECT_EQ(port.now.pfc->pfc_en, 0x08);
}

TEST(DcbHeadroom, WithoutAnOffloadedRootTheSwitchKeepsItsState) {
  SwitchPort port(port_of(0x08, 65535));
  port.offloads = false;
  const auto why = run(port, {size(9000), pfc({"3", "4"})});
  ASSERT_EQ(why.size(), 2U);
  EXPECT_NE(why[0].find("hw-tc-offload on"), std::string::npos) << why[0];
  EXPECT_TRUE(port.removed);
  EXPECT_EQ(port.now.pfc->pfc_en, 0x08);
  EXPECT_EQ(port.now.pfc->delay, 65535);
}

TEST(DcbHeadroom, RestoresPfcWithItsBufferAndReportsWhereItCannot) {
  SwitchPort port(port_of(0x08, 0));
  EXPECT_TRUE(run(port, {size(9000)}).empty());
  EXPECT_EQ(port.now.pfc->pfc_en, 0x08);
  EXPECT_EQ(port.now.buffer->buffer_size[3], 9000U);
  SwitchPort other(port_of(0x18, 0));
  const auto why = run(other, {size(9000)});
  ASSERT_EQ(why.size(), 1U);
  EXPECT_NE(why[0].find("priority 4 has no buffer of its own"), std::string::npos) << why[0];
  EXPECT_EQ(other.now.pfc->pfc_en, 0);
}

TEST(DcbHeadroom, RestoresPfcWhenItsChangeFails) {
  SwitchPort port(port_of(0x08, 0));
  EXPECT_EQ(run(port, {pfc({"9"}), size(9000)}).size(), 1U);
  EXPECT_EQ(port.now.pfc->pfc_en, 0x08);
}

TEST(DcbHeadroom, DoesNotSetARootQdiscWhileLldpadRuns) {
  SwitchPort port(port_of(0x08, 0));
  const auto why = run(port, {size(9000)}, "lldpad runs here");
  ASSERT_EQ(why.size(), 1U);
  EXPECT_NE(why[0].find("lldpad runs here"), std::string::npos) << why[0];
  EXPECT_FALSE(port.by_tc);
  EXPECT_EQ(port.now.pfc->pfc_en, 0x08);
}

// Starts in DCB mode, where ETS determines the buffers; any request may be refused.
TEST(DcbHeadroom, ASwitchNeverHasPfcWithoutHeadroom) {
  EXPECT_TRUE(rc::check([] {
    PortDcb first = random_port();
    const PortDcb wanted = random_port();
    std::ranges::copy(first.ets->prio_tc, first.buffer->prio2buffer);
    const ChangeSet changes = changes_between(first, wanted);
    SwitchPort whole(first);
    run(whole, changes);
    RC_ASSERT(whole.fault == "");
    for (int refused = 0; refused < static_cast<int>(whole.states.size()); ++refused) {
      SwitchPort port(first);
      port.refused = refused;
      run(port, changes);
      RC_ASSERT(port.fault == "");
    }
  }));
}

ieee_ets ets(const std::map<std::uint8_t, std::pair<std::uint8_t, std::uint8_t>>& by_priority) {
  ieee_ets out{};
  for (const auto& [priority, one] : by_priority) {
    out.prio_tc[priority] = one.first;
    out.tc_tsa[one.first] = one.second == 0 ? IEEE_8021QAZ_TSA_STRICT : IEEE_8021QAZ_TSA_ETS;
    out.tc_tx_bw[one.first] = one.second;
  }
  return out;
}

// The weights as ets_offload_change() of sch_ets.c computes them.
std::vector<unsigned> weights_of(const EtsParameters& root) {
  std::vector<unsigned> out;
  std::uint64_t whole = 0;
  for (const std::uint32_t one : root.quanta) whole += one;
  std::uint64_t sum = 0;
  unsigned before = 0;
  for (const std::uint32_t one : root.quanta) {
    sum += one;
    out.push_back(static_cast<unsigned>(sum * 100 / whole) - before);
    before += out.back();
  }
  return out;
}

TEST(DcbHeadroom, BandsFollowClassesFromTheHighestNumberWithSharesInPercent) {
  const auto root = dcb::root_ets_for(ets({{6, {6, 0}}, {3, {3, 60}}, {0, {0, 40}}}));
  ASSERT_TRUE(root) << root.error().text();
  EXPECT_EQ(root->strict, 2);
  EXPECT_EQ(root->bands[6], 1);
  EXPECT_EQ(root->bands[3], 4);
  EXPECT_EQ(root->bands[0], 7);
  EXPECT_EQ(root->bands[15], 7);
  EXPECT_EQ(weights_of(*root), (std::vector<unsigned>{0, 0, 60, 0, 0, 40}));
  const auto above = dcb::root_ets_for(ets({{3, {3, 100}}, {0, {0, 0}}}));
  ASSERT_FALSE(above);
  EXPECT_NE(above.error().text().find("class 3 is not strict, and class 0"), std::string::npos);
}

TEST(DcbHeadroom, PercentagesOfTheSwitchEqualTheSharesAndReadBack) {
  EXPECT_TRUE(rc::check([] {
    const PortDcb port = random_port();
    const auto root = dcb::root_ets_for(*port.ets);
    RC_ASSERT(bool(root));
    PortDcb back = port;
    back.ets = dcb::ets_of(*root, *port.ets);
    RC_ASSERT(dcb::classes_of(back) == dcb::classes_of(port));
    const auto weights = weights_of(*root);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t tc = 7 - root->strict - i;
      const bool used = std::ranges::count(port.ets->prio_tc, tc) > 0;
      RC_ASSERT(weights[i] == (used ? port.ets->tc_tx_bw[tc] : 0U));
    }
  }));
}

}  // namespace
}  // namespace lockstep
