#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/problems.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/report/unsupported.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::string place_of(const PlanOrigin& origin) {
  return origin.file.empty() ? origin.object
                             : fmt::format("{}:{}:{}", origin.file, origin.line, origin.column);
}

Ink ink_of_state(DriftState state) {
  switch (state) {
    case DriftState::drifted:
    case DriftState::effect: return Ink::red;
    case DriftState::not_applied:
    case DriftState::finding:
    case DriftState::overruled: return Ink::yellow;
    case DriftState::allowed:
    case DriftState::unmanaged: return Ink::dim;
  }
  return Ink::plain;
}

void add_items(const DriftReport& report, DriftState state, const Terminal& terminal, std::string& out) {
  Table table({{"device"}, {"entry"}, {"desired"}, {"actual"}, {"disruption"}, {"origin"}});
  for (const DriftEntry& item : report.items) {
    if (item.state != state || (item.differs() && !item.is_difference())) continue;
    const std::string flaps = item.flapping ? " (flapping)" : "";
    table.add({terminal.paint(Ink::cyan, item.device), item.path.text() + flaps, want_text(item),
               terminal.paint(ink_of_state(state), have_text(item)),
               terminal.paint(ink_of(item.disruption), to_string(item.disruption)),
               terminal.paint(Ink::dim, place_of(item.origin) + " " + item.origin.rule)});
  }
  if (table.empty()) return;
  out += terminal.paint(Ink::bold, std::string(to_string(state))) + "\n" + table.render(terminal, "  ");
}

// Many entries differ for the same reason: one line per reason.
class Folded {
 public:
  void add(const DriftEntry& item) {
    Line& line = lines_[item.reason.empty() ? item.path.text() : item.reason];
    if (std::find(line.devices.begin(), line.devices.end(), item.device) == line.devices.end())
      line.devices.push_back(item.device);
    const std::string wants =
        fmt::format("{}, desired {}, actual {}", item.path.text(), want_text(item), have_text(item));
    line.wants = line.entries == 0 || line.wants == wants ? wants : "";
    ++line.entries;
  }
  // `in_full`: an entry with its own line is shown in full.
  std::string text(std::string_view title, Ink ink, bool in_full, const Terminal& terminal) const {
    if (lines_.empty()) return "";
    std::string out = terminal.paint(Ink::bold, std::string(title)) + "\n";
    for (const auto& [reason, line] : lines_)
      out += compose("  {} ({})  {}\n", terminal.paint(ink, reason),
                     in_full && !line.wants.empty() ? line.wants : counted(line.entries, "entry", "entries"),
                     terminal.paint(Ink::cyan, fold_hostlist(line.devices)));
    return out;
  }

 private:
  struct Line {
    std::vector<std::string> devices;
    std::string wants;  // empty: several entries differ in it
    std::size_t entries = 0;
  };
  std::map<std::string, Line> lines_;
};

std::string folded(const DriftReport& report, DriftState state, const Terminal& terminal) {
  Folded lines;
  for (const DriftEntry& item : report.items)
    if (item.state == state) lines.add(item);
  return lines.text(to_string(state), ink_of_state(state), false, terminal);
}

// One line per member of an item's set, with the devices that have it.
std::string by_member(const DriftReport& report, DriftState state, const Terminal& terminal) {
  std::map<std::string, std::set<std::string>> devices;
  for (const DriftEntry& item : report.items) {
    if (item.state != state || item.have.kind() != Value::Kind::list) continue;
    const std::string why = item.reason.empty() ? "" : "  (" + item.reason + ")";
    for (const std::string_view one : item.have.as_list())
      devices[std::string(one) + why].insert(item.device);
  }
  if (devices.empty()) return "";
  std::string out = terminal.paint(Ink::bold, std::string(to_string(state))) + "\n";
  for (const auto& [line, those] : devices)
    out += compose("  {}  {}\n", terminal.paint(ink_of_state(state), line),
                   terminal.paint(Ink::cyan, fold_hostlist({those.begin(), those.end()})));
  return out;
}

// A reason common to many devices is one line.
void add_unobserved(const DriftReport& report, const Terminal& terminal, std::string& out) {
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<std::string>> devices;
  for (const Unobserved& one : report.unobserved) {
    if (!one.maintenance.empty()) continue;
    const std::string reason = (one.path.empty() ? "" : one.path + ": ") + one.why;
    const auto [at, is_new] = devices.try_emplace(reason);
    if (is_new) reasons.push_back(reason);
    at->second.push_back(one.device);
  }
  if (reasons.empty()) return;
  out += terminal.paint(Ink::bold, "not observed") + "\n";
  Table table({{"devices"}, {"why"}});
  for (const std::string& reason : reasons)
    table.add(
        {terminal.paint(Ink::cyan, fold_hostlist(devices[reason])), terminal.paint(Ink::yellow, reason)});
  out += table.render(terminal, "  ");
}

// A member of a collection is "present" or "absent"; the brackets mark that there is no value.
std::string text_of(RowId row, Value value) {
  if (value) return value_text(row, value);
  return schema_row(row).type == EntryType::present ? "absent" : "(absent)";
}

}  // namespace

std::string want_text(const DriftEntry& item) { return text_of(item.path.row(), item.want); }
std::string have_text(const DriftEntry& item) { return text_of(item.path.row(), item.have); }

std::string unobserved_sentence(const Unobserved& one) {
  return fmt::format("{}{}{} was not observed: {}", one.device, one.path.empty() ? "" : " ", one.path,
                     one.why);
}

std::string drift_sentence(const DriftEntry& item) {
  return fmt::format(
      "{} {}: desired {}, actual {}{}", item.device, item.path.text(), want_text(item), have_text(item),
      item.by_hand || (item.state == DriftState::drifted && !item.reason.empty()) ? "; " + item.reason : "");
}

std::string unmended_text(const DriftReport& report, const Terminal& terminal) {
  std::string out;
  add_items(report, DriftState::effect, terminal, out);
  Folded by_hand;
  for (const DriftEntry& item : report.items)
    if (item.by_hand && item.is_difference()) by_hand.add(item);
  return out + by_hand.text("requires manual action", Ink::red, true, terminal);
}

std::string findings_text(const DriftReport& report, const Terminal& terminal) {
  return by_member(report, DriftState::finding, terminal) + by_member(report, DriftState::allowed, terminal);
}

// Findings on devices in maintenance, and what could not be observed there: shown, but not as drift.
std::string of_maintenance(const DriftReport& report, const Terminal& terminal) {
  Table table({{"device"}, {"entry"}, {"desired"}, {"actual"}, {"maintenance"}});
  for (const DriftEntry& item : report.items)
    if (item.differs() && !item.is_difference())
      table.add({terminal.paint(Ink::cyan, item.device), item.path.text(), want_text(item), have_text(item),
                 item.maintenance});
  for (const Unobserved& one : report.unobserved)
    if (!one.maintenance.empty())
      table.add(
          {terminal.paint(Ink::cyan, one.device), one.path, "", "not observed: " + one.why, one.maintenance});
  if (table.empty()) return "";
  return terminal.paint(Ink::bold, "in maintenance") + "\n" + table.render(terminal, "  ");
}

// `all`: devices of which at least a part was not observed.
std::string unobserved_text(const DriftReport& report, std::size_t all) {
  std::set<std::string> none;
  for (const Unobserved& one : report.unobserved)
    if (one.whole && one.maintenance.empty()) none.insert(one.device);
  const std::size_t whole = std::min(none.size(), all);
  std::string out;
  if (whole > 0) out += ", " + counted(whole, "device") + " not observed";
  if (all > whole) out += ", " + counted(all - whole, "device") + " partly observed";
  return out;
}

std::string drift_text(const DriftReport& report, const Terminal& terminal, Detail detail) {
  const std::vector<ProblemLine> problems = problem_lines(report);
  std::string out = problems_text(problems, terminal);
  if (detail == Detail::every_change) {
    add_items(report, DriftState::drifted, terminal, out);
    Folded refused;
    for (const DriftEntry& item : report.items)
      if (item.state == DriftState::drifted && item.is_difference() && !item.reason.empty())
        refused.add(item);
    out += refused.text("no apply can correct", Ink::red, true, terminal) + unmended_text(report, terminal);
  }
  out += findings_text(report, terminal);
  if (detail == Detail::every_change) out += Unsupported(report).text(terminal);
  for (const DriftState state : {DriftState::overruled, DriftState::unmanaged})
    out += folded(report, state, terminal);
  out += of_maintenance(report, terminal);
  if (detail == Detail::every_change) add_unobserved(report, terminal, out);
  const std::size_t items = report.differences();
  const std::size_t unread = report.devices - report.observed - report.excused;
  const bool whole = unread == 0;
  const Ink ink = items > 0 ? Ink::red : whole ? Ink::green : Ink::yellow;
  out += terminal.paint(ink, compose("{} of {} devices in sync", report.in_sync, report.devices));
  if (items > 0) out += ", " + counted(items, "difference") + " on " + counted(report.drifted, "device");
  if (report.waiting > 0) out += compose(", {} waiting for a window", report.waiting);
  if (report.in_maintenance > 0) out += compose(", {} in maintenance", report.in_maintenance);
  out += unobserved_text(report, unread);
  out += "\n";
  const auto not_applied = std::ranges::count_if(report.items, [](const DriftEntry& item) {
    return item.state == DriftState::not_applied && !item.by_hand;
  });
  if (detail == Detail::every_change) return out;
  std::string more;
  if (!problems.empty()) more = "--details shows every difference";
  if (not_applied > 0)
    more += compose("{}{} not supported on these devices{}", more.empty() ? "" : "; ",
                    counted(static_cast<std::size_t>(not_applied), "entry", "entries"),
                    more.empty() ? " (--details shows them)" : "");
  return more.empty() ? out : out + terminal.paint(Ink::dim, more) + "\n";
}

std::string drift_of_text(const std::string& title, const DriftReport& report,
                          const std::vector<DeviceState>& states, const Terminal& terminal, Detail detail) {
  return terminal.paint(Ink::bold, "drift of " + title) + "\n" + drift_text(report, terminal, detail) +
         notes_text(states, terminal);
}

std::string not_observed_line(const NotObserved& some, const Terminal& terminal) {
  return compose("{}{}: {}", terminal.paint(Ink::yellow, "not observed: "), fold_hostlist(some.devices),
                 some.why);
}

}  // namespace lockstep
