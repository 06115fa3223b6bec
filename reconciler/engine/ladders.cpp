#include "reconciler/engine/ladders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "reconciler/engine/names.hpp"
#include "specs/model/mtu_lock.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kClass = "interface[*]/class[*]";

bool replaces(const AtomChange& change) {
  return lockstep::replaces(names_of(change.was), names_of(change.want));
}

bool is_of_class(const Row& row) { return row.pattern == kClass || row.is_part_of(kClass); }

// The classes of all ports, before and after.
class PortClasses {
 public:
  PortClasses(const Observation* seen, const std::vector<AtomChange>& changes, const Columns& columns)
      : seen_(seen), rows_(columns.priority_rows()) {
    for (const AtomChange& change : changes) {
      const RowId row = change.path.row();
      if (!change.transient && (row == rows_.pfc || row == rows_.class_priority))
        changed_.try_emplace(change.path, change.was, Value{}).first->second.second = change.want;
    }
  }
  bool is_lossless(Path path) const {
    if (!rows_.pfc || !rows_.class_priority) return false;
    const std::pair key{path.key_id(0), path.key_id(1)};
    const auto [found, is_new] = known_.try_emplace(key, false);
    if (is_new) {
      const Path pfc(*rows_.pfc, {path.key(0)});
      const Path priority(*rows_.class_priority, {path.key(0), path.key(1)});
      found->second = is_unread(pfc) || is_unread(priority) ||
                      are_lossless(names_of(had(priority)), names_of(had(pfc))) ||
                      are_lossless(names_of(wanted(priority)), names_of(wanted(pfc)));
    }
    return found->second;
  }

  // The priorities that a buffer or a class belongs to; none: not known.
  Names priorities_of(Path path) const {
    if (path.key_count() < 2) return {};
    if (path.row() == rows_.buffer_size || path.row() == rows_.buffer_xoff) return {path.key(1)};
    if (!rows_.class_priority) return {};
    const Path priority(*rows_.class_priority, {path.key(0), path.key(1)});
    Names out = names_of(had(priority));
    out.merge(names_of(wanted(priority)));
    return out;
  }

 private:
  Value had(Path path) const {
    const auto found = changed_.find(path);
    if (found != changed_.end()) return found->second.first;
    return seen_ != nullptr ? seen_->have.value(path) : Value{};
  }
  Value wanted(Path path) const {
    const auto found = changed_.find(path);
    return found != changed_.end() ? found->second.second : had(path);
  }

  bool is_unread(Path path) const { return seen_ != nullptr && lockstep::is_unread(seen_->unread, path); }

  const Observation* seen_;
  const Columns::PriorityRows& rows_;
  std::map<Path, std::pair<Value, Value>> changed_;  // before and after, whatever is between
  mutable std::map<std::pair<TextId, TextId>, bool> known_;
};

struct Climber {
  std::uint32_t change = 0;
  std::uint8_t place = 0;
  bool climbs = false;
  bool descends = false;
  bool removes = false;  // AtomChange::half is `removes`
  Names priorities;      // none: any
};

bool share_a_priority(const Climber& a, const Climber& b) {
  return a.priorities.empty() || b.priorities.empty() || meet(a.priorities, b.priorities);
}

void order_ladder(Ladder ladder, const std::vector<Climber>& all, std::vector<LadderEdge>& out) {
  for (const Climber& low : all)
    for (const Climber& high : all) {
      if (ladder == Ladder::buffer) {
        // Changes that release buffer come before those that take it, except those that must stay for now.
        if (low.removes) continue;
        if (low.descends && high.climbs) out.push_back({ladder, low.change, high.change});
        continue;
      }
      if (low.place >= high.place || !share_a_priority(low, high)) continue;
      // A replacement counts as climbing: descending, it would wait for changes that wait for it.
      if (low.climbs && high.climbs)
        out.push_back({ladder, low.change, high.change});
      else if (low.descends && high.descends && !low.climbs)
        out.push_back({ladder, high.change, low.change});
    }
}

// The priorities that a change affects on a ladder; none: any.
Names concerned(Ladder ladder, const AtomChange& change, const PortClasses& classes, const Columns& columns) {
  if (ladder != Ladder::threshold && ladder != Ladder::lossless) return {};
  if (change.path.row() != columns.priority_rows().pfc) return classes.priorities_of(change.path);
  const Names was = names_of(change.was);
  const Names want = names_of(change.want);
  Names out;
  std::ranges::set_symmetric_difference(was, want, std::inserter(out, out.end()));
  return out;
}

std::vector<LadderEdge> edges_at_ports(const PortClasses& classes, const std::vector<AtomChange>& changes,
                                       const Columns& columns) {
  std::map<std::pair<TextId, Ladder>, std::vector<Climber>> ladders;
  for (std::uint32_t i = 0; i < changes.size(); ++i) {
    const AtomChange& change = changes[i];
    if (change.path.key_count() == 0) continue;
    for (const Rung& rung : columns.row(change.path.row()).rungs) {
      if (rung.place == 0 || (rung.ladder == Ladder::lossless && change.lossy)) continue;
      const Way way = way_of(change, rung);
      ladders[{change.path.key_id(0), rung.ladder}].push_back(
          {i, rung.place, way == Way::climbs, way == Way::descends || replaces(change),
           change.half == Half::removes, concerned(rung.ladder, change, classes, columns)});
    }
  }
  std::vector<LadderEdge> out;
  for (const auto& [where, all] : ladders) order_ladder(where.second, all, out);
  return out;
}

// Changes that remove a lossless priority or class at a port that gets another one in the same write.
std::vector<std::uint32_t> replacements(const std::vector<AtomChange>& changes, const Columns& columns) {
  std::set<std::pair<TextId, Half>> gains;  // ports
  const auto where = [](const AtomChange& change) { return std::pair{change.path.key_id(0), change.half}; };
  std::vector<std::uint32_t> losses;
  for (std::uint32_t i = 0; i < changes.size(); ++i) {
    const AtomChange& change = changes[i];
    if (change.lossy) continue;
    for (const Rung& rung : columns.row(change.path.row()).rungs) {
      if (rung.ladder != Ladder::lossless || !rung.crosses()) continue;
      const Way way = way_of(change, rung);
      if (way == Way::climbs) gains.insert(where(change));
      if (way == Way::descends || replaces(change)) losses.push_back(i);
    }
  }
  std::erase_if(losses, [&](std::uint32_t i) { return !gains.contains(where(changes[i])); });
  return losses;
}

// The place of a node on its ladder. Where senders switch, or one thing replaces another, everything that
// climbs comes before everything that descends.
constexpr int kTop = 16;
std::pair<int, int> place_of(const Stage& one, bool turns) {
  if (one.way != Way::descends) return {0, one.stage};
  return {turns ? 0 : 1, 2 * kTop - one.stage};
}

// Raising or removing a limit climbs, lowering it descends.
Way way_of_limit(const AtomChange& change) {
  return mtu_limit(change.want) < mtu_limit(change.was) ? Way::descends : Way::climbs;
}

}  // namespace

Way way_of(const AtomChange& change, const Rung& rung) {
  if (change.transient) return Way::none;
  if (rung.by == Moves::limit) return way_of_limit(change);
  if (!change.want) return Way::descends;
  if (!change.was) return Way::climbs;
  if (rung.by == Moves::turning) return Way::turns;
  if (rung.by == Moves::presence) return Way::none;
  if (rung.by == Moves::ecn_field) {
    if (change.was.kind() != Value::Kind::integer || change.want.kind() != Value::Kind::integer)
      return Way::climbs;
    constexpr std::int64_t kEcn = 3;  // RFC 3168: the lowest two bits of the ToS byte; 0: not ECT
    const bool was = (change.was.as_integer() & kEcn) != 0;
    const bool is = (change.want.as_integer() & kEcn) != 0;
    return was == is ? Way::none : is ? Way::climbs : Way::descends;
  }
  if (change.want.kind() == Value::Kind::integer)
    return change.want.as_integer() > change.was.as_integer() ? Way::climbs : Way::descends;
  if (change.want.kind() != Value::Kind::list) return Way::climbs;
  return includes(names_of(change.was), names_of(change.want)) ? Way::descends : Way::climbs;
}

std::string_view name_of(Ladder ladder) {
  switch (ladder) {
    case Ladder::none: break;
    case Ladder::mtu: return "the MTU";
    case Ladder::lossless: return "lossless priorities and classes";
    case Ladder::ecn: return "ECN";
    case Ladder::threshold: return "thresholds";
    case Ladder::buffer: return "buffers";
  }
  return "nothing";
}

PortOrder order_at_ports(const Observation* seen, std::vector<AtomChange>& changes, const Columns& columns) {
  const PortClasses classes(seen, changes, columns);
  for (AtomChange& change : changes)
    change.lossy = is_of_class(columns.row(change.path.row())) && !classes.is_lossless(change.path);
  return {edges_at_ports(classes, changes, columns), replacements(changes, columns)};
}

std::vector<Stage> stages_of(const Atom& atom, PortSide side, const Columns& columns) {
  std::vector<Stage> out;
  for (const AtomChange& change : atom.changes) {
    const Row& row = columns.row(change.path.row());
    for (const Rung& rung : row.rungs) {
      const std::uint8_t stage = side == PortSide::host      ? rung.host
                                 : side == PortSide::to_host ? rung.to_host
                                                             : rung.to_switch;
      const Way way = way_of(change, rung);
      if (stage == 0 || way == Way::none) continue;
      if (rung.ladder == Ladder::lossless && change.lossy) continue;
      // The class of CNPs is not a lossless one.
      if (rung.ladder == Ladder::ecn && is_of_class(row) && row.type == EntryType::present && !change.lossy)
        continue;
      const Stage one{rung.ladder, way, stage, rung.crosses(), atom.half != Half::none};
      const auto known = std::ranges::find(out, rung.ladder, &Stage::ladder);
      // Additions must be accepted first, whatever is removed with them.
      if (known == out.end())
        out.push_back(one);
      else if (way == Way::climbs || (way == Way::turns && known->way == Way::descends))
        *known = one;
    }
  }
  return out;
}

std::vector<LadderOrder> order_of_stages(const std::vector<StagedNode>& nodes) {
  std::map<Ladder, std::vector<const StagedNode*>> ladders;
  for (const StagedNode& one : nodes) ladders[one.at.ladder].push_back(&one);
  std::vector<LadderOrder> out;
  for (const auto& [ladder, all] : ladders) {
    const bool turns = ladder == Ladder::lossless && std::ranges::any_of(all, [](const StagedNode* one) {
                         return one->at.way == Way::turns || one->at.of_half;
                       });
    std::map<std::pair<int, int>, std::vector<std::uint32_t>> places;
    std::map<bool, std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>>> across;
    for (const StagedNode* const one : all) {
      places[place_of(one->at, turns)].push_back(one->node);
      if (!one->at.crosses) continue;
      auto& [hosts, switches] = across[one->at.way == Way::descends];
      (one->is_host ? hosts : switches).push_back(one->node);
    }
    LadderOrder order{.ladder = ladder, .barriers = {}, .across = {}};
    for (auto at = places.begin(); at != places.end(); ++at)
      if (const auto next = std::next(at); next != places.end() && next->first.first == at->first.first)
        order.barriers.push_back({at->second, next->second});
    for (const auto& [descends, sides] : across) {
      if (sides.first.empty() || sides.second.empty()) continue;
      for (const auto* side : {&sides.first, &sides.second})
        order.across.insert(order.across.end(), side->begin(), side->end());
    }
    out.push_back(std::move(order));
  }
  return out;
}

}  // namespace lockstep
