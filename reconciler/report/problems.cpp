#include "reconciler/report/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/report/change_lines.hpp"
#include "reconciler/report/differences_text.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

std::string_view to_string(Problem::Kind kind) {
  switch (kind) {
    case Problem::Kind::unreachable: return "unreachable";
    case Problem::Kind::daemon: return "daemon";
    case Problem::Kind::port: return "port";
    case Problem::Kind::cabling: return "cabling";
    case Problem::Kind::setting: return "setting";
    case Problem::Kind::symptom: return "symptom";
    case Problem::Kind::unread: return "unread";
  }
  return "symptom";
}

namespace {

std::vector<std::string> in_order(const std::set<std::string>& devices) {
  std::vector<std::string> out(devices.begin(), devices.end());
  sort_names(out);
  return out;
}

std::string port_text(const DriftEntry& item) {
  const Row& row = schema_row(item.path.row());
  const std::string port(item.path.key(0));
  if (row.tells == Tells::carrier) return "no carrier at " + port;
  if (row.type == EntryType::present && !item.have) return "port " + port + " is missing";
  if (row.type == EntryType::boolean && item.want.kind() == Value::Kind::boolean && item.want.as_boolean())
    return "port " + port + " is administratively down, desired up";
  return difference_text(item);
}

std::string end_text(const DriftEntry& item) { return item.device + ":" + std::string(item.path.key(0)); }

// "gpu3:rail1 and gpu4:rail1 are swapped at leaf1:swp3 and leaf1:swp4".
std::string cabling_text(const std::vector<const DriftEntry*>& items) {
  for (const DriftEntry* const one : items)
    for (const DriftEntry* const other : items)
      if (one != other && one->have == other->want && other->have == one->want)
        return fmt::format("{} and {} are swapped at {} and {}", one->want.to_string(),
                           other->want.to_string(), end_text(*one), end_text(*other));
  std::string out;
  for (const DriftEntry* const one : items)
    out += fmt::format("{}{} is connected to {}, desired {}", out.empty() ? "" : "; ", end_text(*one),
                       one->have.to_string(), one->want.to_string());
  return out;
}

std::string unread_text(const DriftReport& report, const std::vector<std::size_t>& entries) {
  const Unobserved& first = report.unobserved[entries.front()];
  const std::string what = entries.size() > 1   ? counted(entries.size(), "entry", "entries")
                           : first.path.empty() ? std::string("part of it")
                                                : first.path;
  return what + (entries.size() > 1 ? " were" : " was") + " not observed: " + first.why;
}

ProblemLine line_of(const DriftReport& report, const Problem& problem) {
  ProblemLine out;
  out.kind = problem.kind;
  out.causes = problem.cause.size();
  out.explains = problem.explains.items.size();
  out.unread = problem.explains.unobserved.size();
  out.unobserved = problem.explains.unobserved;
  out.items = problem.cause.items;
  out.items.insert(out.items.end(), problem.explains.items.begin(), problem.explains.items.end());
  std::set<std::string> devices;
  std::vector<const DriftEntry*> items;
  for (const std::size_t item : problem.cause.items) items.push_back(&report.items[item]);
  for (const DriftEntry* const item : items) devices.insert(item->device);
  out.is_written = !items.empty() && std::ranges::all_of(items, [](const DriftEntry* item) {
    return item->state == DriftState::drifted && item->reason.empty();
  });
  for (const std::size_t one : problem.cause.unobserved) devices.insert(report.unobserved[one].device);
  out.devices = in_order(devices);
  switch (problem.kind) {
    case Problem::Kind::unreachable:
      out.what = "not observed: " + report.unobserved[problem.cause.unobserved.front()].why;
      break;
    case Problem::Kind::unread: out.what = unread_text(report, problem.cause.unobserved); break;
    case Problem::Kind::daemon:
      out.what = items.front()->have ? have_text(*items.front()) : difference_text(*items.front());
      break;
    case Problem::Kind::port:
      out.what = port_text(**std::ranges::min_element(
          items, {}, [](const DriftEntry* one) { return schema_row(one->path.row()).tells; }));
      if (const auto setting = std::ranges::find_if(
              items,
              [](const DriftEntry* one) { return schema_row(one->path.row()).facet != Facet::effect; });
          setting != items.end())
        out.origin = origin_text((*setting)->origin);
      break;
    case Problem::Kind::cabling: out.what = cabling_text(items); break;
    case Problem::Kind::setting:
    case Problem::Kind::symptom: {
      const std::string& reason = items.front()->reason;
      const auto has_it = [&reason](const DriftEntry* one) { return one->reason == reason; };
      if (items.size() > 1 && !reason.empty() && std::ranges::all_of(items, has_it)) {
        out.what = fmt::format("{} ({} entries)", reason, items.size());
        break;
      }
      out.what = differences_text(items);
      out.origin = problem.kind == Problem::Kind::setting ? origin_text(items.front()->origin) : "";
    }
  }
  return out;
}

// Settings that explain nothing else: one line for equal ones, with all of their devices.
class Settings {
 public:
  Settings(const DriftReport& report) : report_(report) {}
  void add(const Problem& problem) {
    std::vector<const DriftEntry*> items;
    for (const std::size_t item : problem.cause.items) items.push_back(&report_.items[item]);
    for (const ReplacedMember& one : take_replaced_members(items))
      replaced_.emplace_back(one.desired->device,
                             ChangeLine{.sign = '~',
                                        .path = one.collection(),
                                        .value = one.actual_key() + " → " + one.desired_key(),
                                        .origin = origin_text(one.desired->origin),
                                        .count = 2,
                                        .ids = {index_of(one.actual), index_of(one.desired)}});
    for (const DriftEntry* const item : items)
      of_device_[item->device].push_back({item->path, item->have, item->want, origin(*item), index_of(item)});
  }
  std::vector<ProblemLine> lines() const {
    std::vector<std::string> order;
    std::map<std::string, std::pair<std::set<std::string>, std::vector<std::vector<ChangeLine>>>> groups;
    const auto add = [&](const std::string& device, ChangeLine line) {
      const std::string key = without_numbers({line});
      const auto [at, is_new] = groups.try_emplace(key);
      if (is_new) order.push_back(key);
      at->second.first.insert(device);
      at->second.second.push_back({std::move(line)});
    };
    for (const auto& [device, line] : replaced_) add(device, line);
    for (const auto& [device, changes] : of_device_)
      for (const ChangeLine& line : change_lines(fold_changes(changes), origins_)) add(device, line);
    std::vector<ProblemLine> out;
    for (const std::string& key : order) {
      const auto& [devices, alike] = groups.at(key);
      const ChangeLine line = merged(alike)->front();
      ProblemLine one;
      one.kind = Problem::Kind::setting;
      one.is_written = true;
      one.devices = in_order(devices);
      one.causes = line.count;
      one.items = line.ids;
      one.origin = line.origin;
      one.what = text_of(line);
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  static std::string text_of(const ChangeLine& line) {
    if (line.sign == '+') return line.path + " is missing" + (line.value.empty() ? "" : ": " + line.value);
    if (line.sign == '-')
      return line.path + (line.value.empty() ? "" : " is " + line.value + ",") + " desired absent";
    const std::size_t arrow = line.value.find(" → ");
    if (arrow == std::string::npos) return line.path + " differs: " + line.value;
    return line.path + " is " + line.value.substr(0, arrow) + ", desired " +
           line.value.substr(arrow + std::string_view(" → ").size());
  }
  std::size_t index_of(const DriftEntry* item) const {
    return static_cast<std::size_t>(item - report_.items.data());
  }
  std::uint32_t origin(const DriftEntry& entry) {
    const auto [at, is_new] = numbers_.try_emplace(entry.origin, static_cast<std::uint32_t>(origins_.size()));
    if (is_new) origins_.push_back(entry.origin);
    return at->second;
  }

  const DriftReport& report_;
  std::map<std::string, std::vector<FoldableChange>> of_device_;
  std::vector<std::pair<std::string, ChangeLine>> replaced_;  // with its device
  std::vector<PlanOrigin> origins_;
  std::map<PlanOrigin, std::uint32_t> numbers_;
};

// Only plain setting differences fold: a problem with a reason gets its own line.
bool folds(const DriftReport& report, const Problem& problem) {
  return problem.kind == Problem::Kind::setting && problem.explains.size() == 0 &&
         std::ranges::all_of(problem.cause.items,
                             [&](std::size_t item) { return report.items[item].reason.empty(); });
}

// Those of the report, and one for each difference that is in none of them.
std::vector<Problem> all_problems(const DriftReport& report) {
  std::vector<Problem> out = report.problems;
  std::set<std::size_t> items;
  std::set<std::size_t> unobserved;
  for (const Problem& problem : out)
    for (const Findings* const some : {&problem.cause, &problem.explains}) {
      items.insert(some->items.begin(), some->items.end());
      unobserved.insert(some->unobserved.begin(), some->unobserved.end());
    }
  for (std::size_t i = 0; i < report.items.size(); ++i) {
    const DriftEntry& item = report.items[i];
    if (items.contains(i) || !item.is_difference()) continue;
    const bool is_effect = item.state == DriftState::effect;
    out.push_back({is_effect ? Problem::Kind::symptom : Problem::Kind::setting, {{i}, {}}, {}});
  }
  for (std::size_t i = 0; i < report.unobserved.size(); ++i) {
    const Unobserved& one = report.unobserved[i];
    if (unobserved.contains(i) || !one.maintenance.empty()) continue;
    out.push_back({one.whole ? Problem::Kind::unreachable : Problem::Kind::unread, {{}, {i}}, {}});
  }
  return out;
}

// The same problem on several devices is one line.
class Lines {
 public:
  void add(ProblemLine line) {
    const std::string key = std::string(to_string(line.kind)) + "\t" + line.what + "\t" + line.origin;
    const auto [at, is_new] = by_key_.try_emplace(key, all_.size());
    if (is_new) return all_.push_back(std::move(line));
    ProblemLine& same = all_[at->second];
    same.devices.insert(same.devices.end(), line.devices.begin(), line.devices.end());
    same.is_written = same.is_written && line.is_written;
    same.causes += line.causes;
    same.explains += line.explains;
    same.unread += line.unread;
    same.items.insert(same.items.end(), line.items.begin(), line.items.end());
    same.unobserved.insert(same.unobserved.end(), line.unobserved.begin(), line.unobserved.end());
  }
  std::vector<ProblemLine> take() {
    for (ProblemLine& one : all_) one.devices = in_order({one.devices.begin(), one.devices.end()});
    return std::move(all_);
  }

 private:
  std::vector<ProblemLine> all_;
  std::map<std::string, std::size_t> by_key_;
};

}  // namespace

Shown explains_text(const ProblemLine& line) {
  if (line.explains + line.unread == 0) return {};
  std::string what;
  if (line.explains > 0) what = counted(line.explains, "difference");
  if (line.unread > 0)
    what += (what.empty() ? "" : " and ") + counted(line.unread, "entry", "entries") + " not observed";
  return compose(" (explains {})", what);
}

std::vector<ProblemLine> problem_lines(const DriftReport& report) {
  Lines lines;
  Settings settings(report);
  for (const Problem& problem : all_problems(report))
    if (folds(report, problem))
      settings.add(problem);
    else
      lines.add(line_of(report, problem));
  std::vector<ProblemLine> out = lines.take();
  const auto effects = std::ranges::stable_partition(out, [](const ProblemLine& one) {
    return one.explains + one.unread > 0 || one.kind < Problem::Kind::setting;
  });
  std::vector<ProblemLine> plain = settings.lines();
  out.insert(effects.begin(), plain.begin(), plain.end());
  return out;
}

std::string problem_rows_text(const std::vector<ProblemLine>& problems, const Terminal& terminal) {
  std::string out;
  for (const ProblemLine& one : problems) {
    const Ink ink =
        one.kind == Problem::Kind::unread || one.kind == Problem::Kind::unreachable ? Ink::yellow : Ink::red;
    std::string what = terminal.paint(ink, one.what);
    out +=
        compose("  {}: ", terminal.paint(Ink::cyan, fold_hostlist(one.devices))) + what + explains_text(one);
    if (!one.origin.empty()) out += "  " + terminal.paint(Ink::dim, one.origin);
    out += "\n";
  }
  return out;
}

std::string problems_text(const std::vector<ProblemLine>& problems, const Terminal& terminal) {
  if (problems.empty()) return "";
  return terminal.paint(Ink::bold, counted(problems.size(), "problem")) + "\n" +
         problem_rows_text(problems, terminal);
}

nlohmann::json problems_json(const std::vector<ProblemLine>& problems) {
  nlohmann::json out = nlohmann::json::array();
  for (const ProblemLine& one : problems)
    out.push_back({{"kind", to_string(one.kind)},
                   {"devices", one.devices},
                   {"what", one.what},
                   {"causes", one.causes},
                   {"explains", one.explains},
                   {"unread", one.unread}});
  return out;
}

}  // namespace lockstep
