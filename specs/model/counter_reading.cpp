#include "specs/model/counter_reading.hpp"

#include <algorithm>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using State = CounterGroup::State;
using Continuity = CounterContinuity;

const CounterGroup* group_of(const CounterReading& reading, const CounterRow& row) {
  for (const CounterGroup& group : reading.groups)
    if (std::ranges::find(group.counters, row.name) != group.counters.end()) return &group;
  return nullptr;
}

bool is_off(const CounterReading& reading, const ReadCounter& counter) {
  return counter.group < reading.groups.size() && reading.groups[counter.group].state == State::off;
}

// Why a group has no value of this counter; empty: it may have one.
std::string why_not_counted(const CounterGroup& group, const CounterRow& row) {
  if (group.cannot_count.contains(row.name))
    return "this device cannot count it (" + group.cannot_count_source + ")";
  return group.state == State::read ? "" : group.why;
}

// The object and group of a counter: what is cleared together.
using ClearedTogether = std::pair<std::string_view, std::size_t>;

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::read: return "read";
    case State::off: return "off";
    case State::unsupported: return "not supported";
    case State::unknown: return "not known";
  }
  return "";
}

std::string_view to_string(Continuity continuity) {
  switch (continuity) {
    case Continuity::counted_on: return "counted on";
    case Continuity::fell: return "reset: it fell";
    case Continuity::others_fell: return "reset: another counter of the same object fell";
    case Continuity::another_object: return "reset: the device has a new object for it";
    case Continuity::keeper_restarted: return "reset: the database of the counters was restarted";
    case Continuity::not_counting: return "not counted: its group is off";
  }
  return "";
}

const ReadCounter* CounterReading::find(std::string_view port, std::string_view name) const {
  const auto found = counters.find(CounterId{std::string(port), std::string(name)});
  return found == counters.end() ? nullptr : &found->second;
}

std::string why_absent(const CounterReading& reading, std::string_view port, std::string_view name) {
  if (reading.find(port, name) != nullptr) return {};
  const CounterRow* const row = find_counter(name);
  if (row == nullptr) return "there is no counter of this name";
  const CounterId id{std::string(port), std::string(name)};
  for (const UnreadableCounter& one : reading.unreadable)
    if (one.id == id) return one.why;
  const std::string_view scope = counter_scope(name);
  const auto is_of_port = [&](const auto& entry) { return entry.first.port == port; };
  if (!port.empty() && std::ranges::none_of(reading.objects, is_of_port))
    return "the device counts for no port " + printable(port);
  const CounterGroup* const group = group_of(reading, *row);
  if (group == nullptr && !reading.groups.empty()) return "this kind of device does not count it";
  if (group != nullptr)
    if (std::string why = why_not_counted(*group, *row); !why.empty()) return why;
  const auto object = reading.objects.find(CounterId{std::string(port), std::string(scope)});
  if (object != reading.objects.end() && !object->second.missing.empty()) return object->second.missing;
  if (object == reading.objects.end() && !reading.groups.empty())
    return "the device counts for no " + printable(scope) + (port.empty() ? "" : " of " + printable(port));
  return "the device does not report it";
}

Result<CounterChanges> changes_between(const CounterReading& before, const CounterReading& after) {
  CounterChanges out;
  out.over = after.moment - before.moment;
  if (out.over <= std::chrono::nanoseconds(0))
    return Error{ErrorKind::invalid_spec, "the second reading of counters is not later than the first"};
  std::set<ClearedTogether> cleared;
  for (const auto& [id, now] : after.counters) {
    if (now.row->kind != CounterKind::count) continue;
    const auto was = before.counters.find(id);
    if (was == before.counters.end()) {
      out.appeared.push_back(id);
      continue;
    }
    CounterChange change{id, now.row};
    if (before.keeper != after.keeper) {
      change.continuity = Continuity::keeper_restarted;
    } else if (was->second.object != now.object || was->second.native != now.native) {
      change.continuity = Continuity::another_object;
    } else if (is_off(before, was->second) || is_off(after, now)) {
      change.continuity = Continuity::not_counting;
    } else if (now.value < was->second.value) {
      change.continuity = Continuity::fell;
      cleared.emplace(now.object, now.group);
    }
    out.changes.push_back(std::move(change));
  }
  for (CounterChange& change : out.changes) {
    if (change.continuity != Continuity::counted_on) continue;
    const ReadCounter& now = after.counters.find(change.id)->second;
    if (!now.object.empty() && cleared.contains({now.object, now.group}))
      change.continuity = Continuity::others_fell;
    else
      change.by = *now.whole() - *before.counters.find(change.id)->second.whole();
  }
  for (const auto& [id, was] : before.counters)
    if (was.row->kind == CounterKind::count && !after.counters.contains(id)) out.vanished.push_back(id);
  return out;
}

}  // namespace lockstep
