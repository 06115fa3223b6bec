#include "drivers/linux/dcb/port_classes.hpp"

#include <algorithm>
#include <string>

#include "drivers/linux/dcb/priorities.hpp"

namespace lockstep::dcb {
namespace {

constexpr std::uint16_t kDscpMax = 63;  // RFC 2474: six bits
constexpr unsigned kWhole = 100;        // percent

bool has_shares(const PortClasses& classes) {
  return std::ranges::any_of(classes, [](const auto& one) { return one.second.share.has_value(); });
}

// For a class that has neither a share nor strict priority. mlx5 starts with the vendor's algorithm, and
// accepts a share of 0 beside others that sum to 100 % (en_dcbnl.c).
std::uint8_t plain_algorithm(std::uint8_t now, bool others_share) {
  if (now == IEEE_8021QAZ_TSA_CB_SHAPER || now == IEEE_8021QAZ_TSA_VENDOR) return now;
  return others_share ? IEEE_8021QAZ_TSA_ETS : IEEE_8021QAZ_TSA_VENDOR;
}

std::uint8_t priority_for(const PortClass& one, std::uint8_t lossless) {
  for (const std::uint8_t priority : one.priorities)
    if ((lossless >> priority & 1U) != 0) return priority;
  return *one.priorities.begin();
}

}  // namespace

std::vector<std::uint8_t> trust_of(const PortDcb& port) {
  if (port.trust) return *port.trust;
  return {dscp_entries(port).empty() ? kSelectorPcp : std::uint8_t{IEEE_8021QAZ_APP_SEL_DSCP}};
}

PortClasses classes_of(const PortDcb& port) {
  PortClasses out;
  if (!port.ets) return out;
  for (std::uint8_t priority = 0; priority < kPriorities; ++priority)
    out[port.ets->prio_tc[priority]].priorities.insert(priority);
  for (auto& [number, one] : out) {
    const std::uint8_t algorithm = port.ets->tc_tsa[number];
    one.strict = algorithm == IEEE_8021QAZ_TSA_STRICT;
    if (algorithm == IEEE_8021QAZ_TSA_ETS && port.ets->tc_tx_bw[number] > 0)
      one.share = port.ets->tc_tx_bw[number];
    if (port.maxrate && port.maxrate->tc_maxrate[number] > 0) one.max_rate = port.maxrate->tc_maxrate[number];
  }
  for (const auto& [dscp, priority] : dscp_entries(port)) out[port.ets->prio_tc[priority]].dscp.insert(dscp);
  return out;
}

void place_priorities(PortClasses& classes) {
  std::set<std::uint8_t> homeless;
  for (std::uint8_t priority = 0; priority < kPriorities; ++priority) homeless.insert(priority);
  for (const auto& [number, one] : classes)
    for (const std::uint8_t priority : one.priorities) homeless.erase(priority);
  std::erase_if(classes, [](const auto& one) { return one.second.priorities.empty(); });
  if (classes.empty()) return;
  auto home =
      std::ranges::find_if(classes, [](const auto& one) { return one.second.priorities.contains(0); });
  if (home == classes.end()) home = classes.begin();
  home->second.priorities.insert(homeless.begin(), homeless.end());
}

Result<Done> check(const PortClasses& classes, const ieee_ets& have) {
  const auto wrong = [](std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; };
  if (classes.empty()) return wrong("a port has one traffic class at least");
  // 0: the driver does not report it.
  if (have.ets_cap != 0 && classes.rbegin()->first >= have.ets_cap)
    return wrong("the port has " + std::to_string(have.ets_cap) + " traffic classes, from 0");
  unsigned sum = 0;
  for (const auto& [number, one] : classes) {
    if (one.strict && one.share)
      return wrong("traffic class " + std::to_string(number) +
                   " is strict and has a share: 802.1Qaz has the one or the other");
    sum += one.share.value_or(0);
  }
  if (has_shares(classes) && sum != kWhole)
    return wrong("the shares of the port's traffic classes sum to " + std::to_string(sum) +
                 " %, and 802.1Qaz has 100 %");
  return Done{};
}

ieee_ets ets_for(const PortClasses& classes, const ieee_ets& have) {
  ieee_ets out = have;
  const bool shared = has_shares(classes);
  for (unsigned number = 0; number < IEEE_8021QAZ_MAX_TCS; ++number) {
    const auto found = classes.find(number);
    std::uint8_t algorithm = have.tc_tsa[number];
    std::uint8_t share = 0;
    if (found == classes.end()) {
      // An unused class's share would be missing from the sum of the others.
      if (algorithm == IEEE_8021QAZ_TSA_ETS) algorithm = IEEE_8021QAZ_TSA_STRICT;
    } else if (found->second.strict) {
      algorithm = IEEE_8021QAZ_TSA_STRICT;
    } else if (found->second.share) {
      algorithm = IEEE_8021QAZ_TSA_ETS;
      share = *found->second.share;
    } else {
      algorithm = plain_algorithm(algorithm, shared);
    }
    out.tc_tsa[number] = algorithm;
    if (algorithm == IEEE_8021QAZ_TSA_ETS || algorithm != have.tc_tsa[number]) out.tc_tx_bw[number] = share;
  }
  for (const auto& [number, one] : classes)
    for (const std::uint8_t priority : one.priorities)
      out.prio_tc[priority] = static_cast<std::uint8_t>(number);
  return out;
}

bool same_ets(const ieee_ets& a, const ieee_ets& b) {
  if (!std::ranges::equal(a.prio_tc, b.prio_tc) || !std::ranges::equal(a.tc_tsa, b.tc_tsa)) return false;
  for (std::size_t tc = 0; tc < IEEE_8021QAZ_MAX_TCS; ++tc)
    if (a.tc_tsa[tc] == IEEE_8021QAZ_TSA_ETS && a.tc_tx_bw[tc] != b.tc_tx_bw[tc]) return false;
  return true;
}

ieee_maxrate rates_for(const PortClasses& classes, const ieee_maxrate& have) {
  ieee_maxrate out = have;
  for (unsigned number = 0; number < IEEE_8021QAZ_MAX_TCS; ++number) {
    const auto found = classes.find(number);
    out.tc_maxrate[number] = found == classes.end() ? 0 : found->second.max_rate.value_or(0);
  }
  return out;
}

DscpEntries dscp_entries(const PortDcb& port) {
  DscpEntries out;
  for (const dcb_app& one : port.apps)
    if (one.selector == IEEE_8021QAZ_APP_SEL_DSCP && one.protocol <= kDscpMax)
      out.emplace(static_cast<std::uint8_t>(one.protocol), one.priority);
  return out;
}

DscpEntries dscp_entries(const PortClasses& classes, const PortDcb& have, std::uint8_t lossless) {
  const DscpEntries now = dscp_entries(have);
  DscpEntries out;
  for (const auto& [number, one] : classes)
    for (const std::uint8_t dscp : one.dscp) {
      bool has_one = false;
      for (const std::uint8_t priority : one.priorities)
        if (now.contains({dscp, priority})) has_one = out.emplace(dscp, priority).second || has_one;
      if (!has_one) out.emplace(dscp, priority_for(one, lossless));
    }
  return out;
}

std::vector<dcb_app> entries_without(const DscpEntries& all, const DscpEntries& but) {
  std::vector<dcb_app> out;
  for (const auto& one : all)
    if (!but.contains(one)) out.push_back({IEEE_8021QAZ_APP_SEL_DSCP, one.second, one.first});
  return out;
}

}  // namespace lockstep::dcb
