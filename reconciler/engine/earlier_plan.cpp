#include "reconciler/engine/earlier_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

#include "reconciler/engine/columns.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/remedies.hpp"
#include "reconciler/engine/step_order.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kComesAfter = "comes after step ";
constexpr std::string_view kNotWithout = "is not done without ";

std::string what_of(const PlannedChange& change) {
  return fmt::format("{} from {} to {}", change.path.text(), change.was.to_string(), change.want.to_string());
}

std::string place_of(const PlanOrigin& origin) {
  return origin.file.empty() ? "no line of the specs"
                             : fmt::format("{}:{}:{}", origin.file, origin.line, origin.column);
}

std::vector<Hold> lasting_holds(const Step& step) {
  std::vector<Hold> holds = step.holds;
  std::erase_if(holds, [](const Hold& hold) { return hold.kind == Hold::Kind::window; });
  return holds;
}

bool changes_path(const Step& step, Path path) {
  return std::any_of(step.changes.begin(), step.changes.end(),
                     [path](const PlannedChange& one) { return one.path == path; });
}

class Comparison {
 public:
  Comparison(const Plan& earlier, const Plan& now) : earlier_(earlier), now_(now) {
    for (std::uint32_t i = 0; i < now.steps.size(); ++i) of_device_[now.steps[i].device].push_back(i);
  }

  // The id of the step in the new plan that is identical to this one except for its place in the order; 0 and
  // the reason: there is none. Each new step is matched once.
  std::uint32_t find(const Step& step, std::string& why) {
    why = step.remedy.empty() ? "the specs don't ask for it now" : "it is not needed now";
    const auto steps = of_device_.find(step.device);
    if (steps == of_device_.end()) return 0;
    bool is_near = false;
    for (const std::uint32_t i : steps->second) {
      const Step& other = now_.steps[i];
      if (other.driver != step.driver || other.remedy != step.remedy) continue;
      const std::string differs = difference(step, other);
      if (differs.empty() && found_.insert(other.id).second) return other.id;
      if (differs.empty()) {
        why = "it is there twice";
        is_near = true;
      } else if (!is_near && std::any_of(step.changes.begin(), step.changes.end(),
                                         [&](const auto& one) { return changes_path(other, one.path); })) {
        why = differs;
        is_near = true;
      }
    }
    return 0;
  }

 private:
  // How a step of the new plan differs from the earlier one; empty: it does not.
  std::string difference(const Step& was, const Step& is) const {
    if (std::string changes = difference_of_changes(was, is); !changes.empty()) return changes;
    if (was.wave != is.wave) return fmt::format("it is of wave {} now, not of wave {}", is.wave, was.wave);
    if (earlier_.is_gated(was.wave) && !now_.is_gated(is.wave))
      return "what its wave writes is not measured before the next one now";
    if (was.disruption != is.disruption)
      return fmt::format("its disruption is '{}', not '{}'", to_string(is.disruption),
                         to_string(was.disruption));
    if (is.live && !was.live) return "it disturbs live traffic now";
    if (was.undo_after != is.undo_after) return "when the device undoes it by itself is another now";
    if (was.quiet != is.quiet) return "it waits until nothing uses other entries now";
    const std::vector<Hold> held = lasting_holds(was);
    for (const Hold& hold : lasting_holds(is))
      if (std::find(held.begin(), held.end(), hold) == held.end()) return "it is held now: " + hold.reason;
    if (held != lasting_holds(is)) return "what held it then does not hold it now";
    return "";
  }

  // Effects come and go by themselves: a remedy is approved for the effects that it was for, or some of them.
  static std::string difference_of_effects(const Step& was, const Step& is) {
    if (was.before_writes != is.before_writes) return "it comes before or after the writes of its wave now";
    for (const PlannedChange& effect : is.changes)
      if (!is_for(was, effect.path)) return "it is for " + effect.path.text() + " as well now";
    for (const RowId row : is.if_open)
      if (std::ranges::find(was.if_open, row) == was.if_open.end())
        return fmt::format("it is for any {} now", schema_row(row).pattern);
    return "";
  }

  std::string difference_of_changes(const Step& was, const Step& is) const {
    if (!was.remedy.empty()) return difference_of_effects(was, is);
    for (const PlannedChange& change : was.changes)
      if (!changes_path(is, change.path))
        return "the specs don't ask for " + what_of(change) + " now, not in this step";
    for (const PlannedChange& change : is.changes)
      if (!changes_path(was, change.path)) return "it changes " + what_of(change) + " as well now";
    for (std::size_t i = 0; i < was.changes.size() && i < is.changes.size(); ++i) {
      const PlannedChange& then = was.changes[i];
      const PlannedChange& now = is.changes[i];
      if (then.path != now.path || then.transient != now.transient)
        return "its changes are in another order now";
      if (then.was != now.was || then.want != now.want)
        return fmt::format("it changes {} now, not {}", what_of(now), what_of(then));
      const PlanOrigin& from = earlier_.origins.at(then.origin);
      const PlanOrigin& line = now_.origins.at(now.origin);
      if (from != line)
        return fmt::format("{} comes from {} now, not from {}", now.path.text(), place_of(line),
                           place_of(from));
    }
    return was.changes.size() == is.changes.size() ? "" : "its changes are in another order now";
  }

  const Plan& earlier_;
  const Plan& now_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> of_device_;
  std::set<std::uint32_t> found_;
};

// The reason of the first in a chain of refused steps: repeating all of them would be as long as the chain.
std::string first_reason(const std::string& why) {
  if (!why.starts_with(kComesAfter) && !why.starts_with(kNotWithout)) return why;
  const std::size_t last = why.find(": ");
  return last == why.npos ? why : why.substr(last + 2);
}

std::string comes_after(std::uint32_t before, const std::string& why) {
  return fmt::format("{}{}: {}", kComesAfter, before, first_reason(why));
}

// The first of two ids that is not 0; 0: none.
std::uint32_t first_of(std::uint32_t a, std::uint32_t b) { return a != 0 ? a : b; }

// Compares whether steps come after the same ones in both plans. `found`, `refused`: by earlier id; called in
// the order of ids, while both are filled.
class OrderComparison {
 public:
  OrderComparison(const Plan& earlier, const Plan& now, const std::vector<std::uint32_t>& found,
                  const std::map<std::uint32_t, std::string>& refused)
      : earlier_(earlier),
        now_(now),
        found_(found),
        first_refused_(earlier.barriers, 0U, Of{refused}, first_of),
        refused_(refused),
        found_barrier_(earlier.barriers.size()) {
    for (std::uint32_t i = 0; i < now.barriers.size(); ++i)
      number_.push_back(by_steps_.try_emplace(now.barriers[i].after, i + 1).first->second);
  }

  // Why a matched step may not run after its predecessors in the new plan; empty: it may.
  std::string why_not(const Step& earlier, const Step& now) {
    if (!now.remedy.empty()) return "";  // remedies run in turn, and none depends on another
    if (const std::uint32_t before = first_refused_.of(earlier); before != 0)
      return comes_after(before, refused_.at(before));
    if (is_alike(earlier, now)) return "";
    // One plan may have a barrier where the other lists each step.
    const std::vector<std::uint32_t> approved = of_now(steps_before(earlier_, earlier));
    const std::vector<std::uint32_t> wanted = steps_before(now_, now);
    if (approved == wanted) return "";
    return std::ranges::includes(approved, wanted)
               ? "it does not come after the same steps now"
               : "it comes after another step now, which this plan does not have there";
  }

 private:
  struct Of {
    const std::map<std::uint32_t, std::string>& refused;
    std::uint32_t operator()(std::uint32_t id) const { return refused.contains(id) ? id : 0; }
  };

  std::vector<std::uint32_t> of_now(std::vector<std::uint32_t> ids) const {
    for (std::uint32_t& id : ids) id = found_[id];
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  // The first barrier of the new plan with the same steps; 0: there is none.
  std::uint32_t barrier_of_now(std::uint32_t number) {
    std::optional<std::uint32_t>& known = found_barrier_[number - 1];
    if (!known) {
      const auto same = by_steps_.find(of_now(earlier_.barriers[number - 1].after));
      known = same == by_steps_.end() ? 0 : same->second;
    }
    return *known;
  }

  bool is_alike(const Step& earlier, const Step& now) {
    std::set<std::uint32_t> approved;
    std::set<std::uint32_t> wanted;
    for (const std::uint32_t number : earlier.after_barriers) approved.insert(barrier_of_now(number));
    for (const std::uint32_t number : now.after_barriers) wanted.insert(number_[number - 1]);
    return approved == wanted && of_now(earlier.after) == now.after;
  }

  const Plan& earlier_;
  const Plan& now_;
  const std::vector<std::uint32_t>& found_;
  Before<std::uint32_t, Of, std::uint32_t (*)(std::uint32_t, std::uint32_t)> first_refused_;
  const std::map<std::uint32_t, std::string>& refused_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> by_steps_;  // of the new plan: the first number
  std::vector<std::uint32_t> number_;                             // by number in the new plan: that number
  std::vector<std::optional<std::uint32_t>> found_barrier_;       // by earlier number
};

// Refuses what depends on a step that may not run: the steps tied to it in either plan, and those that come
// after it.
class Fallen {
 public:
  Fallen(const Plan& earlier, const Plan& now, const std::vector<std::uint32_t>& found, ApprovedPart& part)
      : earlier_(earlier), part_(part), next_(next_steps(earlier.steps, earlier.barriers)) {
    std::vector<std::uint32_t> earlier_id(now.steps.size() + 1, 0);
    for (const Step& step : earlier.steps) {
      earlier_id[found[step.id]] = step.id;
      if (step.together != 0) groups_[{false, step.together}].push_back(step.id);
      if (found[step.id] == 0) not_found_.try_emplace(step.device, step.id);
    }
    for (const Step& step : now.steps) {
      if (step.together == 0) continue;
      const Group group{true, step.together};
      if (const std::uint32_t id = earlier_id[step.id]; id != 0)
        groups_[group].push_back(id);
      else
        lacking_.try_emplace(group, step.device);
    }
    for (const auto& [group, steps] : groups_)
      for (const std::uint32_t id : steps) groups_of_[id].push_back(group);
  }

  void spread() {
    for (const auto& [id, why] : part_.refused) fallen_.push_back(id);
    for (const auto& [group, device] : lacking_) {
      const std::string why = why_without(device);
      for (const std::uint32_t id : std::exchange(groups_[group], {})) refuse(id, why, device);
    }
    for (; !fallen_.empty(); fallen_.pop_front()) fall(fallen_.front());
  }

 private:
  using Group = std::pair<bool, std::uint32_t>;  // of now, its number

  // The reason for steps tied to a step of that device that the earlier plan lacks, or has with other
  // content.
  std::string why_without(const std::string& device) const {
    const auto other = not_found_.find(device);
    if (other == not_found_.end())
      return fmt::format("{}a step of {}, the other end of a cable: this plan has no such step of {}",
                         kNotWithout, device, device);
    return fmt::format("{}step {} ({}), the other end of a cable: {}", kNotWithout, other->second, device,
                       first_reason(part_.refused.at(other->second)));
  }

  void fall(std::uint32_t id) {
    const std::string& device = earlier_.steps[id - 1].device;
    const std::string reason = part_.refused.at(id);
    const std::string why = fmt::format("{}step {} ({}), the other end of a cable: {}", kNotWithout, id,
                                        device, first_reason(reason));
    for (const Group& group : groups_of_[id])
      for (const std::uint32_t other : std::exchange(groups_[group], {})) refuse(other, why, device);
    if (!earlier_.steps[id - 1].remedy.empty()) return;  // its followers only avoid running beside it
    for (const std::uint32_t next : next_.of_step[id]) refuse(next, comes_after(id, reason), "");
    for (const std::uint32_t number : next_.barriers[id])
      for (const std::uint32_t next : std::exchange(next_.of_barrier[number], {}))
        refuse(next, comes_after(id, reason), "");
  }

  void refuse(std::uint32_t id, const std::string& why, const std::string& other_end) {
    if (!part_.refused.try_emplace(id, why).second) return;
    if (!other_end.empty()) part_.other_ends[id] = other_end;
    fallen_.push_back(id);
  }

  const Plan& earlier_;
  ApprovedPart& part_;
  NextSteps next_;                                         // of the earlier plan
  std::map<Group, std::vector<std::uint32_t>> groups_;     // earlier ids; none: it was refused
  std::map<std::uint32_t, std::vector<Group>> groups_of_;  // by earlier id
  std::map<Group, std::string> lacking_;                   // the device of a step that the earlier plan lacks
  std::map<std::string, std::uint32_t> not_found_;         // by device: an earlier id that the new plan lacks
  std::deque<std::uint32_t> fallen_;
};

// Route locks are for the MTUs that change under them: if none of these may change, no lock is written.
void refuse_lone_locks(const Plan& earlier, const Plan& now, const std::vector<std::uint32_t>& found,
                       ApprovedPart& part) {
  const Columns::MtuRows& rows = schema_columns().mtu_rows();
  std::vector<std::uint32_t> locks;  // earlier ids
  for (const Step& step : earlier.steps) {
    if (part.refused.contains(step.id)) continue;
    for (const PlannedChange& change : now.steps[found[step.id] - 1].changes) {
      if (change.path.row() == rows.port) return;
      if (change.path.row() == rows.lock && change.want) locks.push_back(step.id);
    }
  }
  for (const std::uint32_t id : locks)
    part.refused.try_emplace(id, "it locks routes while MTUs change, and none of these may");
}

}  // namespace

std::map<std::uint32_t, std::string> moved_ground(const Plan& plan, const Fleet& fleet,
                                                  const std::vector<DeviceState>& now) {
  std::map<std::string, std::string> moved;  // by device: why it is stale; empty: it is not
  for (const PlanDevice& device : plan.devices) {
    std::string& why = moved[device.name];
    const auto index = fleet.find(device.name);
    if (!index || *index >= now.size()) {
      why = device.name + " is not in the specs any more";
    } else if (!now[*index].reachable) {
      why = device.name + std::string(kNotObserved);
    } else if (device_digest(*fleet[*index].intent, now[*index].observation, device.read) != device.digest) {
      why = device.name + " has changed since the plan was made";
    }
  }
  std::map<std::uint32_t, std::string> out;
  Before first_moved(
      plan.barriers, 0U,
      [&](std::uint32_t id) { return out.contains(id) && plan.steps[id - 1].remedy.empty() ? id : 0U; },
      first_of);
  for (const Step& step : plan.steps) {
    const auto found = moved.find(step.device);
    if (found == moved.end()) {
      out[step.id] = "the plan does not say on which ground of " + step.device + " it stands";
      continue;
    }
    if (!found->second.empty()) {
      out[step.id] = found->second;
      continue;
    }
    if (const std::uint32_t before = first_moved.of(step); before != 0)
      out.try_emplace(step.id, comes_after(before, out[before]));
  }
  return out;
}

Plan without(const Plan& plan, const std::map<std::uint32_t, std::string>& steps) {
  if (steps.empty()) return plan;
  Plan kept = plan;
  std::vector<std::uint32_t> new_id(plan.steps.size() + 1, 0);
  std::set<std::string_view> devices;
  kept.steps.clear();
  for (const Step& step : plan.steps) {
    if (steps.contains(step.id)) continue;
    kept.steps.push_back(step);
    devices.insert(step.device);
    new_id[step.id] = static_cast<std::uint32_t>(kept.steps.size());
  }
  std::vector<std::uint32_t> new_number(plan.barriers.size() + 1, 0);
  kept.barriers.clear();
  for (std::uint32_t number = 1; number <= plan.barriers.size(); ++number) {
    Barrier left;
    for (const std::uint32_t before : plan.barriers[number - 1].after)
      if (new_id[before] != 0) left.after.push_back(new_id[before]);
    if (left.after.empty()) continue;
    kept.barriers.push_back(std::move(left));
    new_number[number] = static_cast<std::uint32_t>(kept.barriers.size());
  }
  std::map<std::uint32_t, std::uint32_t> first_end;  // by `together`: a group outlives its first step
  for (Step& step : kept.steps) {
    step.id = new_id[step.id];
    for (std::uint32_t& before : step.after) before = new_id[before];
    std::erase(step.after, 0U);
    for (std::uint32_t& number : step.after_barriers) number = new_number[number];
    std::erase(step.after_barriers, 0U);
    if (step.together != 0) step.together = first_end.try_emplace(step.together, step.id).first->second;
  }
  std::erase_if(kept.devices, [&](const PlanDevice& one) { return !devices.contains(one.name); });
  kept.digest = plan_digest(kept);
  return kept;
}

ApprovedPart approved_part(const Plan& earlier, const Plan& now, std::map<std::uint32_t, std::string> moved) {
  ApprovedPart part{std::move(moved), {}, {}, {}};
  Comparison comparison(earlier, now);
  std::vector<std::uint32_t> found(earlier.steps.size() + 1, 0);  // by earlier id
  std::vector<bool> known(now.steps.size() + 1, false);           // by new id: the earlier plan has it
  OrderComparison order(earlier, now, found, part.refused);
  for (const Step& step : earlier.steps) {
    std::string why;
    const std::uint32_t id = comparison.find(step, why);
    found[step.id] = id;
    if (id != 0) {
      known[id] = true;
      why = order.why_not(step, now.steps[id - 1]);
    }
    // If the step is stale as well, that is the better reason.
    if (!why.empty()) part.refused.try_emplace(step.id, why);
  }
  for (const Step& step : now.steps)
    if (!known[step.id]) part.unapproved.push_back(step);
  Fallen(earlier, now, found, part).spread();
  refuse_lone_locks(earlier, now, found, part);
  std::map<std::uint32_t, std::string> left_out;
  for (const Step& step : now.steps) left_out.emplace(step.id, "");
  for (const Step& step : earlier.steps)
    if (!part.refused.contains(step.id)) left_out.erase(found[step.id]);
  part.plan = without(now, left_out);
  return part;
}

}  // namespace lockstep
