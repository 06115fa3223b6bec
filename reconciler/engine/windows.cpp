#include "reconciler/engine/windows.hpp"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "reconciler/engine/application.hpp"
#include "reconciler/engine/columns.hpp"
#include "reconciler/engine/link_ends.hpp"
#include "reconciler/engine/route_locks.hpp"
#include "reconciler/engine/runner.hpp"
#include "reconciler/engine/step_order.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

// A week, and one more day for windows that are open past midnight.
constexpr int kDaysAhead = 8;

// For one wave, and for one rollback: after it, to confirm, and once more what could not be judged.
constexpr int kGateRounds = 1 + static_cast<int>(kConfirmingRounds) + 1;

// Null: unknown on this machine.
const date::time_zone* zone_of(const std::string& name) {
  try {
    return date::locate_zone(name.empty() ? "UTC" : name);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

WallTime instant(const date::time_zone& zone, date::local_days day, std::uint16_t minute) {
  return zone.to_sys(date::local_time<minutes>(day + minutes(minute)), date::choose::earliest);
}

std::string text_of(WallTime at, const std::string& timezone) {
  return date::format("%a %F %H:%M %Z", date::make_zoned(zone_of(timezone), date::floor<minutes>(at)));
}

std::string span_text(milliseconds span) {
  const auto whole = std::chrono::ceil<minutes>(span).count();
  return whole < 120 ? fmt::format("{} min", whole) : fmt::format("{} h {} min", whole / 60, whole % 60);
}

// The bound of one step: see worst_case(). What is under way when step_timeout ends runs to its own deadline.
milliseconds step_bound(const ApplyOptions& options) {
  return options.step_timeout + 3 * options.apply_timeout + 3 * options.observe_timeout +
         options.settle_time + options.poll_max;
}

// Before a step that removes what may be in use; once more if budget checks take time meanwhile.
milliseconds quiet_bound(const Step& step, const Fleet& fleet, const ApplyOptions& options) {
  if (step.quiet.empty()) return milliseconds(0);
  const Policy* const policy = options.policy_of(step, fleet);
  return 2 * (options.drain_time(policy) + options.quiet_time + options.observe_timeout);
}

// A step waits for those that it comes after, and at most for all other steps of its device.
template <typename Chosen>
milliseconds bound_of(const Plan& plan, const Fleet& fleet, const ApplyOptions& options, Chosen is_chosen) {
  std::map<std::string_view, milliseconds> load;
  for (const Step& step : plan.steps)
    if (is_chosen(step)) load[step.device] += step_bound(options) + quiet_bound(step, fleet, options);
  std::map<std::uint32_t, milliseconds> over;  // by id
  Before begun(
      plan.barriers, milliseconds(0),
      [&over](std::uint32_t id) {
        const auto found = over.find(id);
        return found == over.end() ? milliseconds(0) : found->second;
      },
      [](milliseconds a, milliseconds b) { return std::max(a, b); });
  milliseconds longest{0};
  for (const Step& step : plan.steps) {
    if (!is_chosen(step)) continue;
    over[step.id] = begun.of(step) + load[step.device];
    longest = std::max(longest, over[step.id]);
  }
  return longest;
}

// Remedies come after the writes, including those of earlier waves that were not needed there. One that used
// its time has no other turn.
milliseconds wave_bound(const Plan& plan, std::uint32_t wave, const Fleet& fleet,
                        const ApplyOptions& options) {
  return bound_of(plan, fleet, options,
                  [wave](const Step& step) { return step.wave == wave && step.remedy.empty(); }) +
         bound_of(plan, fleet, options,
                  [wave](const Step& step) { return step.wave <= wave && !step.remedy.empty(); });
}

// What a wave may take in addition: a check for each step that minCapacity may hold, and, if it changes ends
// of cables, making both alike again.
milliseconds wave_extras(const Plan& plan, std::uint32_t wave, const Fleet& fleet,
                         const ApplyOptions& options, const std::vector<std::vector<OtherEnd>>& ends) {
  const milliseconds reads = options.settle_time + options.observe_timeout + options.poll_max;
  milliseconds out{0};
  bool any_ends = false;
  for (const Step& step : plan.steps) {
    if (step.wave != wave) continue;
    const Policy* const policy = options.policy_of(step, fleet);
    if (policy != nullptr && !policy->min_capacity.empty() && !step.takes_out.empty()) out += reads;
    any_ends = any_ends || !ends[step.id].empty();
  }
  if (any_ends) out += reads + kReadsMax * reads + wave_bound(plan, wave, fleet, options);
  return out;
}

// Every step of a change that is not validated yet, one after the other.
milliseconds undo_bound(const OwedChange& owed, const ApplyOptions& options) {
  return static_cast<int>(steps_of(owed).size()) * step_bound(options);
}

// The reverse of a plan that was applied completely, with the desired state in place. Empty: it can't be
// planned, and will not run.
Plan reverse_of(const Plan& plan, const Fleet& fleet, const ApplyOptions& options) {
  std::map<std::string_view, std::map<Path, Value>> made;
  for (const Step& step : plan.steps)
    if (step.remedy.empty())
      for (const PlannedChange& change : step.changes) made[step.device][change.path] = change.want;
  std::vector<DeviceState> then(fleet.size());
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    then[i].device = fleet[i].name;
    then[i].reachable = true;
    Tree& have = then[i].observation.have;
    have = fleet[i].intent->want;
    for (const auto& [path, value] : made[fleet[i].name])
      if (value)
        have.set(path, value);
      else
        have.erase(path);
  }
  Result<Plan> reverse = make_plan(undo_of(plan, fleet, then, options.policy_for).input);
  return reverse ? std::move(*reverse) : Plan{};
}

}  // namespace

std::vector<Opening> openings(const std::vector<PolicyWindow>& windows, WallTime now) {
  std::vector<Opening> all;
  for (const PolicyWindow& window : windows) {
    const date::time_zone* const zone = zone_of(window.timezone);
    if (zone == nullptr) continue;
    const auto today = date::floor<date::days>(zone->to_local(date::floor<minutes>(now)));
    for (int ahead = -1; ahead <= kDaysAhead; ++ahead) {
      const date::local_days day = today + date::days(ahead);
      const unsigned weekday = date::weekday(day).iso_encoding() - 1;
      if ((window.days >> weekday & 1U) == 0) continue;
      const date::local_days last = window.to > window.from ? day : day + date::days(1);
      all.push_back({instant(*zone, day, window.from), instant(*zone, last, window.to), window.timezone});
    }
  }
  std::sort(all.begin(), all.end(), [](const Opening& a, const Opening& b) { return a.opens < b.opens; });
  std::vector<Opening> joined;
  for (const Opening& one : all) {
    if (!joined.empty() && one.opens <= joined.back().closes)
      joined.back().closes = std::max(joined.back().closes, one.closes);
    else
      joined.push_back(one);
  }
  std::erase_if(joined, [now](const Opening& one) { return one.closes <= now; });
  return joined;
}

std::string why_wait(const Policy& policy, WallTime now, milliseconds needed) {
  if (policy.windows.empty()) return "";
  const std::vector<Opening> all = openings(policy.windows, now);
  const bool is_open = !all.empty() && all.front().opens <= now;
  if (is_open && now + needed <= all.front().closes) return "";
  const std::string who = "waits for a window of RolloutPolicy/" + policy.name;
  if (all.empty()) return who + ": none opens, as this machine does not know its time zone";
  const auto next = std::find_if(all.begin() + (is_open ? 1 : 0), all.end(),
                                 [needed](const Opening& one) { return one.closes - one.opens >= needed; });
  if (next == all.end())
    return fmt::format("{}: none is as long as the worst case with its rollback, {}", who, span_text(needed));
  const std::string opens = "the next opens " + text_of(next->opens, next->timezone);
  if (!is_open) return who + ": " + opens;
  return fmt::format("{}: this one closes {}, and the worst case with its rollback takes {}; {}", who,
                     text_of(all.front().closes, all.front().timezone), span_text(needed), opens);
}

milliseconds worst_case(const Plan& plan, const Fleet& fleet, const ApplyOptions& options, bool measures) {
  const milliseconds observation = options.observe_timeout;
  const milliseconds effects = options.settle_time + observation + options.poll_max;
  // After remedies, which are steps of the wave, effects are awaited again.
  const milliseconds verify = (kRemedyRounds + 1) * effects;
  const milliseconds gate = measures ? options.measure_timeout : milliseconds(0);
  milliseconds forth = observation + gate;  // measured before, too
  const std::vector<std::vector<OtherEnd>> ends = other_ends(plan, fleet.wiring());
  for (std::uint32_t wave = 1; wave <= plan.waves(); ++wave)
    forth += wave_bound(plan, wave, fleet, options) + wave_extras(plan, wave, fleet, options, ends) + verify +
             (plan.is_gated(wave) ? kGateRounds : 0) * gate;
  if (!measures) return forth;
  const milliseconds reads = kReadsMax * (observation + options.poll_max);
  const milliseconds after_undo = reads + verify + kGateRounds * gate;
  milliseconds back = after_undo;
  const Plan reverse = reverse_of(plan, fleet, options);
  for (std::uint32_t wave = 1; wave <= reverse.waves(); ++wave)
    back += wave_bound(reverse, wave, fleet, options);
  for (const OwedChange& one : options.owed) back += undo_bound(one, options) + after_undo;
  return forth + back;
}

Plan hold_for_windows(Plan plan, const Fleet& fleet, const ApplyOptions& options, bool measures,
                      WallTime now) {
  for (Step& step : plan.steps)
    std::erase_if(step.holds, [](const Hold& hold) { return hold.kind == Hold::Kind::window; });
  if (!options.policy_for) return plan;
  std::map<const Policy*, std::string> reasons;
  std::optional<milliseconds> bound;
  const auto needed = [&](const Plan& whole) {
    if (!bound) bound = worst_case(whole, fleet, options, measures);
    return *bound;
  };
  for (Step& step : plan.steps) {
    const Policy* const policy = options.policy_of(step, fleet);
    if (policy == nullptr || policy->windows.empty()) continue;
    const auto [reason, is_new] = reasons.try_emplace(policy);
    if (is_new) reason->second = why_wait(*policy, now, needed(plan));
    if (!reason->second.empty()) step.holds.push_back({Hold::Kind::window, reason->second});
  }
  hold_route_locks(schema_columns(), fleet.wiring(), plan);
  return plan;
}

}  // namespace lockstep
