#include "reconciler/report/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "drivers/host_policy/policy.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::string origin_text(const Plan& plan, std::uint32_t origin) {
  if (origin == 0 || origin >= plan.origins.size()) return "";
  const PlanOrigin& from = plan.origins[origin];
  if (from.file.empty()) return fmt::format("{} {}", from.object, from.rule);
  const std::size_t slash = from.file.rfind('/');
  return fmt::format("{}:{} {}", slash == std::string::npos ? from.file : from.file.substr(slash + 1),
                     from.line, from.rule);
}

void add_change(const Plan& plan, const FoldedChange& line, Table& table, const Terminal& terminal) {
  const bool adds = !line.was;
  const bool removes = !line.want;
  const Shown sign = adds      ? terminal.paint(Ink::green, "+")
                     : removes ? terminal.paint(Ink::red, "-")
                               : terminal.paint(Ink::yellow, "~");
  std::string value = removes ? value_text(line.row, line.was) : value_text(line.row, line.want);
  if (!adds && !removes) value = value_text(line.row, line.was) + " → " + value;
  if (value == "present") value.clear();
  table.add(
      {compose("{} {}", sign, line.path), value, terminal.paint(Ink::dim, origin_text(plan, line.origin))});
}

std::string changes_text(const Plan& plan, const Step& step, const Terminal& terminal) {
  std::vector<FoldableChange> changes;
  for (const PlannedChange& change : step.changes)
    changes.push_back({change.path, change.was, change.want, change.origin});
  Table table({{""}, {""}, {""}});
  for (const FoldedChange& line : fold_changes(changes)) add_change(plan, line, table, terminal);
  const std::string text = table.render(Terminal{}, "      ");
  return text.substr(text.find('\n') + 1);  // no titles
}

struct StepGroup {
  const Step* first = nullptr;
  std::string changes;
  std::vector<std::string> devices;
};

// With the word that lifts it.
Shown hold_line(const Hold& hold, Disruption disruption, const Terminal& terminal) {
  if (hold.kind == Hold::Kind::host_policy) return terminal.paint(Ink::red, "      refused: " + hold.reason);
  const std::string_view word = word_of(hold.kind, disruption);
  return terminal.paint(Ink::yellow, "      held: " + hold.reason +
                                         (word.empty() ? "" : " (--approve " + std::string(word) + ")"));
}

// The effects that are open now are listed below it.
Shown remedy_line(const Step& step, const Terminal& terminal) {
  std::string rows;
  for (const RowId row : step.if_open)
    rows += (rows.empty() ? "any " : " or ") + std::string(schema_row(row).pattern);
  const std::string when = step.before_writes     ? "before the changes, if still open then"
                           : rows.empty()         ? "if still open when its turn comes"
                           : step.changes.empty() ? "if " + rows + " is open after the changes"
                                                  : "if still open after the changes, or " + rows + " is";
  return compose("    {}, {}\n", terminal.paint(Ink::bold, "remedy " + step.remedy), when);
}

std::vector<StepGroup> groups_of(const Plan& plan, std::uint32_t wave, const Terminal& terminal) {
  std::vector<StepGroup> groups;
  std::map<std::string, std::size_t> by_text;
  for (const Step& step : plan.steps) {
    if (step.wave != wave) continue;
    std::string changes = changes_text(plan, step, terminal);
    std::string key = step.driver + "\n" + step.remedy + "\n" + changes;
    for (const RowId row : step.if_open) key += "\n" + std::string(schema_row(row).pattern);
    for (const std::string& note : step.notes) key += "\n" + note;
    for (const Hold& hold : step.holds) key += "\n" + hold.reason;
    const auto [at, is_new] = by_text.try_emplace(key, groups.size());
    if (is_new) groups.push_back({&step, std::move(changes), {}});
    auto& devices = groups[at->second].devices;
    if (std::find(devices.begin(), devices.end(), step.device) == devices.end())
      devices.push_back(step.device);
  }
  std::ranges::stable_partition(groups, [](const StepGroup& one) { return one.first->before_writes; });
  return groups;
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

std::string plan_text(const Plan& plan, const Terminal& terminal) {
  std::string out;
  for (std::uint32_t wave = 1; wave <= plan.waves(); ++wave) {
    out += terminal.paint(Ink::bold, compose("wave {}", wave)) +
           (plan.is_gated(wave) ? "" : "  not measured before the next one (gate: end)") + "\n";
    for (const StepGroup& group : groups_of(plan, wave, terminal)) {
      const Step& step = *group.first;
      out += compose(
          "  {}  {}  {}{}\n", terminal.paint(Ink::cyan, fold_hostlist(group.devices)), step.driver,
          terminal.paint(ink_of(step.disruption), compose("disruption: {}", to_string(step.disruption))),
          step.live ? terminal.paint(Ink::yellow, "  carries traffic now") : Shown());
      if (!step.remedy.empty()) out += remedy_line(step, terminal);
      out += group.changes;
      for (const std::string& note : step.notes) out += terminal.paint(Ink::dim, "      " + note) + "\n";
      for (const Hold& hold : step.holds) out += hold_line(hold, step.disruption, terminal) + "\n";
    }
  }
  if (plan.refused_by_host())
    out += compose(
        "what is refused, root can allow in {} on that host (`lockstep host-policy explain SETTING`)\n",
        kHostPolicyFile);
  for (const std::string& refusal : plan.refusals)
    out += terminal.paint(Ink::red, "refused unasked: " + refusal) + "\n";
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
      if (entry.by_hand) continue;  // differences: a DriftReport's
      Reason& reason = by_reason[entry.reason];
      reason.rows.insert(schema_row(entry.path.row()).pattern);
      if (reason.devices.empty() || reason.devices.back() != state.device)
        reason.devices.push_back(state.device);
      ++reason.entries;
    }
  }
  if (by_reason.empty()) return "";
  std::string out = terminal.paint(Ink::bold, "can't be applied here") + "\n";
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
    out += compose("noticed: {}  {}\n", note, terminal.paint(Ink::cyan, fold_hostlist(those)));
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
  return compose("{}, {} in {}; {} live traffic; {} can't be applied here", what,
                 counted(plan.changes(), "change"), counted(plan.waves(), "wave"),
                 counted(disturbing, "step disturbs", "steps disturb"),
                 counted(plan.not_applicable, "entry", "entries"));
}

}  // namespace lockstep
