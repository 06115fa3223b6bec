#include "reconciler/engine/replacements.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "reconciler/engine/names.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kOfPercent = 10;  // per mille

struct Class {
  Names dscp;
  Names priority;
  std::optional<std::int64_t> share;
  bool is_there = false;
};
using Members = Names Class::*;

// The settings of a port that a replacement concerns.
struct Port {
  Names pfc;
  std::map<std::string_view, Class> classes;  // by number

  const Class* find(std::string_view number) const {
    const auto found = classes.find(number);
    return found == classes.end() || !found->second.is_there ? nullptr : &found->second;
  }
  bool is_lossless(std::string_view number) const {
    const Class* const one = find(number);
    return one != nullptr && are_lossless(one->priority, pfc);
  }
};

// The class of each DSCP or priority; none: one of them is in two.
using Places = std::map<std::string_view, std::string_view>;
std::optional<Places> places_of(const Port& port, Members members) {
  Places out;
  for (const auto& [number, one] : port.classes)
    for (const std::string_view member : one.*members)
      if (one.is_there && !out.emplace(member, number).second) return std::nullopt;
  return out;
}

std::string_view class_of(const Places& places, std::string_view member) {
  const auto found = places.find(member);
  return found == places.end() ? std::string_view() : found->second;
}

// A port between the two halves.
class Between {
 public:
  Between(const Port& before, const Port& after)
      : before_(before),
        after_(after),
        comes_(!includes(before.pfc, after.pfc)),
        goes_(!includes(after.pfc, before.pfc)) {
    port_.pfc = before.pfc;
    port_.pfc.insert(after.pfc.begin(), after.pfc.end());
    place(&Class::dscp, "DSCP");
    place(&Class::priority, "priority");
    if (!replaces()) return;
    place_classes();
    share_out();
    prove(&Class::dscp);
    prove(&Class::priority);
  }

  bool replaces() const { return comes_ && goes_; }
  const Port& port() const { return port_; }
  const std::string& why_not() const { return why_not_; }  // empty: this intermediate state is possible

 private:
  void fail(std::string why) {
    if (why_not_.empty()) why_not_ = std::move(why);
  }

  // What is removed stays where it is for now, and so does what leaves a class that is gone in the end;
  // everything else moves to its final place.
  void place(Members members, std::string_view what) {
    const auto from = places_of(before_, members);
    const auto to = places_of(after_, members);
    if (!from || !to) return fail(fmt::format("a {} is in two classes", what));
    Places all = *from;
    all.insert(to->begin(), to->end());
    for (const auto& [member, any] : all) {
      const std::string_view was = class_of(*from, member);
      const std::string_view is = class_of(*to, member);
      const bool comes = after_.is_lossless(is);
      const bool goes = before_.is_lossless(was);
      if (comes && goes && was != is)
        fail(fmt::format("{} {} moves from class {} to class {}, and both are lossless", what, member, was,
                         is));
      comes_ = comes_ || (comes && !goes);
      goes_ = goes_ || (goes && !comes);
      const bool waits = !comes && (goes || (!was.empty() && after_.find(was) == nullptr));
      if (const std::string_view at = waits ? was : is; !at.empty())
        (port_.classes[at].*members).insert(member);
    }
  }

  void place_classes() {
    std::set<std::string_view> numbers;
    for (const Port* const one : {&before_, &after_})
      for (const auto& [number, its] : one->classes) numbers.insert(number);
    for (const std::string_view number : numbers) {
      const Class* const was = before_.find(number);
      const Class* const is = after_.find(number);
      Class& now = port_.classes[number];
      now.is_there = is != nullptr || !now.dscp.empty() || !now.priority.empty();
      const bool has_priorities =
          (was != nullptr && !was->priority.empty()) || (is != nullptr && !is->priority.empty());
      if (now.is_there && now.priority.empty() && has_priorities)
        fail(fmt::format("class {} would be without a priority meanwhile", number));
      if (before_.is_lossless(number) && after_.is_lossless(number) &&
          lockstep::replaces(was->priority, is->priority))
        fail(fmt::format("class {} stays lossless and gets another priority", number));
    }
  }

  // Classes that stay keep their shares; those that are removed divide theirs with those that are added.
  void share_out() {
    std::int64_t pool = 0;
    std::vector<Class*> sharing;
    bool is_asked = false;
    for (auto& [number, now] : port_.classes) {
      const Class* const was = before_.find(number);
      const Class* const is = after_.find(number);
      if (was != nullptr) now.share = was->share;
      if (was != nullptr && now.share && !now.is_there)
        fail(fmt::format("the share of class {} would be missing meanwhile", number));
      if (was != nullptr && is == nullptr && now.share) pool += *now.share;
      is_asked = is_asked || (was == nullptr && is != nullptr && is->share);
      if (was == nullptr ? is != nullptr && is->share : is == nullptr && now.share) sharing.push_back(&now);
    }
    if (!is_asked) return;
    // Whole percents if the shares were whole percents: some devices take no others.
    const std::int64_t grain = pool % kOfPercent == 0 ? kOfPercent : 1;
    const std::int64_t grains = pool / grain;
    const auto count = static_cast<std::int64_t>(sharing.size());
    if (grains < count) return fail("classes that go have no share to leave to those that come");
    for (std::int64_t i = 0; i < count; ++i)
      sharing[static_cast<std::size_t>(i)]->share = (grains / count + (i < grains % count ? 1 : 0)) * grain;
  }

  void prove(Members members) {
    const auto was = places_of(before_, members);
    const auto is = places_of(after_, members);
    if (!was || !is) return;  // reported already
    for (const auto& [number, now] : port_.classes)
      for (const std::string_view member : now.*members)
        if (!port_.is_lossless(number) &&
            (before_.is_lossless(class_of(*was, member)) || after_.is_lossless(class_of(*is, member))))
          return fail(fmt::format("class {} would not be lossless meanwhile", number));
  }

  const Port& before_;
  const Port& after_;
  Port port_;
  bool comes_;
  bool goes_;
  std::string why_not_;
};

// A list between the values `was` and `want`.
Value list_of(const Names& members, Value was, Value want) {
  if (members == names_of(was)) return was;
  if (members == names_of(want)) return want;
  return members.empty() ? Value{} : Value::set({members.begin(), members.end()});
}

class Cutter {
 public:
  Cutter(const Observation* seen, std::vector<AtomChange> changes, const Columns& columns)
      : seen_(seen), changes_(std::move(changes)), columns_(columns), rows_(columns.priority_rows()) {}

  Replacements cut() {
    if (rows_.pfc && rows_.class_itself && rows_.class_dscp && rows_.class_priority && rows_.class_share)
      find_ports();
    if (ports_.empty()) return {std::move(changes_), {}, {}, {}};
    for (const AtomChange& change : changes_) cut(change);
    return std::move(out_);
  }

 private:
  struct PortCut {
    Port before;
    Port after;
    std::optional<Between> between{};
    bool cuts_classes = false;
    std::vector<Path> read{};
    std::optional<std::uint32_t> adds{};  // one change of its classes in each half
    std::optional<std::uint32_t> removes{};
  };

  bool is_of_classes(RowId row) const {
    const std::string_view unit = columns_.row(*rows_.class_itself).commit;
    return !unit.empty() && columns_.row(row).commit == unit;
  }

  void find_ports() {
    for (const AtomChange& change : changes_)
      if (change.path.row() == rows_.pfc || is_of_classes(change.path.row()))
        ports_.try_emplace(change.path.key(0));
    lay_all({*rows_.pfc});
    std::erase_if(ports_, [](const auto& one) {
      return one.second.before.pfc.empty() || one.second.after.pfc.empty();
    });
    lay_all({*rows_.class_itself, *rows_.class_dscp, *rows_.class_priority, *rows_.class_share});
    for (auto& [name, port] : ports_) port.between.emplace(port.before, port.after);
    std::erase_if(ports_, [](const auto& one) { return !one.second.between->replaces(); });
    for (auto& [name, port] : ports_) {
      const std::string why = why_whole(name, *port.between);
      port.cuts_classes = why.empty();
      if (!why.empty()) out_.in_one_write.emplace(name, why);
      out_.read.insert(out_.read.end(), port.read.begin(), port.read.end());
    }
  }

  // The values of these rows on all ports, before and after.
  void lay_all(const std::vector<RowId>& rows) {
    if (ports_.empty()) return;
    for (const RowId row : rows)
      if (seen_ != nullptr)
        for (const Entry& have : seen_->have.of_row(row))
          if (const auto port = ports_.find(have.path.key(0)); port != ports_.end()) {
            lay(port->second.before, have.path, have.value);
            lay(port->second.after, have.path, have.value);
            port->second.read.push_back(have.path);
          }
    for (const AtomChange& change : changes_)
      if (PortCut* const port = of(change);
          port != nullptr && std::ranges::count(rows, change.path.row()) > 0) {
        lay(port->before, change.path, change.was);
        lay(port->after, change.path, change.want);
      }
  }

  // Why the classes of a port are not split; empty: they are.
  std::string why_whole(std::string_view name, const Between& between) const {
    if (seen_ == nullptr) return "its classes were not read";
    for (const Path path : {Path(*rows_.pfc, {name}), Path(*rows_.class_itself, {name, ""}),
                            Path(*rows_.class_dscp, {name, ""}), Path(*rows_.class_priority, {name, ""}),
                            Path(*rows_.class_share, {name, ""})})
      if (is_unread(seen_->unread, path)) return "its classes could not be read";
    for (const AtomChange& change : changes_)
      if (change.path.key_count() == 1 && is_of_classes(change.path.row()) && change.path.key(0) == name)
        return fmt::format("{} changes with its classes", change.path.text());
    return between.why_not();
  }

  // Null: it concerns no such port.
  PortCut* of(const AtomChange& change) {
    const auto port = change.path.key_count() == 0 ? ports_.end() : ports_.find(change.path.key(0));
    return port == ports_.end() ? nullptr : &port->second;
  }

  void lay(Port& port, Path path, Value value) const {
    const RowId row = path.row();
    if (row == rows_.pfc) port.pfc = names_of(value);
    if (row == rows_.class_itself) port.classes[path.key(1)].is_there = static_cast<bool>(value);
    if (row == rows_.class_dscp) port.classes[path.key(1)].dscp = names_of(value);
    if (row == rows_.class_priority) port.classes[path.key(1)].priority = names_of(value);
    if (row == rows_.class_share)
      port.classes[path.key(1)].share =
          value.kind() == Value::Kind::integer ? std::optional(value.as_integer()) : std::nullopt;
  }

  void cut(const AtomChange& change) {
    PortCut* const port = of(change);
    if (port == nullptr) {
      out_.changes.push_back(change);
    } else if (change.path.row() == rows_.pfc) {
      put(change, list_of(port->between->port().pfc, change.was, change.want));
    } else if (is_of_classes(change.path.row()) && port->cuts_classes) {
      cut_class(*port, change);
    } else {
      out_.changes.push_back(change);
      if (stays_meanwhile(*port, change)) out_.changes.back().half = Half::removes;
    }
  }

  // What belongs to a removed priority or class exists until that is removed.
  bool stays_meanwhile(const PortCut& port, const AtomChange& change) const {
    if (change.want || change.path.key_count() < 2) return false;
    const std::string_view key = change.path.key(1);
    const RowId row = change.path.row();
    if (row == rows_.buffer_size || row == rows_.buffer_xoff)
      return port.before.pfc.contains(key) && !port.after.pfc.contains(key);
    const bool of_class = columns_.row(row).is_part_of(columns_.row(*rows_.class_itself).pattern);
    return of_class && port.cuts_classes && port.after.find(key) == nullptr &&
           port.between->port().find(key) != nullptr;
  }

  void cut_class(PortCut& port, const AtomChange& change) {
    const auto first = static_cast<std::uint32_t>(out_.changes.size());
    put(change, class_between(port, change));
    for (std::uint32_t i = first; i < out_.changes.size(); ++i) {
      auto& known = out_.changes[i].half == Half::adds ? port.adds : port.removes;
      if (known) continue;
      known = i;
      if (port.adds && port.removes) out_.order.emplace_back(*port.adds, *port.removes);
    }
  }

  Value class_between(const PortCut& port, const AtomChange& change) const {
    const std::string_view number = change.path.key(1);
    const Class* const now = port.between->port().find(number);
    if (now == nullptr) return change.want;
    const RowId row = change.path.row();
    if (row == rows_.class_itself) return Value::present();
    if (row == rows_.class_dscp) return list_of(now->dscp, change.was, change.want);
    if (row == rows_.class_priority) return list_of(now->priority, change.was, change.want);
    if (row == rows_.class_share) return now->share ? Value::integer(*now->share) : Value{};
    return port.before.find(number) == nullptr ? change.want : change.was;
  }

  // Adds it as one change or as two, depending on the value in between.
  void put(AtomChange change, Value between) {
    const auto first = static_cast<std::uint32_t>(out_.changes.size());
    const Value want = change.want;
    if (change.was != between) {
      change.want = between;
      put_one(change, Half::adds);
    }
    if (between != want) {
      change.was = between;
      change.want = want;
      put_one(change, Half::removes);
    }
    if (out_.changes.size() == first + 2) out_.order.emplace_back(first, first + 1);
  }
  void put_one(AtomChange change, Half half) {
    change.half = half;
    out_.changes.push_back(change);
  }

  const Observation* seen_;
  std::vector<AtomChange> changes_;
  const Columns& columns_;
  const Columns::PriorityRows& rows_;
  std::map<std::string_view, PortCut> ports_;  // those that replace something lossless
  Replacements out_;
};

}  // namespace

Replacements cut_replacements(const Observation* seen, std::vector<AtomChange> changes,
                              const Columns& columns) {
  return Cutter(seen, std::move(changes), columns).cut();
}

}  // namespace lockstep
