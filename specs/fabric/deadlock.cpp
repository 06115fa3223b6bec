#include "specs/fabric/deadlock.hpp"

#include <algorithm>
#include <bit>

namespace lockstep {
namespace {

using Word = std::uint64_t;
constexpr std::uint32_t kWordBits = 64;

// Sets of switches as bit rows; all of a graph's sets have one length.
struct BitRows {
  std::size_t words = 0;
  std::vector<Word> bits;
  BitRows(std::size_t rows, std::size_t columns)
      : words((columns + kWordBits - 1) / kWordBits), bits(rows * words) {}
  Word* row(std::size_t index) { return bits.data() + index * words; }
  const Word* row(std::size_t index) const { return bits.data() + index * words; }
  void set(std::size_t index, std::uint32_t column) {
    row(index)[column / kWordBits] |= Word{1} << (column % kWordBits);
  }
};

template <class F>
void each_bit(const Word* words, std::size_t count, F&& visit) {
  for (std::size_t i = 0; i < count; ++i)
    for (Word left = words[i]; left != 0; left &= left - 1)
      visit(static_cast<std::uint32_t>(i * kWordBits) + static_cast<std::uint32_t>(std::countr_zero(left)));
}

// The switches of a fabric, and for each channel v->w (a neighbour w of v) the neighbours u whose packets use
// it.
class ChannelGraph {
 public:
  ChannelGraph(const Topology& topology, FabricIndex fabric) : topology_(topology) {
    const FabricGraph& graph = topology.fabrics[fabric];
    for (const auto* tier : {&graph.leaves, &graph.spines, &graph.superspines})
      switches_.insert(switches_.end(), tier->begin(), tier->end());
    leaves_ = static_cast<std::uint32_t>(graph.leaves.size());
    std::vector<std::uint32_t> place(topology.devices.size(), kNone);
    for (std::uint32_t i = 0; i < switches_.size(); ++i) place[switches_[i]] = i;
    adjacent_ = BitRows(switches_.size(), switches_.size());
    for (const LinkIndex index : graph.links) {
      const std::uint32_t a = place[topology.ports[topology.links[index].a].device];
      const std::uint32_t b = place[topology.ports[topology.links[index].b].device];
      if (a == kNone || b == kNone || a == b) continue;
      adjacent_.set(a, b);
      adjacent_.set(b, a);
    }
    number_channels();
  }

  std::size_t channels() const { return to_.size(); }

  // Adds the dependencies of the shortest paths to each leaf.
  void route(std::array<bool, 4> one_asn) {
    for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf) route_to(leaf);
    BitRows tiers(one_asn.size(), switches_.size());
    for (std::uint32_t v = 0; v < switches_.size(); ++v) tiers.set(tier(v), v);
    for (std::uint32_t c = 0; c < to_.size(); ++c) {
      if (!one_asn[tier(to_[c])]) continue;
      const Word* same = tiers.row(tier(to_[c]));
      for (std::size_t i = 0; i < tiers.words; ++i) comes_from_.row(c)[i] &= ~same[i];
    }
  }

  // Whether any path turns from down (or level) to up (or level). Without such a turn there is no cycle.
  bool turns_upward() const {
    for (std::uint32_t v = 0; v < switches_.size(); ++v)
      for (std::uint32_t c = first_[v]; c < first_[v + 1]; ++c) {
        if (tier(to_[c]) < tier(v)) continue;
        bool turns = false;
        each_bit(comes_from_.row(c), comes_from_.words,
                 [&](std::uint32_t u) { turns = turns || tier(u) >= tier(v); });
        if (turns) return true;
      }
    return false;
  }

  Dependencies dependencies() const {
    Dependencies out;
    out.first.assign(channels() + 1, 0);
    const auto each = [&](auto&& visit) {
      for (std::uint32_t v = 0; v < switches_.size(); ++v)
        for (std::uint32_t c = first_[v]; c < first_[v + 1]; ++c)
          each_bit(comes_from_.row(c), comes_from_.words, [&](std::uint32_t u) { visit(channel(u, v), c); });
    };
    each([&](std::uint32_t from, std::uint32_t) { ++out.first[from + 1]; });
    for (std::size_t i = 1; i < out.first.size(); ++i) out.first[i] += out.first[i - 1];
    out.next.resize(out.first.back());
    std::vector<std::uint32_t> place(out.first.begin(), out.first.end() - 1);
    each([&](std::uint32_t from, std::uint32_t to) { out.next[place[from]++] = to; });
    return out;
  }

  // The switch at which a channel starts.
  DeviceIndex start(std::uint32_t channel) const {
    const auto at = std::upper_bound(first_.begin(), first_.end(), channel);
    return switches_[static_cast<std::size_t>(at - first_.begin()) - 1];
  }

 private:
  unsigned tier(std::uint32_t place) const { return topology_.devices[switches_[place]].tier(); }

  void number_channels() {
    first_.assign(1, 0);
    for (std::uint32_t v = 0; v < switches_.size(); ++v) {
      each_bit(adjacent_.row(v), adjacent_.words, [&](std::uint32_t w) { to_.push_back(w); });
      first_.push_back(static_cast<std::uint32_t>(to_.size()));
    }
    comes_from_ = BitRows(to_.size(), switches_.size());
  }

  std::uint32_t channel(std::uint32_t v, std::uint32_t w) const {
    const auto begin = to_.begin() + first_[v];
    return static_cast<std::uint32_t>(std::lower_bound(begin, to_.begin() + first_[v + 1], w) - to_.begin());
  }

  // Breadth first from the leaf, level by level; then each switch's next hops are its neighbours one level
  // closer, and its traffic arrives from those one level further away.
  void route_to(std::uint32_t leaf) {
    const std::size_t words = adjacent_.words;
    levels_.assign(1, std::vector<Word>(words));
    levels_[0][leaf / kWordBits] |= Word{1} << (leaf % kWordBits);
    std::vector<Word> seen = levels_[0];
    while (true) {
      std::vector<Word> next(words);
      each_bit(levels_.back().data(), words, [&](std::uint32_t v) {
        for (std::size_t i = 0; i < words; ++i) next[i] |= adjacent_.row(v)[i];
      });
      Word any = 0;
      for (std::size_t i = 0; i < words; ++i) any |= next[i] &= ~seen[i];
      if (any == 0) break;
      for (std::size_t i = 0; i < words; ++i) seen[i] |= next[i];
      levels_.push_back(std::move(next));
    }
    std::vector<Word> from(words);
    for (std::size_t level = 1; level + 1 < levels_.size(); ++level)
      each_bit(levels_[level].data(), words, [&](std::uint32_t v) {
        Word any = 0;
        for (std::size_t i = 0; i < words; ++i) any |= from[i] = adjacent_.row(v)[i] & levels_[level + 1][i];
        if (any == 0) return;
        for (std::uint32_t c = first_[v]; c < first_[v + 1]; ++c) {
          const std::uint32_t w = to_[c];
          if ((levels_[level - 1][w / kWordBits] >> (w % kWordBits) & 1) == 0) continue;
          for (std::size_t i = 0; i < words; ++i) comes_from_.row(c)[i] |= from[i];
        }
      });
  }

  const Topology& topology_;
  std::vector<DeviceIndex> switches_;  // leaves first
  std::uint32_t leaves_ = 0;
  BitRows adjacent_{0, 0};
  std::vector<std::uint32_t> first_;  // channels by switch
  std::vector<std::uint32_t> to_;     // by channel
  BitRows comes_from_{0, 0};          // by channel
  std::vector<std::vector<Word>> levels_;
};

}  // namespace

std::vector<std::uint32_t> find_cycle(const Dependencies& dependencies) {
  const std::size_t count = dependencies.channels();
  std::vector<std::uint32_t> waiting(count);
  for (const std::uint32_t next : dependencies.next) ++waiting[next];
  std::vector<std::uint32_t> done;
  done.reserve(count);
  for (std::uint32_t c = 0; c < count; ++c)
    if (waiting[c] == 0) done.push_back(c);
  for (std::size_t i = 0; i < done.size(); ++i)
    for (std::uint32_t e = dependencies.first[done[i]]; e < dependencies.first[done[i] + 1]; ++e)
      if (--waiting[dependencies.next[e]] == 0) done.push_back(dependencies.next[e]);
  if (done.size() == count) return {};
  // Every remaining channel is waited for by another remaining one, so walking back must reach a cycle.
  std::vector<std::uint32_t> behind(count, kNone);
  std::uint32_t at = kNone;
  for (std::uint32_t c = 0; c < count; ++c) {
    if (waiting[c] == 0) continue;
    at = c;
    for (std::uint32_t e = dependencies.first[c]; e < dependencies.first[c + 1]; ++e)
      if (waiting[dependencies.next[e]] != 0) behind[dependencies.next[e]] = c;
  }
  std::vector<char> visited(count);
  for (; visited[at] == 0; at = behind[at]) visited[at] = 1;
  std::vector<std::uint32_t> cycle;
  for (std::uint32_t c = at; cycle.empty() || c != at; c = behind[c]) cycle.push_back(c);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

BufferCycle find_buffer_cycle(const Topology& topology, FabricIndex fabric, std::array<bool, 4> one_asn) {
  ChannelGraph graph(topology, fabric);
  graph.route(one_asn);
  BufferCycle out;
  out.channels = graph.channels();
  if (!graph.turns_upward()) {
    out.by_tiers = true;
    return out;
  }
  for (const std::uint32_t channel : find_cycle(graph.dependencies()))
    out.devices.push_back(graph.start(channel));
  return out;
}

}  // namespace lockstep
