// A port in memory for tests of the order of requests in one apply: it records its states and can refuse.
#pragma once

#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

#include "drivers/linux/dcb/port_change.hpp"
#include "drivers/linux/dcb/qdisc_classes.hpp"

namespace lockstep {

class RecordedPort : public dcb::PortObjects {
 public:
  explicit RecordedPort(dcb::PortDcb first) : now(std::move(first)) {}

  Result<Done> read_dumps(const Call&) override { return Done{}; }
  Result<dcb::PortState> read(const Link&, const Call&) override {
    dcb::PortState out;
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
  Result<Done> set_root_ets(const Link&, const EtsParameters& root, const Call&) override {
    return set([&] { now.ets = dcb::ets_of(root, *now.ets); });
  }
  Result<Done> remove_root(const Link&, const Call&) override {
    return set([] {});
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

  dcb::PortDcb now;
  std::vector<dcb::PortDcb> states;  // after each request that was not refused
  int refused = -1;                  // index of the request that is refused; -1: none
  dcb::RefusedHeadroom refused_headroom;

 protected:
  template <class Act>
  Result<Done> set(const Act& act) {
    if (refused >= 0 && refused-- == 0) return Error{ErrorKind::refused, "the port says no"};
    act();
    states.push_back(now);
    return Done{};
  }
};

inline int below(int n) { return *rc::gen::inRange(0, n); }

// A port with class 0 and classes of some priorities, each with its DSCPs; some with PFC and buffers.
inline dcb::PortDcb random_port() {
  dcb::PortDcb out;
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

inline dcb::PortState state_of(const dcb::PortDcb& port) {
  RecordedPort recorded(port);
  return *recorded.read({}, {});
}

// The changes from the actual to the desired state, in any order.
inline ChangeSet changes_between(const dcb::PortDcb& have, const dcb::PortDcb& want) {
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

inline std::vector<std::string> run(RecordedPort& port, const ChangeSet& changes,
                                    const std::string& lldpad = {}) {
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
  dcb::PortChange(port, link, changes, which, answers, port.refused_headroom, call).run(lldpad);
  std::vector<std::string> out;
  for (std::size_t at = 0; at < changes.size(); ++at)
    if (answers[at]) out.push_back(changes[at].path.text() + ": " + answers[at]->text());
  return out;
}

}  // namespace lockstep
