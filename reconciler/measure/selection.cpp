#include "reconciler/measure/selection.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::size_t kNoEnd = ~std::size_t{0};

std::uint64_t key_of_pair(const bench::Pair& way) {
  return (static_cast<std::uint64_t>(way.from) << 32U) | static_cast<std::uint64_t>(way.to);
}

}  // namespace

PairSelector::PairSelector(Ground& ground, const Benchmark& benchmark, std::vector<bool> usable,
                           std::size_t few)
    : ground_(ground),
      benchmark_(benchmark),
      way_(benchmark.pairs->way),
      usable_(std::move(usable)),
      few_(few),
      crossing_(ground.topology().links.size() * 2, 0) {
  const bool named = way_ == PairChoice::Way::ring || way_ == PairChoice::Way::sample;
  if (named || usable_.size() <= few_)
    list_pairs();
  else
    group_by_leaf();
}

void PairSelector::list_pairs() {
  std::vector<bench::Endpoint> names;
  for (const bench::ProbeEndpoint& probe : ground_.probes) names.push_back(probe.endpoint);
  listed_.emplace();
  for (const bench::Pair& pair : bench::select_pairs(names, *benchmark_.pairs)) {
    ++looked_at_;
    if (usable_[pair.from] && usable_[pair.to])
      listed_->push_back(bench::data_way(*benchmark_.workload, pair));
  }
}

std::uint32_t PairSelector::key_of(std::size_t end) const {
  return way_ == PairChoice::Way::same_rail ? ground_.graph().endpoints[end].rail : 0;
}

void PairSelector::group_by_leaf() {
  const std::vector<Endpoint>& ends = ground_.graph().endpoints;
  leaves_.resize(ground_.paths().leaf_count());
  place_.assign(ends.size(), 0);
  end_of_.assign(ground_.topology().links.size(), kNoEnd);
  for (std::size_t end = 0; end < ends.size(); ++end) {
    end_of_[ends[end].link] = end;
    if (!usable_[end]) continue;
    std::vector<Members>& leaf = leaves_[ground_.paths().leaf_number(ends[end].leaf)];
    const std::uint32_t key = key_of(end);
    auto at = std::find_if(leaf.begin(), leaf.end(), [key](const Members& one) { return one.key == key; });
    if (at == leaf.end()) at = leaf.insert(at, Members{.key = key, .ends = {}});
    place_[end] = at->ends.size();
    at->ends.push_back(end);
  }
}

PairSelector::Members* PairSelector::members(std::uint32_t leaf, std::uint32_t key) {
  for (Members& one : leaves_[leaf])
    if (one.key == key) return &one;
  return nullptr;
}

bool PairSelector::may_pair(std::size_t from, std::size_t to) const {
  const std::vector<Endpoint>& ends = ground_.graph().endpoints;
  return ends[from].device != ends[to].device && !taken_.contains(key_of_pair({from, to}));
}

void PairSelector::take(const bench::Pair& way) {
  taken_.insert(key_of_pair(way));
  ground_.each_link(way, [&](std::uint32_t link) { ++crossing_[link]; });
}

std::optional<std::vector<bench::Pair>> PairSelector::all_over(const std::vector<bool>& flagged) {
  if (!listed_) return std::nullopt;
  std::vector<bench::Pair> out;
  for (const bench::Pair& way : *listed_)
    if (ground_.touches(way, flagged)) out.push_back(way);
  return out;
}

std::vector<bench::Pair> PairSelector::over(std::span<const std::uint32_t> links) {
  if (listed_) {
    std::vector<bool> wanted(crossing_.size(), false);
    for (const std::uint32_t link : links) wanted[link] = true;
    listed_over_.clear();
    for (auto way = listed_->rbegin(); way != listed_->rend(); ++way)
      ground_.each_link(*way, [&](std::uint32_t link) {
        if (wanted[link]) listed_over_[link].push_back(*way);
      });
  }
  std::vector<bench::Pair> out;
  std::vector<bool> no_more(links.size(), false);
  for (std::size_t turn = 0; turn < kPairsEach; ++turn)
    for (std::size_t i = 0; i < links.size(); ++i)
      while (!no_more[i] && crossing_[links[i]] <= turn) {
        const Found found = another(links[i], turn);
        no_more[i] = !found;
        if (!found) break;
        take(*found);
        out.push_back(*found);
      }
  return out;
}

PairSelector::Found PairSelector::another(std::uint32_t link, std::size_t turn) {
  if (listed_) return from_list(link);
  const std::size_t end = end_of_[link / 2];
  if (end == kNoEnd) return through(link, turn);
  const bool sends = directed(ground_.topology(), ground_.graph().endpoints[end].port) == link;
  return usable_[end] ? with(end, sends, turn) : std::nullopt;
}

PairSelector::Found PairSelector::from_list(std::uint32_t link) {
  std::vector<bench::Pair>& left = listed_over_[link];
  while (!left.empty()) {
    ++looked_at_;
    const bench::Pair way = left.back();
    left.pop_back();
    if (!taken_.contains(key_of_pair(way))) return way;
  }
  return std::nullopt;
}

// In the first turn with an endpoint of another leaf (each endpoint of a leaf with a different one), then
// with neighbours on the same leaf: these use no fabric capacity, so that all of a leaf's can run at once.
PairSelector::Found PairSelector::with(std::size_t end, bool sends, std::size_t turn) {
  FabricPaths& paths = ground_.paths();
  const std::uint32_t own = paths.leaf_number(ground_.graph().endpoints[end].leaf);
  const std::uint32_t others = paths.leaf_count() - 1;
  const bool stays = way_ != PairChoice::Way::cross_leaf;
  if (stays && turn > 0)
    if (const Found found = with_one_of(end, sends, own)) return found;
  const std::size_t first = place_[end] + turn * (others / kPairsEach);
  for (std::uint32_t i = 0; i < others; ++i) {
    const auto away = static_cast<std::uint32_t>((first + i) % others) + 1;
    const std::uint32_t leaf = (own + (sends ? away : others + 1 - away)) % (others + 1);
    ++looked_at_;
    if (sends ? !paths.has_path(own, leaf) : !paths.has_path(leaf, own)) continue;
    if (const Found found = with_one_of(end, sends, leaf)) return found;
  }
  return stays && turn == 0 ? with_one_of(end, sends, own) : std::nullopt;
}

PairSelector::Found PairSelector::with_one_of(std::size_t end, bool sends, std::uint32_t leaf) {
  Members* const there = members(leaf, key_of(end));
  if (there == nullptr) return std::nullopt;
  std::size_t& next = sends ? there->next_receiver : there->next_sender;
  for (std::size_t i = 0; i < there->ends.size(); ++i) {
    ++looked_at_;
    const std::size_t place = (next + i) % there->ends.size();
    const std::size_t other = there->ends[place];
    const bench::Pair way = sends ? bench::Pair{end, other} : bench::Pair{other, end};
    if (!may_pair(way.from, way.to)) continue;
    next = place + 1;
    return way;
  }
  return std::nullopt;
}

PairSelector::Found PairSelector::between(std::uint32_t from_leaf, std::uint32_t to_leaf) {
  for (Members& here : leaves_[from_leaf]) {
    if (members(to_leaf, here.key) == nullptr) continue;
    for (std::size_t i = 0; i < here.ends.size(); ++i) {
      const std::size_t place = (here.next_sender + i) % here.ends.size();
      const Found found = with_one_of(here.ends[place], true, to_leaf);
      if (!found) continue;
      here.next_sender = place + 1;
      return found;
    }
  }
  return std::nullopt;
}

// For links between switches. Each leaf sends to the next one, so that a pair found for an uplink also covers
// a downlink.
PairSelector::Found PairSelector::through(std::uint32_t link, std::size_t turn) {
  const Topology& topology = ground_.topology();
  FabricPaths& paths = ground_.paths();
  const PortIndex port = sending_port(topology, link);
  const DeviceIndex device = topology.ports[port].device;
  const std::uint32_t from = paths.leaf_number(device);
  const std::uint32_t to = paths.leaf_number(topology.ports[receiving_port(topology, link)].device);
  const std::uint32_t count = paths.leaf_count();
  const std::size_t shift = turn * (count / kPairsEach);
  Found found;
  const auto from_source = [&](std::uint32_t leaf, std::size_t first) {
    ++looked_at_;
    if (!paths.leads(port, leaf)) return false;
    if (from != kNone) return (found = between(from, leaf)).has_value();
    return paths.for_sources(device, leaf, first, [&](std::uint32_t source) {
      ++looked_at_;
      return (found = between(source, leaf)).has_value();
    });
  };
  // Traffic sent down to a leaf is destined for that leaf.
  if (to != kNone) {
    from_source(to, port - topology.devices[device].first_port + shift);
    return found;
  }
  const std::size_t first = (from != kNone ? from + 1 : link) + shift;
  for (std::uint32_t i = 0; i < count; ++i)
    if (from_source(static_cast<std::uint32_t>((first + i) % count), first + i)) break;
  return found;
}

// Whether traffic from `device` to that leaf may cross a flagged link.
bool PairSelector::is_flagged(DeviceIndex device, std::uint32_t leaf, const std::vector<bool>& flagged) {
  const Topology& topology = ground_.topology();
  if (device == ground_.paths().leaf(leaf)) return false;
  const std::uint64_t key = (std::uint64_t{device} << 32U) | leaf;
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const std::vector<PortIndex>* const ports = ground_.paths().towards(device, leaf);
  const bool is = ports == nullptr || std::any_of(ports->begin(), ports->end(), [&](PortIndex port) {
                    return flagged[directed(topology, port)] ||
                           is_flagged(topology.ports[topology.peer(port)].device, leaf, flagged);
                  });
  known_.emplace(key, is);
  return is;
}

std::vector<bench::Pair> PairSelector::beside(const std::vector<bool>& flagged, std::size_t count) {
  std::vector<bench::Pair> out;
  if (listed_) {
    for (const bench::Pair& way : *listed_)
      if (out.size() < count && ground_.each_link(way, [](std::uint32_t) {}) &&
          !ground_.touches(way, flagged))
        out.push_back(way);
    return out;
  }
  std::vector<bool> usable = usable_;
  const std::vector<Endpoint>& ends = ground_.graph().endpoints;
  for (std::size_t end = 0; end < ends.size(); ++end)
    if (const std::size_t link = ends[end].link; flagged[2 * link] || flagged[2 * link + 1])
      usable[end] = false;
  PairSelector clean(ground_, benchmark_, std::move(usable), few_);
  const std::uint32_t leaves = ground_.paths().leaf_count();
  // One per leaf and round: first within the leaf, then to others.
  for (std::size_t before = ~out.size(); before != out.size();) {
    before = out.size();
    for (std::uint32_t away = way_ == PairChoice::Way::cross_leaf ? 1 : 0; away < leaves; ++away)
      for (std::uint32_t from = 0; from < leaves && out.size() < count; ++from) {
        const std::uint32_t to = (from + away) % leaves;
        ++looked_at_;
        if (!ground_.paths().has_path(from, to) || clean.is_flagged(ground_.paths().leaf(from), to, flagged))
          continue;
        if (const Found found = clean.between(from, to)) {
          clean.take(*found);
          out.push_back(*found);
        }
      }
  }
  return out;
}

}  // namespace lockstep
