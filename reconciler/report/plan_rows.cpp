#include "reconciler/report/plan_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reconciler/report/change_lines.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// Usually it is the last one: lines come step by step.
void add_once(std::vector<std::string>& all, const std::string& one) {
  if (!all.empty() && all.back() == one) return;
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

std::string folded(std::vector<std::string> names) {
  sort_names(names);
  return fold_hostlist(names);
}

// Groups equal lines.
struct Group {
  char sign = '~';
  std::vector<std::string> entries;
  std::vector<std::string> values;
  std::vector<std::string> origins;
  std::vector<std::string> devices;  // in order
  std::map<std::string, std::vector<std::string>> ports;
  std::size_t count = 0;

  void add(const std::string& device, const ChangeLine& line) {
    sign = line.sign;
    entries.push_back(line.entry());
    values.push_back(line.value);
    add_once(origins, line.origin);
    add_once(devices, device);
    for (const std::string& port : line.ports) add_once(ports[device], port);
    count += line.count;
  }

  // Devices with the same ports together.
  std::string where() const {
    std::map<std::string, std::vector<std::string>> by_ports;
    for (const std::string& device : devices) {
      const auto of = ports.find(device);
      by_ports[of == ports.end() ? "" : folded(of->second)].push_back(device);
    }
    std::vector<std::string> alike;
    for (const auto& [names, of] : by_ports) alike.push_back(folded(of) + (names.empty() ? "" : ":" + names));
    sort_names(alike);
    return fmt::format("{}", fmt::join(alike, ", "));
  }

  // "fabric.yaml:12,14 cabling": lines of one file with the same field.
  std::string origin() const {
    std::string out;
    std::string last_file;
    std::string rule;
    std::vector<std::string> sorted = origins;
    sort_names(sorted);
    for (const std::string& one : sorted) {
      const std::size_t blank = one.find(' ');
      const std::size_t colon = one.find(':');
      if (blank == std::string::npos || colon > blank) return one;
      const std::string file = one.substr(0, colon);
      rule = one.substr(blank);
      out += (out.empty() ? "" : ",") +
             (file == last_file ? one.substr(colon + 1, blank - colon - 1) : one.substr(0, blank));
      last_file = file;
    }
    return out + rule;
  }
};

// Equal except for numbers, and derived by the same rule of the specs.
std::string key_of(const ChangeLine& line) {
  const std::size_t blank = line.origin.find(' ');
  const std::string rule = blank == std::string::npos ? line.origin : line.origin.substr(blank);
  // For a replaced value, numbers are significant; addresses may vary.
  const bool is_exact = line.sign == '~' && line.value.find('.') == std::string::npos;
  return line.sign + without_numbers(line.entry()) + "\t" +
         (is_exact ? line.value : without_numbers(line.value)) + "\t" + rule;
}

}  // namespace

std::vector<PlanRow> plan_rows(const Plan& plan, const std::vector<const Step*>& steps) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> by_key;
  for (const Step* const step : steps) {
    std::vector<FoldableChange> changes;
    for (const PlannedChange& change : step->changes)
      changes.push_back({change.path, change.was, change.want, change.origin});
    for (const ChangeLine& line : change_lines(fold_changes(changes), plan.origins)) {
      const auto [at, is_new] = by_key.try_emplace(key_of(line), groups.size());
      if (is_new) groups.emplace_back();
      groups[at->second].add(step->device, line);
    }
  }
  std::vector<PlanRow> out;
  for (const Group& group : groups)
    out.push_back({group.sign, from_least_to_greatest(group.entries),
                   each_from_least_to_greatest(group.values), group.where(), group.origin(), group.count});
  std::ranges::stable_sort(
      out, [](const PlanRow& a, const PlanRow& b) { return compare_natural(a.entry, b.entry) < 0; });
  return out;
}

Shown signed_entry(char sign, const std::string& entry, const Terminal& terminal) {
  const Ink ink = sign == '+' ? Ink::green : sign == '-' ? Ink::red : Ink::yellow;
  return compose("{} {}", terminal.paint(ink, std::string(1, sign)), entry);
}

std::string rows_text(const std::vector<PlanRow>& rows, std::string_view indent, const Terminal& terminal) {
  Table table({{""}, {""}, {""}, {""}});
  for (const PlanRow& row : rows) {
    table.add({signed_entry(row.sign, row.entry, terminal), row.value, terminal.paint(Ink::cyan, row.where),
               terminal.paint(Ink::dim, row.origin)});
  }
  return table.rows(terminal, indent);
}

}  // namespace lockstep
