// The entries that must match at both ends of a cable, its MTU and its lossless priorities, compared with the
// result of each apply.
#include <algorithm>
#include <array>

#include "specs/model/schema_rows.hpp"
#include "world.hpp"

namespace lockstep::simulation {
namespace {

constexpr RowId kPfc = row("interface[*]/pfc");
constexpr std::array kAlike{row("interface[*]/mtu"), kPfc};

bool share_any(Value one, Value other) {
  if (one.kind() != Value::Kind::list || other.kind() != Value::Kind::list) return false;
  const auto all = one.as_list();
  return std::ranges::any_of(
      other.as_list(), [&all](std::string_view each) { return std::ranges::find(all, each) != all.end(); });
}

bool has_any(const std::vector<std::string>& notes, std::string_view what) {
  return std::ranges::any_of(notes, [what](const std::string& note) { return note.find(what) != note.npos; });
}

}  // namespace

Value World::wanted_at(const PortName& port, RowId row) const {
  return places_.at(port.device).intent->want.value(Path(row, {port.port}));
}

Value World::truth_at(const PortName& port, RowId row) const {
  return places_.at(port.device).device->truth().value(Path(row, {port.port}));
}

// Called when a plan is made: records the actual values, and where every observation that the plan may use
// differs.
void World::note_ends(const Process& process) {
  ends_.clear();
  ends_turn_ = turn_;
  for (const Cable& cable : wiring_.cables)
    for (const RowId row : kAlike) {
      Ends& ends = ends_.emplace_back();
      for (const std::size_t end : {0, 1}) {
        const PortName& port = end == 0 ? cable.a : cable.b;
        const Value want = wanted_at(port, row);
        const Path path(row, {port.port});
        const std::vector<Observation>& observed = places_.at(port.device).seen_of(row);
        ends.was[end] = truth_at(port, row);
        ends.differs[end] =
            !observed.empty() && want && std::ranges::all_of(observed, [&](const Observation& one) {
              return one.have.value(path) != want && !is_unread(one.unread, path);
            });
        ends.is_left_alone[end] = !process.may_write(port.device);
        ends.is_away[end] = unread_.contains(port.device);
      }
      for (const std::size_t end : {0, 1}) {
        result_.counts.far_away += ends.differs[end] && ends.is_away[1 - end] && !ends.is_left_alone[end];
        result_.counts.one_ended +=
            ends.differs[0] && ends.differs[1] && ends.is_left_alone[end] && !ends.is_left_alone[1 - end];
      }
    }
}

// A device that reports an old state as current may appear as desired.
void World::note_shown(const Place& place, const Observation& observed) {
  if (ends_.empty() || place.device->faults.stale_read == 0) return;
  for (const std::string& port : place.ports) {
    const std::uint32_t cable = *wiring_.cable_at(place.name, port);
    const std::size_t end = wiring_.cables[cable].a.device == place.name ? 0 : 1;
    for (std::size_t i = 0; i < kAlike.size(); ++i)
      if (observed.have.value(Path(kAlike[i], {port})) == wanted_at({place.name, port}, kAlike[i]))
        ends_[cable * kAlike.size() + i].is_shown_as_wanted[end] = true;
  }
}

// One end is not started when the other can't be read, or may not be changed in this run and differs. A cable
// with a lossless priority at both ends never has none during a replacement, which is not checked for devices
// that may report an old state.
void World::check_other_end(const Place& place, const Change& change) {
  const auto matter = std::ranges::find(kAlike, change.path.row());
  if (change.path.row() == kPfc) {
    const PortName& far = *wiring_.peer(place.name, change.path.key(0));
    const bool is_true =
        place.device->faults.stale_read == 0 && places_.at(far.device).device->faults.stale_read == 0;
    const Value there = truth_at(far, kPfc);
    const Path path = change.path;
    if (is_true && share_any(place.before_write.value(path), there) &&
        !share_any(place.device->truth().value(path), there))
      violation(place.name + " " + path.text() + " is " + place.device->truth().value(path).to_string() +
                ", and at the other end of its cable " + there.to_string());
  }
  if (ends_.empty() || matter == kAlike.end()) return;
  const std::uint32_t cable = *wiring_.cable_at(place.name, change.path.key(0));
  const Ends& ends = ends_[cable * kAlike.size() + static_cast<std::size_t>(matter - kAlike.begin())];
  const std::size_t far = wiring_.cables[cable].a.device == place.name ? 1 : 0;
  if (ends.is_left_alone[far] && ends.differs[far])
    violation(place.name + " was written at " + change.path.text() + ", whose other end is left alone");
  if (ends.is_away[far])
    violation(place.name + " was written at " + change.path.text() + ", whose other end is away");
}

// Both ends have their desired values, or neither does, or the report explains it. Values changed by others
// are ignored, also those before this run where an earlier change is rolled back.
void World::check_ends(const ApplyReport& report) {
  const bool said = report.verdict == ApplyVerdict::undo_failed ||
                    has_any(report.notes, "left with ends that differ") ||
                    has_any(report.notes, "the other end of its cable is left as it is");
  std::map<std::string, std::size_t> since;  // by device: the first write of the changes that are rolled back
  for (const UndoneChange& one : report.undone)
    for (const auto& [device, turn] : changes_.at(one.change).first_ticket) {
      const auto [at, is_new] = since.try_emplace(device, std::min(turn, ends_turn_));
      at->second = std::min(at->second, turn);
    }
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const Cable& cable = wiring_.cables[i / kAlike.size()];
    const RowId row = kAlike[i % kAlike.size()];
    const Ends& ends = ends_[i];
    std::array<bool, 2> took{};
    std::array<bool, 2> left{};
    for (const std::size_t end : {0, 1}) {
      const PortName& port = end == 0 ? cable.a : cable.b;
      const auto undone = since.find(port.device);
      if (places_.at(port.device).moved > (undone == since.end() ? ends_turn_ : undone->second)) continue;
      const Value now = truth_at(port, row);
      took[end] = ends.differs[end] && now != ends.was[end] && now == wanted_at(port, row);
      left[end] = ends.differs[end] && !ends.is_shown_as_wanted[end] && now == ends.was[end];
    }
    result_.counts.both_ended += took[0] && took[1];
    for (const std::size_t end : {0, 1})
      if (took[end] && left[1 - end] && !said)
        violation("the cable " + cable.a.text() + " - " + cable.b.text() +
                  " is left with ends that differ in " + std::string(schema_row(row).pattern));
  }
  ends_.clear();
}

}  // namespace lockstep::simulation
