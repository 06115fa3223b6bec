#include "reconciler/measure/gate_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "reconciler/measure/selection.hpp"

namespace lockstep {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// A benchmark without SLO only shows figures: no gate compares them.
bool is_judged(const Benchmark& benchmark) { return !benchmark.slo.empty(); }

milliseconds cost_of(const bench::PlannedBenchmark& planned) {
  return bench::round_time(planned.plan) *
         static_cast<std::int64_t>(planned.plan.rounds.size() + planned.plan.group_rounds.size());
}

}  // namespace

std::vector<milliseconds> fair_shares(const std::vector<milliseconds>& costs, milliseconds budget) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
  std::vector<milliseconds> shares(costs.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    shares[order[i]] = std::min(costs[order[i]], budget / static_cast<std::int64_t>(order.size() - i));
    budget -= shares[order[i]];
  }
  return shares;
}

GatePairs::GatePairs(Ground& ground, const ValidationSuite& suite, const GateChoice& choice,
                     const BusyHosts& busy)
    : ground_(ground), suite_(suite), choice_(choice), busy_hosts_(busy) {
  for (const Endpoint& end : ground.graph().endpoints) {
    in_service_.push_back(!choice.in_maintenance.contains(end.device) &&
                          !choice.in_maintenance.contains(end.leaf));
    usable_.push_back(in_service_.back() && !choice.left_out.contains(end.device));
    busy_.push_back(!usable_.back() || busy.contains(end.device));
  }
  affected_ = flags_of(choice.affected);
  pending_ = flags_of(choice.pending);
  const bool all = suite.on_change.value.scope.value == RerunScope::all;
  const Flags every(affected_.size(), true);
  const Flags whole = all ? every : flags_of(choice.whole);
  asked_ = all ? every : affected_;
  Flags more(whole.size(), false);
  for (std::size_t link = 0; link < more.size(); ++link) more[link] = affected_[link] && !whole[link];
  links_ = links_of(whole);
  more_links_ = links_of(more);
  touched_ = whole;
  for (const std::uint32_t link : more_links_) touched_[link] = true;
  find_named();
}

// For this suite, as far as such ends still exist.
void GatePairs::find_named() {
  if (choice_.also.empty()) return;
  const auto ends = bench::index_of(ground_.probes);
  for (const NamedPair& one : choice_.also) {
    if (one.suite != *suite_.metadata.name) continue;
    std::set<bench::Pair>& pairs = also_[one.benchmark];
    const auto from = ends.find(one.from);
    const auto to = ends.find(one.to);
    if (from != ends.end() && to != ends.end()) pairs.insert({from->second, to->second});
  }
}

const std::set<bench::Pair>& GatePairs::also(const Benchmark& benchmark) const {
  static const std::set<bench::Pair> none;
  const auto found = also_.find(*benchmark.name);
  return found == also_.end() ? none : found->second;
}

bool GatePairs::is_in_maintenance(const Benchmark& benchmark, const bench::Pair& pair) {
  if (choice_.in_maintenance.empty()) return false;
  if (!in_service_[pair.from] || !in_service_[pair.to]) return true;
  const bench::Pair way = bench::data_way(*benchmark.workload, pair);
  const std::vector<Endpoint>& ends = ground_.graph().endpoints;
  const CrossedPath* const middle = ground_.paths().between_leaves(ends[way.from].leaf, ends[way.to].leaf);
  if (middle == nullptr) return false;
  const Topology& topology = ground_.topology();
  return std::any_of(middle->fixed.begin(), middle->fixed.end(), [&](std::uint32_t link) {
    return choice_.in_maintenance.contains(topology.ports[sending_port(topology, link)].device) ||
           choice_.in_maintenance.contains(topology.ports[receiving_port(topology, link)].device);
  });
}

GatePairs::Flags GatePairs::flags_of(const TouchedParts& touched) const {
  const Topology& topology = ground_.topology();
  Flags out(topology.links.size() * 2, false);
  const auto flag = [&out](std::size_t link) { out[2 * link] = out[2 * link + 1] = true; };
  for (const LinkIndex cable : touched.cables) flag(cable);
  for (const std::string& name : touched.devices)
    if (const DeviceIndex device = topology.find_device(name); device != kNone)
      for (const TopologyPort& port : topology.ports_of(device))
        if (port.link != kNone) flag(port.link);
  return out;
}

// The upward directions first: what one host sends another receives.
std::vector<std::uint32_t> GatePairs::links_of(const Flags& flagged) const {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t way : {0U, 1U})
    for (const LinkIndex link : ground_.graph().links)
      if (flagged[2 * link + way]) out.push_back(2 * link + way);
  return out;
}

bool GatePairs::touches(const Benchmark& benchmark, const bench::Pair& pair, const Flags& flagged) {
  return ground_.touches(bench::data_way(*benchmark.workload, pair), flagged);
}

std::vector<bench::Pair> GatePairs::pairs_of(const Benchmark& benchmark, bool all_if_few) {
  PairSelector selector(ground_, benchmark, usable_);
  std::optional<std::vector<bench::Pair>> out = all_if_few ? selector.all_over(touched_) : std::nullopt;
  if (!out) {
    out = selector.over(links_);
    const std::vector<bench::Pair> more = selector.over(more_links_);
    out->insert(out->end(), more.begin(), more.end());
  }
  looked_at_ += selector.looked_at();
  const std::set<bench::Pair>& named = also(benchmark);
  std::vector<bench::Pair> all(named.begin(), named.end());
  std::erase_if(all, [&](const bench::Pair& pair) { return !usable_[pair.from] || !usable_[pair.to]; });
  for (const bench::Pair& way : *out)
    if (const bench::Pair pair = bench::data_way(*benchmark.workload, way); !named.contains(pair))
      all.push_back(pair);
  return all;
}

bench::PlannedBenchmark GatePairs::plan_for_run(const PreparedBenchmark& one, bool all_if_few,
                                                std::optional<std::size_t> rounds) {
  bench::PlanOptions options = one.options;
  options.limits.rounds = rounds;
  if (bench::collective(*one.benchmark->workload)) {
    options.wanted = [&](const bench::Pair& hop) {
      return also_.contains(*one.benchmark->name) || ground_.touches(hop, touched_);
    };
    options.excluded = [&](const bench::Pair& hop) { return !usable_[hop.from] || !usable_[hop.to]; };
  } else {
    options.pairs = pairs_of(*one.benchmark, all_if_few);
  }
  return bench::plan_tcp(*one.benchmark, ground_.probes, ground_.links, options);
}

void GatePairs::plan(std::vector<PreparedBenchmark>& all, const Wanted& wanted) {
  std::vector<bench::PlannedBenchmark> plans;
  std::vector<milliseconds> costs;
  for (const PreparedBenchmark& one : all) {
    plans.push_back(plan_for_run(one, true, std::nullopt));
    costs.push_back(cost_of(plans.back()));
  }
  const milliseconds budget = choice_.budget.value_or(
      duration_cast<milliseconds>(suite_.on_change.value.budget.or_else(kGateBudget)));
  const std::vector<milliseconds> shares = fair_shares(costs, budget);
  selected_.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (shares[i] < costs[i])
      plans[i] =
          plan_for_run(all[i], false, static_cast<std::size_t>(shares[i] / bench::round_time(plans[i].plan)));
    selected_.push_back({plans[i].plan.rounds, plans[i].pairs, plans[i].left_out});
    plan_now(all[i], selected_.back(), wanted);
  }
}

bool GatePairs::is_asked(const Benchmark& benchmark, const bench::Pair& pair) {
  const bool named = bench::collective(*benchmark.workload) ? also_.contains(*benchmark.name)
                                                            : also(benchmark).contains(pair);
  return named || touches(benchmark, pair, asked_);
}

bool GatePairs::is_pending(const Benchmark& benchmark, const bench::Pair& pair) {
  return touches(benchmark, pair, pending_);
}

std::string GatePairs::why_left_out(const Benchmark& benchmark, std::size_t place) {
  if (place >= selected_.size()) return "";  // controls
  bool asked = false;
  bool busy = false;
  for (const bench::Pair& pair : selected_[place].pairs) {
    if (!is_asked(benchmark, pair)) continue;
    asked = true;
    if (is_pending(benchmark, pair))
      return choice_.pending_until == 0
                 ? "affected, and not measured while its paths are half changed"
                 : "affected, and measured with wave " + std::to_string(choice_.pending_until) +
                       ", which changes the same paths";
    busy = busy || is_busy(pair);
  }
  if (!asked) return "";
  return busy ? "affected, and not measured: hosts run jobs or are in maintenance"
              : "affected, and not measured: its paths cross devices in maintenance";
}

void GatePairs::plan_now(PreparedBenchmark& one, const Selected& selected, const Wanted& wanted) {
  const auto is_asked_now = [&](const bench::Pair& pair) {
    return is_asked(*one.benchmark, pair) && (!wanted || wanted(one, pair));
  };
  const auto is_barred = [&](const bench::Pair& pair) {
    return is_busy(pair) || is_in_maintenance(*one.benchmark, pair) || is_pending(*one.benchmark, pair);
  };
  bench::PlanOptions options = one.options;
  const auto plan_it = [&] {
    return bench::plan_tcp(*one.benchmark, ground_.probes, ground_.links, options);
  };
  if (bench::collective(*one.benchmark->workload)) {
    const std::set<bench::Pair> cut(selected.cut.begin(), selected.cut.end());
    options.wanted = is_asked_now;
    options.excluded = [&](const bench::Pair& hop) { return is_barred(hop) || cut.contains(hop); };
    one.planned = plan_it();
    return;
  }
  options.pairs.emplace();
  std::vector<std::vector<bench::Pair>> rounds;
  for (std::vector<bench::Pair> round : selected.rounds) {
    std::erase_if(round, [&](const bench::Pair& pair) { return !is_asked_now(pair) || is_barred(pair); });
    options.pairs->insert(options.pairs->end(), round.begin(), round.end());
    if (!round.empty()) rounds.push_back(std::move(round));
  }
  one.planned = plan_it();
  // With fewer pairs first fit may need more rounds.
  if (rounds.size() < one.planned.plan.rounds.size()) one.planned.plan.rounds = std::move(rounds);
}

void GatePairs::plan_controls(std::vector<PreparedBenchmark>& all, std::size_t& left) {
  for (PreparedBenchmark& one : all) {
    bench::PlanOptions options = one.options;
    if (bench::collective(*one.benchmark->workload)) {
      options.wanted = [&left](const bench::Pair&) { return left > 0 && left-- > 0; };
      options.excluded = [&](const bench::Pair& hop) {
        return is_busy(hop) || is_in_maintenance(*one.benchmark, hop) || ground_.touches(hop, touched_);
      };
    } else {
      options.pairs = PairSelector(ground_, *one.benchmark, usable_).beside(touched_, left);
      left -= options.pairs->size();
      for (bench::Pair& pair : *options.pairs) pair = bench::data_way(*one.benchmark->workload, pair);
      std::erase_if(*options.pairs, [&](const bench::Pair& pair) {
        return is_busy(pair) || is_in_maintenance(*one.benchmark, pair);
      });
    }
    one.planned = bench::plan_tcp(*one.benchmark, ground_.probes, ground_.links, options);
  }
}

GatePairs::Flags GatePairs::covered(const std::vector<BenchmarkOutcome>& outcomes) {
  using enum bench::Trouble;
  const auto ends = bench::index_of(ground_.probes);
  Flags out(affected_.size(), false);
  for (const BenchmarkOutcome& outcome : outcomes) {
    if (!is_judged(*outcome.benchmark)) continue;
    for (const bench::Measurement& one : outcome.measurements)
      if (one.trouble == none || one.trouble == path || one.trouble == wrong)
        for (const std::uint32_t link : bench::links_crossed(one, ends, ground_.links)) out[link] = true;
  }
  return out;
}

// For each link: the best known outcome of a pair that may cross it.
std::vector<GatePairs::Why> GatePairs::reasons(const std::vector<PreparedBenchmark>& all) {
  std::vector<Why> out(affected_.size(), Why::by_design);
  const bool any_pending = std::find(pending_.begin(), pending_.end(), true) != pending_.end();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Benchmark& benchmark = *all[i].benchmark;
    if (!is_judged(benchmark)) continue;
    const auto note = [&](const bench::Pair& pair, Why why) {
      ground_.each_link(bench::data_way(*benchmark.workload, pair),
                        [&](std::uint32_t link) { out[link] = std::max(out[link], why); });
    };
    const std::set<bench::Pair> now(all[i].planned.pairs.begin(), all[i].planned.pairs.end());
    for (const bench::Pair& pair : selected_[i].cut) note(pair, Why::no_time);
    for (const bench::Pair& pair : selected_[i].pairs)
      note(pair, now.contains(pair)                   ? Why::no_figure
                 : is_in_maintenance(benchmark, pair) ? Why::pending
                 : is_busy(pair) || !any_pending      ? Why::busy
                                                      : Why::pending);
  }
  return out;
}

// Which of the links could be crossed if these endpoints could be measured.
GatePairs::Flags GatePairs::possible(const std::vector<PreparedBenchmark>& all,
                                     const std::vector<std::uint32_t>& links,
                                     const std::vector<bool>& usable) {
  Flags out(affected_.size(), false);
  for (const PreparedBenchmark& one : all) {
    if (!is_judged(*one.benchmark)) continue;
    if (bench::collective(*one.benchmark->workload)) {
      bench::PlanOptions options = one.options;
      options.excluded = [&](const bench::Pair& hop) { return !usable[hop.from] || !usable[hop.to]; };
      for (const bench::Pair& hop :
           bench::plan_tcp(*one.benchmark, ground_.probes, ground_.links, options).pairs)
        ground_.each_link(hop, [&](std::uint32_t link) { out[link] = true; });
      continue;
    }
    PairSelector selector(ground_, *one.benchmark, usable);
    (void)selector.over(links);
    for (const std::uint32_t link : links) out[link] = out[link] || selector.crosses(link);
  }
  return out;
}

// Whether a host's link is affected only because its switch changed, and not the host.
bool GatePairs::only_hangs_on_it(std::uint32_t link) const {
  const auto changed = [&](PortIndex port) {
    const auto& devices = choice_.affected.devices;
    return std::find(devices.begin(), devices.end(), ground_.topology().device_of(port)) != devices.end();
  };
  const TopologyLink& cable = ground_.topology().links[link / 2];
  return !changed(cable.a) && changed(cable.b);
}

std::string GatePairs::uncovered_text(std::uint32_t link, Why why) const {
  std::string name = ground_.links.name(link);
  if (why == Why::no_time) return name + " (the budget leaves no time for it)";
  if (why != Why::busy) return name;
  for (const PortIndex port : {ground_.topology().links[link / 2].a, ground_.topology().links[link / 2].b})
    if (const auto host = busy_hosts_.find(ground_.topology().ports[port].device); host != busy_hosts_.end())
      return name + " (" + ground_.topology().device_of(port) + " runs jobs: " + host->second + ")";
  return name + " (the hosts that could send over it run jobs)";
}

bool GatePairs::ends_in_maintenance(std::uint32_t link) const {
  const TopologyLink& cable = ground_.topology().links[link / 2];
  return choice_.in_maintenance.contains(ground_.topology().ports[cable.a].device) ||
         choice_.in_maintenance.contains(ground_.topology().ports[cable.b].device);
}

// Links that no pair crosses only because of maintenance are not reported as uncovered.
std::vector<std::string> GatePairs::by_design(const std::vector<PreparedBenchmark>& all,
                                              std::vector<std::uint32_t> missing) {
  std::erase_if(missing, [this](std::uint32_t link) { return ends_in_maintenance(link); });
  if (!missing.empty() && !choice_.in_maintenance.empty()) {
    const Flags could_be = possible(all, missing, std::vector<bool>(in_service_.size(), true));
    std::erase_if(missing, [&](std::uint32_t link) { return could_be[link]; });
  }
  std::vector<std::string> out;
  for (const std::uint32_t link : missing) out.push_back(ground_.links.name(link));
  return out;
}

GateCoverage GatePairs::coverage(const std::vector<PreparedBenchmark>& all,
                                 const std::vector<BenchmarkOutcome>& outcomes) {
  GateCoverage out;
  for (const DeviceIndex host : ground_.graph().hosts)
    if (busy_hosts_.contains(host) || choice_.left_out.contains(host))
      out.busy.push_back(ground_.topology().devices[host].name);
  for (const Selected& one : selected_) out.left_out += one.cut.size();
  const Flags crossed = covered(outcomes);
  std::vector<Why> why = reasons(all);
  std::vector<std::uint32_t> missing;  // links for which no pair was selected
  for (const std::uint32_t link : links_of(affected_))
    if (!crossed[link] && why[link] == Why::by_design) missing.push_back(link);
  if (!out.busy.empty() && !missing.empty()) {
    const Flags could_be = possible(all, missing, in_service_);
    for (const std::uint32_t link : missing)
      if (could_be[link]) why[link] = Why::busy;
    std::erase_if(missing, [&](std::uint32_t link) { return could_be[link]; });
  }
  out.by_design = by_design(all, std::move(missing));
  out.judges = std::ranges::any_of(all, [](const auto& one) { return is_judged(*one.benchmark); });
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const bench::Pair& pair : selected_[i].pairs)
      if (is_asked(*all[i].benchmark, pair) && is_pending(*all[i].benchmark, pair))
        out.measured_later = choice_.pending_until;
  bool any_covered = false;
  std::vector<std::string> neighbours;
  for (const std::uint32_t link : links_of(affected_)) {
    any_covered = any_covered || crossed[link];
    if (crossed[link] || why[link] == Why::by_design || why[link] == Why::pending) continue;
    const bool apart = why[link] == Why::busy && only_hangs_on_it(link);
    (apart ? neighbours : out.uncovered).push_back(uncovered_text(link, why[link]));
  }
  if (!any_covered && out.uncovered.empty()) out.uncovered = std::move(neighbours);
  return out;
}

}  // namespace lockstep
