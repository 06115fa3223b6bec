// Proofs about a single RoceProfile.
#include <algorithm>
#include <map>

#include "specs/fabric/proof_context.hpp"
#include "specs/fabric/roce_classes.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kWhole = 1'000'000;  // 100 % in parts per million

std::string quote(const TrafficClass& one) { return "class " + *one.name; }

bool carries_rdma(const RoceProfile& profile, const TrafficClass& one) {
  return is_for(profile, one, Carried::compute) || is_for(profile, one, Carried::storage);
}

// With or without a bound: Cumulus's and Onyx's own RoCE configuration has the CNP class strict and unbounded
// (docs.nvidia.com Cumulus Linux 5.14, RoCE), because a NIC sends at most one CNP in 4 us (DOCA,
// min_time_between_cnps). Lossy RoCE needs it as much as lossless (the same page, lossy mode).
void prove_cnp(const ProofContext& context, const RoceProfile& profile) {
  if (*profile.congestion_control != CongestionControl::dcqcn) return;
  const auto& classes = profile.classes;
  if (std::none_of(classes.begin(), classes.end(),
                   [&](const auto& one) { return *one.lossless || carries_rdma(profile, one); }))
    return;
  const TrafficClass* const cnp = class_for(profile, Carried::cnp);
  if (cnp == nullptr && !profile.congestion_control.said) return;
  if (cnp == nullptr)
    return context.error(
        "LS104", place(profile.congestion_control, profile.at),
        "DCQCN needs a class for its notifications, and this profile has none",
        "add {name: cnp, carries: [cnp], dscp: [48], priority: 6, tc: 6, scheduling: strict}");
  const std::vector<Related> why{{place(profile.congestion_control, profile.at), "DCQCN is enabled here"}};
  const std::string which = quote(*cnp) + ", which carries CNPs, ";
  if (*cnp->scheduling != Scheduling::strict)
    context.error("LS104", place(cnp->scheduling, cnp->at), which + "is not strict",
                  "write scheduling: strict: a notification behind data is late", why);
  if (*cnp->lossless)
    context.error("LS104", cnp->lossless.at, which + "is lossless: a paused notification is late",
                  "leave lossless out: a lost notification is followed by another", why);
}

// A strict queue is served before all others while it has packets (802.1Q-2018 8.6.8.1), and RDMA fills a
// link: vendors use weights (Cumulus 5.14 RoCE: 50 %; SONiC's qos_config.j2: scheduler.1, DWRR of weight 15).
void prove_bounds(const ProofContext& context, const RoceProfile& profile) {
  const bool has_others =
      std::any_of(profile.classes.begin(), profile.classes.end(),
                  [](const TrafficClass& one) { return *one.scheduling != Scheduling::strict; });
  for (const TrafficClass& one : profile.classes) {
    if (*one.scheduling != Scheduling::strict || !has_others) continue;
    if (!*one.lossless && !carries_rdma(profile, one)) continue;
    const bool bounded =
        one.max_rate.said && (!one.max_rate->share || one.max_rate->ratio.parts_per_million < kWhole);
    if (bounded) continue;
    context.error("LS125", one.scheduling.at,
                  quote(one) + (carries_rdma(profile, one) ? " carries RDMA" : " is lossless") +
                      " and is strict without a bound: while it sends, no other class does",
                  "give it a share of the link: scheduling: dwrr, bandwidth: 50%; or a maxRate below 100%");
  }
}

void prove_shares(const ProofContext& context, const RoceProfile& profile) {
  std::uint64_t sum = 0;
  std::vector<Related> parts;
  const TrafficClass* last = nullptr;
  for (const TrafficClass& one : profile.classes) {
    if (!one.bandwidth.said || *one.scheduling == Scheduling::strict) continue;
    sum += one.bandwidth->parts_per_million;
    if (last != nullptr)
      parts.push_back({last->bandwidth.at, quote(*last) + " has " + format(*last->bandwidth)});
    last = &one;
  }
  if (sum > kWhole)
    context.error("LS114", last->bandwidth.at,
                  "the bandwidth shares of RoceProfile/" + *profile.metadata.name + " sum to " +
                      format(Ratio{static_cast<std::uint32_t>(sum)}),
                  "shares are of what strict classes leave: at most 100%", std::move(parts));
}

void prove_disjoint(const ProofContext& context, const RoceProfile& profile) {
  std::map<std::uint32_t, std::pair<Position, const TrafficClass*>> dscps;
  std::map<std::uint32_t, std::pair<Position, const TrafficClass*>> priorities;
  std::map<std::uint32_t, std::pair<Position, const TrafficClass*>> traffic_classes;
  for (const TrafficClass& one : profile.classes) {
    for (const Said<std::uint8_t>& dscp : one.dscp) {
      const auto [at, fresh] = dscps.try_emplace(*dscp, dscp.at, &one);
      if (!fresh)
        context.error("LS115", dscp.at,
                      "DSCP " + std::to_string(*dscp) + " is already in " + quote(*at->second.second),
                      "a DSCP belongs to one class", {{at->second.first, "first named here"}});
    }
    for (const Said<std::uint8_t>& priority : priorities_of(one)) {
      if (!priority.said) continue;
      const auto [at, fresh] = priorities.try_emplace(*priority, priority.at, &one);
      if (!fresh)
        context.error("LS115", priority.at,
                      "priority " + std::to_string(*priority) + " is already in " + quote(*at->second.second),
                      "a priority belongs to one class", {{at->second.first, "first named here"}});
    }
    if (!one.tc.said) continue;
    const auto [at, fresh] = traffic_classes.try_emplace(*one.tc, one.tc.at, &one);
    if (!fresh)
      context.error(
          "LS115", one.tc.at,
          "traffic class " + std::to_string(*one.tc) + " is already in " + quote(*at->second.second),
          "give each class its own tc: a queue has one share, one order and one answer to being full",
          {{at->second.first, "first named here"}});
  }
}

}  // namespace

void prove_profiles(const ProofContext& context) {
  for (const RoceProfile& profile : context.catalog.roce_profiles) {
    prove_cnp(context, profile);
    prove_bounds(context, profile);
    prove_shares(context, profile);
    prove_disjoint(context, profile);
    for (const TrafficClass& one : profile.classes)
      if (*one.lossless && !one.ecn.said && profile.congestion_control.said &&
          *profile.congestion_control == CongestionControl::dcqcn)
        context.warning(
            "LS118", one.at, "the lossless " + quote(one) + " has no ECN, and DCQCN reacts to nothing else",
            "add ecn: auto", {{place(profile.congestion_control, profile.at), "DCQCN is enabled here"}});
    if (lossless_classes(profile) == 0 || profile.pfc->watchdog.said) continue;
    for (const TrafficClass& one : profile.classes)
      if (*one.lossless) {
        context.warning("LS116", place(one.lossless, one.at),
                        quote(one) + " is lossless, and the profile has no PFC watchdog",
                        "add pfc: {watchdog: {detectionTime: 200ms, restorationTime: 400ms, action: drop}}");
        break;
      }
  }
}

}  // namespace lockstep
