#include "reconciler/report/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "drivers/host_policy/policy.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/report/change_lines.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/plan_rows.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::string lines_text(const std::vector<ChangeLine>& lines, std::string_view indent,
                       const Terminal& terminal) {
  Table table({{""}, {""}, {""}});
  for (const ChangeLine& line : lines)
    table.add(
        {signed_entry(line.sign, line.path, terminal), line.value, terminal.paint(Ink::dim, line.origin)});
  return table.rows(terminal, indent);
}

std::vector<ChangeLine> lines_of(const Plan& plan, const Step& step) {
  std::vector<FoldableChange> changes;
  for (const PlannedChange& change : step.changes)
    changes.push_back({change.path, change.was, change.want, change.origin});
  return unfolded_lines(changes, plan.origins);
}

struct StepGroup {
  const Step* first = nullptr;
  std::vector<ChangeLine> changes;
  std::vector<std::string> devices;
};

// With the option that lifts the hold.
Shown hold_line(const Hold& hold, Disruption disruption, const Terminal& terminal) {
  if (hold.kind == Hold::Kind::host_policy) return terminal.paint(Ink::red, "refused: " + hold.reason);
  const std::string_view word = word_of(hold.kind, disruption);
  return terminal.paint(
      Ink::yellow, "held: " + hold.reason + (word.empty() ? "" : " (--approve " + std::string(word) + ")"));
}

// The effects that differ now are listed below it.
Shown remedy_line(const Step& step, const Terminal& terminal) {
  std::string rows;
  for (const RowId row : step.if_open)
    rows += (rows.empty() ? "any " : " or ") + std::string(schema_row(row).pattern);
  const std::string when = step.before_writes     ? "before the changes, if the problem is still there then"
                           : rows.empty()         ? "if the problem is still there when its turn comes"
                           : step.changes.empty() ? "if " + rows + " still differs after the changes"
                                                  : "if the problem is still there after the changes, or " +
                                                        rows + " differs then";
  return compose("{}, {}", terminal.paint(Ink::bold, "remedy " + step.remedy), when);
}

// Steps of several devices with the same key form one group.
std::string key_of(const Step& step, const std::vector<ChangeLine>& lines) {
  std::string key = step.driver + "\n" + step.remedy + "\n" + std::string(to_string(step.disruption)) +
                    (step.live ? " live\n" : "\n");
  for (const ChangeLine& line : lines) key += line.sign + line.path + "\t" + line.value + line.origin + "\n";
  for (const RowId row : step.if_open) key += "\n" + std::string(schema_row(row).pattern);
  for (const std::string& note : step.notes) key += "\n" + note;
  for (const Hold& hold : step.holds) key += "\n" + hold.reason;
  return key;
}

std::vector<StepGroup> groups_of(const Plan& plan, std::uint32_t wave) {
  std::vector<StepGroup> groups;
  std::map<std::string, std::size_t> by_key;
  for (const Step& step : plan.steps) {
    if (step.wave != wave) continue;
    std::vector<ChangeLine> lines = lines_of(plan, step);
    const auto [at, is_new] = by_key.try_emplace(key_of(step, lines), groups.size());
    if (is_new) groups.push_back({&step, std::move(lines), {}});
    StepGroup& group = groups[at->second];
    if (std::find(group.devices.begin(), group.devices.end(), step.device) == group.devices.end())
      group.devices.push_back(step.device);
  }
  for (StepGroup& group : groups) sort_names(group.devices);
  std::ranges::stable_partition(groups, [](const StepGroup& one) { return one.first->before_writes; });
  return groups;
}

std::string wave_title(const Plan& plan, std::uint32_t wave, const Terminal& terminal) {
  return terminal.paint(Ink::bold, compose("wave {}", wave)) +
         (plan.is_gated(wave) ? "" : "  not measured before the next one (gate: end)");
}

// Each step by itself, in order.
std::string steps_text(const Plan& plan, std::uint32_t wave, const Terminal& terminal) {
  std::string out = wave_title(plan, wave, terminal) + "\n";
  for (const StepGroup& group : groups_of(plan, wave)) {
    const Step& step = *group.first;
    out += compose(
        "  {}  {}  {}{}\n", terminal.paint(Ink::cyan, fold_hostlist(group.devices)), step.driver,
        terminal.paint(ink_of(step.disruption), compose("disruption: {}", to_string(step.disruption))),
        step.live ? terminal.paint(Ink::yellow, "  in service") : Shown());
    if (!step.remedy.empty()) out += "    " + remedy_line(step, terminal) + "\n";
    out += lines_text(group.changes, "      ", terminal);
    for (const std::string& note : step.notes) out += terminal.paint(Ink::dim, "      " + note) + "\n";
    for (const Hold& hold : step.holds) out += "      " + hold_line(hold, step.disruption, terminal) + "\n";
  }
  return out;
}

// Lines shared by several devices, in the order of the first.
class SharedLines {
 public:
  void add(const std::string& line, const std::string& device) {
    const auto [at, is_new] = devices_.try_emplace(line);
    if (is_new) order_.push_back(line);
    at->second.insert(device);
  }
  std::string text(const Terminal& terminal) const {
    std::string out;
    for (const std::string& line : order_)
      out += "  " + line + "  " + names(devices_.at(line), terminal) + "\n";
    return out;
  }
  static Shown names(const std::set<std::string>& devices, const Terminal& terminal) {
    std::vector<std::string> all(devices.begin(), devices.end());
    sort_names(all);
    return terminal.paint(Ink::cyan, fold_hostlist(all));
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::set<std::string>> devices_;
};

// The wave as a whole.
std::string wave_text(const Plan& plan, std::uint32_t wave, const Terminal& terminal) {
  std::vector<const Step*> writes;
  std::set<std::string> devices;
  std::set<std::string> live;
  Disruption worst = Disruption::none;
  bool disturbs_live = false;  // a remedy included
  SharedLines early;  // remedies before the writes
  SharedLines late;
  for (const Step& step : plan.steps) {
    if (step.wave != wave) continue;
    if (step.remedy.empty()) {
      writes.push_back(&step);
      devices.insert(step.device);
      if (step.live) live.insert(step.device);
      worst = std::max(worst, step.disruption);
    }
    SharedLines& lines = step.before_writes ? early : late;
    if (!step.remedy.empty()) lines.add(remedy_line(step, terminal), step.device);
    disturbs_live = disturbs_live || (step.live && step.disruption >= Disruption::traffic);
    for (const std::string& note : step.notes) lines.add(terminal.paint(Ink::dim, note), step.device);
    for (const Hold& hold : step.holds) lines.add(hold_line(hold, step.disruption, terminal), step.device);
  }
  std::string out = wave_title(plan, wave, terminal);
  if (writes.empty())
    out += "  remedies only";
  else
    out += compose("  {} on {}  {}{}", counted(writes.size(), "step"), SharedLines::names(devices, terminal),
                   terminal.paint(ink_of(worst), compose("disruption: {}", to_string(worst))),
                   worst == Disruption::traffic && !disturbs_live ? ", none of it live" : "");
  if (!live.empty())
    out += compose("  {} {}", terminal.paint(Ink::yellow, "in service:"), SharedLines::names(live, terminal));
  return out + "\n" + early.text(terminal) + rows_text(plan_rows(plan, writes), "  ", terminal) +
         late.text(terminal);
}

}  // namespace

Ink ink_of(Disruption disruption) {
  switch (disruption) {
    case Disruption::none: return Ink::green;
    case Disruption::traffic: return Ink::yellow;
    case Disruption::reset:
    case Disruption::reboot: return Ink::red;
  }
  return Ink::plain;
}

std::string folded_changes_text(const std::vector<FoldedChange>& lines,
                                const std::vector<PlanOrigin>& origins, std::string_view indent,
                                const Terminal& terminal) {
  return lines_text(change_lines(lines, origins), indent, terminal);
}

std::string plan_text(const Plan& plan, const Terminal& terminal, Detail detail) {
  std::string out;
  for (std::uint32_t wave = 1; wave <= plan.waves(); ++wave)
    out +=
        detail == Detail::folded ? wave_text(plan, wave, terminal) : steps_text(plan, wave, terminal.whole());
  if (plan.refused_by_host())
    out += compose(
        "what is refused, root can allow in {} on that host (`lockstep host-policy explain SETTING`)\n",
        kHostPolicyFile);
  for (const std::string& refusal : plan.refusals)
    out += terminal.paint(Ink::red, "refused unless asked for: " + refusal) + "\n";
  return out;
}

std::string not_applied_text(const std::vector<DeviceState>& states, const Terminal& terminal) {
  struct Reason {
    std::set<std::string_view> rows;
    std::vector<std::string> devices;
    std::size_t entries = 0;
  };
  std::map<std::string, Reason> by_reason;
  for (const DeviceState& state : states) {
    for (const NotApplied& entry : state.not_applied) {
      if (entry.by_hand) continue;  // a difference, which a DriftReport shows
      Reason& reason = by_reason[entry.reason];
      reason.rows.insert(schema_row(entry.path.row()).pattern);
      if (reason.devices.empty() || reason.devices.back() != state.device)
        reason.devices.push_back(state.device);
      ++reason.entries;
    }
  }
  if (by_reason.empty()) return "";
  std::string out = terminal.paint(Ink::bold, "not supported on these devices") + "\n";
  for (const auto& [why, reason] : by_reason) {
    std::string rows;
    for (const std::string_view row : reason.rows) rows += (rows.empty() ? "" : ", ") + std::string(row);
    out += compose("  {} ({})  {}\n", terminal.paint(Ink::yellow, why),
                   counted(reason.entries, "entry", "entries"),
                   terminal.paint(Ink::cyan, fold_hostlist(reason.devices)));
    out += terminal.paint(Ink::dim, "    " + rows) + "\n";
  }
  return out;
}

std::string notes_text(const std::vector<DeviceState>& states, const Terminal& terminal) {
  std::map<std::string, std::vector<std::string>> devices;
  for (const DeviceState& state : states)
    for (const std::string& note : state.observation.notes) devices[note].push_back(state.device);
  std::string out;
  for (const auto& [note, those] : devices)
    out += compose("note: {}  {}\n", note, terminal.paint(Ink::cyan, fold_hostlist(those)));
  return out;
}

std::string maintenance_text(const std::vector<InMaintenance>& all, const Terminal& terminal) {
  std::string out;
  for (const InMaintenance& some : all)
    out += compose("{}{} {}\n", terminal.paint(Ink::yellow, "in maintenance: "), fold_hostlist(some.devices),
                   some.why);
  return out;
}

std::string plan_summary(const Plan& plan) {
  std::size_t disturbing = 0;
  std::set<std::string_view> devices;
  std::set<std::string_view> remedied;
  for (const Step& step : plan.steps) {
    (step.remedy.empty() ? devices : remedied).insert(step.device);
    disturbing += step.live && step.remedy.empty() ? 1 : 0;
  }
  std::string what;
  if (!devices.empty())
    what = counted(plan.steps.size() - plan.remedies(), "step") + " on " + counted(devices.size(), "device");
  if (!remedied.empty())
    what += (what.empty() ? "if needed " : ", and if needed ") +
            counted(plan.remedies(), "remedy", "remedies") + " on " + counted(remedied.size(), "device");
  return compose("{}, {} in {}; {} live traffic; {} not supported on these devices", what,
                 counted(plan.changes(), "change"), counted(plan.waves(), "wave"),
                 counted(disturbing, "step disturbs", "steps disturb"),
                 counted(plan.not_applicable, "entry", "entries"));
}

}  // namespace lockstep
