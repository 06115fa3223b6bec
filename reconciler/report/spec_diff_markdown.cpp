#include <fmt/format.h>

#include <array>
#include <map>

#include "reconciler/report/change_lines.hpp"
#include "reconciler/report/fitting_lines.hpp"
#include "reconciler/report/plan_rows.hpp"
#include "reconciler/report/spec_diff_report.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// One page, about: a screen of rows, each on one or two lines.
constexpr std::size_t kPageRows = 40;
constexpr std::size_t kPageBytes = 32'000;
constexpr std::size_t kCellColumns = 120;

std::string cell(const std::string& text) { return fitting_code(text, kCellColumns); }

std::string devices_text(const std::vector<std::string>& devices) {
  return fmt::format("{}: {}", counted(devices.size(), "device"), cell(fold_hostlist(devices)));
}

// The changes of one disruption, each kind once with all devices and ports, as a plan shows them.
std::vector<PlanRow> rows_of(const SpecDiff& diff, Disruption disruption) {
  Plan plan;
  plan.origins = diff.origins;
  for (const DeviceDiff& device : diff.differ) {
    if (device.kind != DeviceDiff::Kind::changed) continue;
    Step step;
    step.device = device.device;
    for (const EntryDiff& one : device.entries)
      if (one.disruption == disruption)
        step.changes.push_back({one.change.path, one.change.was, one.change.want, one.change.origin});
    if (!step.changes.empty()) plan.steps.push_back(std::move(step));
  }
  std::vector<const Step*> steps;
  for (const Step& step : plan.steps) steps.push_back(&step);
  return plan_rows(plan, steps);
}

// Rows that differ only in numbers and in their place: as one, if there are more than two.
std::vector<PlanRow> numbers_folded(const std::vector<PlanRow>& rows) {
  std::vector<std::vector<PlanRow>> groups;
  std::map<std::string, std::size_t> by_key;
  for (const PlanRow& row : rows) {
    const std::string key = fmt::format("{}\t{}\t{}\t{}", row.sign, row.entry, without_numbers(row.value),
                                        without_numbers(row.origin));
    const auto [at, is_new] = by_key.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(row);
  }
  std::vector<PlanRow> out;
  for (const std::vector<PlanRow>& group : groups) {
    if (group.size() <= 2) {
      out.insert(out.end(), group.begin(), group.end());
      continue;
    }
    std::vector<std::string> values;
    for (const PlanRow& row : group) values.push_back(row.value);
    PlanRow whole = group.front();
    whole.value = each_from_least_to_greatest(values);
    whole.where += fmt::format(" and {} more", group.size() - 1);
    out.push_back(std::move(whole));
  }
  return out;
}

std::string row_text(const PlanRow& row, Disruption disruption) {
  return fmt::format("| {} | {} {} | {} | {} | {} |\n", to_string(disruption), row.sign, cell(row.entry),
                     cell(row.value), cell(row.where), cell(row.origin));
}

// What needs approval, and which devices come and go.
std::string notable_text(const SpecDiff& diff) {
  std::map<Disruption, std::vector<std::string>> approvals;
  std::array<std::vector<std::string>, 2> whole;  // added, removed
  for (const DeviceDiff& one : diff.differ) {
    for (const Disruption disruption : one.approvals) approvals[disruption].push_back(one.device);
    if (one.kind == DeviceDiff::Kind::added) whole[0].push_back(one.device);
    if (one.kind == DeviceDiff::Kind::removed) whole[1].push_back(one.device);
  }
  std::string out;
  for (auto some = approvals.rbegin(); some != approvals.rend(); ++some)
    out += fmt::format("- **Needs approval**{} (`--approve approval:{}`): {}\n",
                       some->first == Disruption::traffic ? " where traffic flows" : "",
                       to_string(some->first), devices_text(some->second));
  if (!whole[0].empty()) out += "- Added: " + devices_text(whole[0]) + "\n";
  if (!whole[1].empty()) out += "- Removed: " + devices_text(whole[1]) + "\n";
  return out.empty() ? out : out + "\n";
}

}  // namespace

std::string spec_diff_markdown(const SpecDiff& diff) {
  FittingLines lines(kPageRows, kPageBytes);
  for (const Disruption disruption :
       {Disruption::reboot, Disruption::reset, Disruption::traffic, Disruption::none})
    for (const PlanRow& row : numbers_folded(rows_of(diff, disruption))) lines.add(row_text(row, disruption));
  std::string out = fmt::format("### {}: {}\n\n", cell(diff.now), spec_diff_summary(diff));
  if (diff.was != diff.now) out += fmt::format("The cluster was called {}.\n\n", cell(diff.was));
  out += notable_text(diff);
  if (!lines.text().empty() || lines.left_out() > 0)
    out += "| disruption | entry | change | where | origin |\n|---|---|---|---|---|\n" + lines.text() + "\n";
  if (lines.left_out() > 0)
    out += fmt::format("And {}; `lockstep diff` shows all.\n\n", counted(lines.left_out(), "more row"));
  return out + "Policies, suites and modes are not compared.\n";
}

}  // namespace lockstep
