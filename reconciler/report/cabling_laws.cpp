#include "reconciler/report/cabling_laws.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "specs/fabric/topology_cabling.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// What specs may write (specs/language/fabric.cpp).
constexpr std::size_t kPlanesMax = 64;
constexpr std::size_t kParallelMax = 128;

using Number = std::uint32_t;
using Numbers = std::vector<Number>;

// Numbers of names in the order in which people list them, so that numbers compare as names do.
class NumberedNames {
 public:
  explicit NumberedNames(std::vector<std::string> names) : names_(std::move(names)) {
    std::ranges::sort(names_);
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    sort_names(names_);
    for (Number i = 0; i < names_.size(); ++i) numbers_.emplace(names_[i], i);
  }
  Number of(const std::string& name) const { return numbers_.at(name); }
  std::string hostlist(const Numbers& numbers) const {
    std::vector<std::string> names;
    for (const Number one : numbers) names.push_back(names_[one]);
    return fold_hostlist(names);
  }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, Number> numbers_;
};

// Cables that one law may stand for: of ports and devices that are named alike, between the same roles.
struct CableKind {
  std::optional<DeviceRole> from;
  std::optional<DeviceRole> to;
  std::string devices;  // of `from`: names with # for each number
  std::string ports;
  auto operator<=>(const CableKind&) const = default;
  bool climbs() const { return from && (!to || *from < *to); }
};

std::string name_stem(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !out.ends_with('#')) out += digit ? '#' : c;
  }
  return out;
}

// How the cables of one device run, but for the ports at their far ends: `parallel` of its ports to each of
// the far devices in turn.
struct Pattern {
  Numbers ports;
  Numbers far;
  std::size_t parallel = 1;
  auto operator<=>(const Pattern&) const = default;
};
// A device of a pattern. At every far device it has the same ports.
struct Member {
  Numbers far_ports;
  Number device = 0;
  auto operator<=>(const Member&) const = default;
};
// Devices of one pattern, in the order of their far ports.
struct Block {
  Pattern pattern;
  std::vector<Member> members;

  Numbers far_ports() const {
    Numbers out;
    for (const Member& one : members) out.insert(out.end(), one.far_ports.begin(), one.far_ports.end());
    return out;
  }
  Number first_device() const { return std::ranges::min(members, {}, &Member::device).device; }
};

using Cables = std::vector<LaidCable>;

// A law lists the ports to one far device side by side. Rails have the order of the host's ports, a mesh that
// of the far devices.
void order_for_law(Cables& cables, CablingRule by) {
  std::ranges::sort(cables, {}, &LaidCable::a_name);
  std::map<Number, Number> first_port;
  for (const LaidCable& one : cables) first_port.try_emplace(one.b, one.a_name);
  const auto place = [&](const LaidCable& one) {
    return by == CablingRule::rail ? first_port.at(one.b) : one.b;
  };
  std::ranges::stable_sort(cables, {}, place);
}

// None: no law is for a device that is cabled so.
std::optional<std::pair<Pattern, Member>> pattern_of(Cables cables, CablingRule by) {
  order_for_law(cables, by);
  Pattern pattern;
  Member member{{}, cables.front().a};
  for (const LaidCable& one : cables) {
    pattern.ports.push_back(one.a_name);
    if (pattern.far.empty() || pattern.far.back() != one.b) pattern.far.push_back(one.b);
  }
  pattern.parallel = cables.size() / pattern.far.size();
  if (pattern.far.size() < 2 || pattern.parallel > kParallelMax) return std::nullopt;
  for (std::size_t i = 0; i < cables.size(); ++i) {
    if (i < pattern.parallel) member.far_ports.push_back(cables[i].b_name);
    if (i / pattern.parallel >= pattern.far.size() || cables[i].b != pattern.far[i / pattern.parallel] ||
        cables[i].b_name != member.far_ports[i % pattern.parallel])
      return std::nullopt;
  }
  return std::pair(std::move(pattern), std::move(member));
}

// `far` as a law with so many planes lists it: plane by plane, in each the rails.
Numbers by_plane(const Numbers& far, std::size_t planes) {
  Numbers out;
  for (std::size_t plane = 0; plane < planes; ++plane)
    for (std::size_t i = plane; i < far.size(); i += planes) out.push_back(far[i]);
  return out;
}

// Cables don't tell of planes: as many as it takes to list the leaf switches in the order of their names.
std::size_t planes_of(const Numbers& far) {
  for (std::size_t planes = 1; planes <= std::min(kPlanesMax, far.size()); ++planes)
    if (far.size() % planes == 0 && std::ranges::is_sorted(by_plane(far, planes))) return planes;
  return 1;
}

// Blocks that one law stands for: groups of hosts (rail), planes (mesh).
struct Blocks {
  std::vector<const Block*> all;
  CablingRule by = CablingRule::rail;
  std::size_t planes = 1;  // by rail

  bool takes(const Block& next) const {
    const Pattern& first = all.front()->pattern;
    if (next.pattern.ports != first.ports || next.pattern.parallel != first.parallel ||
        next.pattern.far.size() != first.far.size())
      return false;
    const Numbers far_ports = all.front()->far_ports();
    const Numbers of_next = next.far_ports();
    if (by == CablingRule::mesh) return of_next == far_ports && all.size() < kPlanesMax;
    // The last group alone may leave ports of its leaf switches free.
    return planes_of(next.pattern.far) == planes && all.back()->far_ports() == far_ports &&
           of_next.size() <= far_ports.size() &&
           std::equal(of_next.begin(), of_next.end(), far_ports.begin());
  }
  Numbers devices() const {
    Numbers out;
    for (const Block* const block : all)
      for (const Member& one : block->members) out.push_back(one.device);
    return out;
  }
  Numbers far() const {
    Numbers out;
    for (std::size_t plane = 0; plane < planes; ++plane)
      for (const Block* const block : all) {
        const Numbers ordered = by_plane(block->pattern.far, planes);
        const auto rails = static_cast<std::ptrdiff_t>(ordered.size() / planes);
        const auto begin = ordered.begin() + static_cast<std::ptrdiff_t>(plane) * rails;
        out.insert(out.end(), begin, begin + rails);
      }
    return out;
  }
};

// One line of `by: pairs`.
struct Line {
  Numbers devices;
  Numbers ports;
  Numbers far;
  Numbers far_ports;
};

void append(Numbers& to, const Numbers& more) { to.insert(to.end(), more.begin(), more.end()); }

// Lists that no longer rise would be shorter, and nobody could read off which port goes where.
bool rises(const Numbers& list, const Numbers& next) { return list.back() < next.front(); }

// Adds `next`, of the same ports, if it goes on with more ports of the line's far device.
bool goes_on(Line& line, const Line& next) {
  if (line.far.size() > 1 || line.far != next.far || !rises(line.far_ports, next.far_ports)) return false;
  append(line.devices, next.devices);
  append(line.far_ports, next.far_ports);
  return true;
}

// The same, with the same ports of more far devices.
bool widens(Line& line, const Line& next) {
  if (line.far_ports != next.far_ports || !rises(line.far, next.far)) return false;
  append(line.devices, next.devices);
  append(line.far, next.far);
  return true;
}

std::vector<Line> joined_lines(const std::vector<Line>& lines, bool (*join)(Line&, const Line&)) {
  std::vector<Line> out;
  for (const Line& one : lines)
    if (out.empty() || out.back().ports != one.ports || !join(out.back(), one)) out.push_back(one);
  return out;
}

// The lines of one device: ports that go to one far device, or to the same ports of several.
std::vector<Line> lines_of(const Cables& cables) {
  std::vector<Line> runs;
  for (const LaidCable& one : cables) {
    if (!runs.empty() && runs.back().far.front() == one.b && runs.back().far_ports.back() < one.b_name) {
      runs.back().ports.push_back(one.a_name);
      runs.back().far_ports.push_back(one.b_name);
    } else {
      runs.push_back({{one.a}, {one.a_name}, {one.b}, {one.b_name}});
    }
  }
  std::vector<Line> out;
  for (const Line& run : runs) {
    if (out.empty() || out.back().far_ports != run.far_ports) {
      out.push_back(run);
      continue;
    }
    append(out.back().ports, run.ports);
    append(out.back().far, run.far);
  }
  return out;
}

using CablesOfDevices = std::map<Number, Cables>;  // in the order of their ports

class CablingSearch {
 public:
  explicit CablingSearch(const std::vector<ObservedCable>& cables)
      : devices_(names(cables, &CableEnd::device)), ports_(names(cables, &CableEnd::port)) {
    for (const ObservedCable& one : cables)
      kinds_[{one.from.role, one.to.role, name_stem(one.from.device), name_stem(one.from.port)}]
            [devices_.of(one.from.device)]
                .push_back({devices_.of(one.from.device), ports_.of(one.from.port),
                            devices_.of(one.to.device), ports_.of(one.to.port)});
  }

  FoundCabling run() {
    for (auto& [kind, devices] : kinds_) {
      for (auto& [device, cables] : devices) std::ranges::sort(cables, {}, &LaidCable::a_name);
      if (kind.from == DeviceRole::host) count_rails(devices);
      if (kind.climbs())
        find_laws(devices, kind.from == DeviceRole::host ? CablingRule::rail : CablingRule::mesh);
      find_pairs(devices);
    }
    return std::move(out_);
  }

 private:
  static std::vector<std::string> names(const std::vector<ObservedCable>& cables,
                                        std::string CableEnd::*member) {
    std::vector<std::string> out;
    for (const ObservedCable& one : cables) out.insert(out.end(), {one.from.*member, one.to.*member});
    return out;
  }

  void count_rails(const CablesOfDevices& devices) {
    for (const auto& [device, cables] : devices)
      if (std::ranges::any_of(cables, [&](const LaidCable& one) { return one.b != cables.front().b; }))
        out_.of_rails += cables.size();
  }
  void find_laws(CablesOfDevices& devices, CablingRule by);
  void find_pairs(const CablesOfDevices& devices);
  void add_law(const Blocks& blocks, CablesOfDevices& devices);

  std::string text(const Numbers& devices, const Numbers& ports) const {
    return devices_.hostlist(devices) + ":" + ports_.hostlist(ports);
  }

  NumberedNames devices_;
  NumberedNames ports_;
  std::map<CableKind, CablesOfDevices> kinds_;
  FoundCabling out_;
};

// A law with one device is a line of pairs in other words; of the only device of its kind it says what the
// others will be like.
void CablingSearch::find_laws(CablesOfDevices& devices, CablingRule by) {
  std::map<Pattern, std::vector<Member>> members;
  for (const auto& [device, cables] : devices)
    if (auto found = pattern_of(cables, by)) members[found->first].push_back(std::move(found->second));
  std::vector<Block> blocks;
  for (auto& [pattern, of_pattern] : members) {
    std::ranges::sort(of_pattern);
    blocks.push_back({pattern, std::move(of_pattern)});
  }
  std::ranges::sort(blocks, {}, &Block::first_device);
  std::vector<Blocks> laws;
  for (const Block& block : blocks) {
    if (!laws.empty() && laws.back().takes(block))
      laws.back().all.push_back(&block);
    else
      laws.push_back({{&block}, by, by == CablingRule::rail ? planes_of(block.pattern.far) : 1});
  }
  const bool alone = devices.size() == 1;
  for (const Blocks& law : laws)
    if (alone || law.devices().size() > 1) add_law(law, devices);
}

// Lays the law: only one that stands for cables that are there, and for all of its devices, is taken.
void CablingSearch::add_law(const Blocks& blocks, CablesOfDevices& devices) {
  const Pattern& pattern = blocks.all.front()->pattern;
  const bool mesh = blocks.by == CablingRule::mesh;
  Cabling law;
  law.by.value = blocks.by;
  law.planes.value = static_cast<Number>(mesh ? blocks.all.size() : blocks.planes);
  law.parallel.value = static_cast<Number>(pattern.parallel);
  const CablingSide from{blocks.devices(), pattern.ports, {}};
  const CablingSide to{blocks.far(), blocks.all.front()->far_ports(), {}};
  Cables laid;
  Diagnostics wrong;
  lay_cables(law, from, to, laid, wrong);
  const auto key = [](const LaidCable& one) { return std::tie(one.a, one.a_name, one.b, one.b_name); };
  std::size_t observed = 0;
  for (const Number device : from.devices) observed += devices.at(device).size();
  const bool exact = laid.size() == observed && std::ranges::all_of(laid, [&](const LaidCable& one) {
                       return std::ranges::binary_search(devices.at(one.a), key(one), {}, key);
                     });
  if (!wrong.empty() || !exact) return;
  for (const Number device : from.devices) devices.erase(device);
  out_.laws.push_back(
      {blocks.by, {text(from.devices, from.names), text(to.devices, to.names)}, *law.planes, *law.parallel});
}

void CablingSearch::find_pairs(const CablesOfDevices& devices) {
  std::map<Numbers, std::vector<Line>> by_ports;
  for (const auto& [device, cables] : devices)
    for (Line& line : lines_of(cables)) by_ports[line.ports].push_back(std::move(line));
  std::vector<Line> all;
  for (const auto& [ports, lines] : by_ports)
    std::ranges::copy(joined_lines(joined_lines(lines, goes_on), widens), std::back_inserter(all));
  std::ranges::stable_sort(all, {}, [](const Line& one) { return one.devices.front(); });
  for (const Line& one : all)
    out_.pairs.push_back({text(one.devices, one.ports), text(one.far, one.far_ports)});
}

}  // namespace

FoundCabling find_cabling(const std::vector<ObservedCable>& cables) { return CablingSearch(cables).run(); }

}  // namespace lockstep
