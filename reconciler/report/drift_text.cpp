#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"

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
  Table table({{"device"}, {"entry"}, {"want"}, {"have"}, {"disruption"}, {"wanted by"}});
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

// Entries that differ for a reason are many and alike: one line a reason.
class Folded {
 public:
  void add(const DriftEntry& item) {
    Line& line = lines_[item.reason.empty() ? item.path.text() : item.reason];
    if (std::find(line.devices.begin(), line.devices.end(), item.device) == line.devices.end())
      line.devices.push_back(item.device);
    const std::string wants =
        fmt::format("{}, want {}, have {}", item.path.text(), want_text(item), have_text(item));
    line.wants = line.entries == 0 || line.wants == wants ? wants : "";
    ++line.entries;
  }
  // `in_full`: an entry that has a line for itself is told whole.
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
    std::string wants;  // empty: of several entries
    std::size_t entries = 0;
  };
  std::map<std::string, Line> lines_;
};

std::string folded(const DriftReport& report, DriftState state, const Terminal& terminal) {
  Folded lines;
  for (const DriftEntry& item : report.items)
    if (item.state == state && !item.by_hand) lines.add(item);
  // As a plan says it.
  return lines.text(state == DriftState::not_applied ? "can't be applied here" : to_string(state),
                    ink_of_state(state), false, terminal);
}

// Each member of an item's set is a line, with the devices that have it.
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

// A reason that many devices have in common is one line.
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

}  // namespace

std::string want_text(const DriftEntry& item) {
  return item.want ? value_text(item.path.row(), item.want) : "(absent)";
}
std::string have_text(const DriftEntry& item) {
  return item.have ? value_text(item.path.row(), item.have) : "(absent)";
}

std::string unobserved_sentence(const Unobserved& one) {
  return fmt::format("{}{}{} was not observed: {}", one.device, one.path.empty() ? "" : " ", one.path,
                     one.why);
}

std::string drift_sentence(const DriftEntry& item) {
  return fmt::format(
      "{} {}: want {}, have {}{}", item.device, item.path.text(), want_text(item), have_text(item),
      item.by_hand || (item.state == DriftState::drifted && !item.reason.empty()) ? "; " + item.reason : "");
}

std::string unmended_text(const DriftReport& report, const Terminal& terminal) {
  std::string out;
  add_items(report, DriftState::effect, terminal, out);
  Folded by_hand;
  for (const DriftEntry& item : report.items)
    if (item.by_hand && item.is_difference()) by_hand.add(item);
  return out + by_hand.text("left to a person", Ink::red, true, terminal);
}

std::string findings_text(const DriftReport& report, const Terminal& terminal) {
  return by_member(report, DriftState::finding, terminal) + by_member(report, DriftState::allowed, terminal);
}

// What is found on devices in maintenance, and what of them was not read: told, and no drift.
std::string of_maintenance(const DriftReport& report, const Terminal& terminal) {
  Table table({{"device"}, {"entry"}, {"want"}, {"have"}, {"maintenance"}});
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

std::string drift_text(const DriftReport& report, const Terminal& terminal) {
  std::string out;
  add_items(report, DriftState::drifted, terminal, out);
  Folded refused;
  for (const DriftEntry& item : report.items)
    if (item.state == DriftState::drifted && item.is_difference() && !item.reason.empty()) refused.add(item);
  out += refused.text("no apply can correct", Ink::red, true, terminal);
  out += unmended_text(report, terminal) + findings_text(report, terminal);
  for (const DriftState state : {DriftState::not_applied, DriftState::overruled, DriftState::unmanaged})
    out += folded(report, state, terminal);
  out += of_maintenance(report, terminal);
  add_unobserved(report, terminal, out);
  const std::size_t items = report.differences();
  const std::size_t unread = report.devices - report.observed - report.excused;
  const bool whole = unread == 0;
  const Ink ink = items > 0 ? Ink::red : whole ? Ink::green : Ink::yellow;
  out += terminal.paint(ink, compose("{} of {} devices in sync", report.in_sync, report.devices));
  if (items > 0) out += ", " + counted(items, "difference") + " on " + counted(report.drifted, "device");
  if (report.waiting > 0) out += compose(", {} waiting for a window", report.waiting);
  if (report.in_maintenance > 0) out += compose(", {} in maintenance", report.in_maintenance);
  if (!whole) out += compose(", {} not wholly observed", unread);
  return out + "\n";
}

std::string drift_of_text(const std::string& title, const DriftReport& report,
                          const std::vector<DeviceState>& states, const Terminal& terminal) {
  return terminal.paint(Ink::bold, "drift of " + title) + "\n" + drift_text(report, terminal) +
         notes_text(states, terminal);
}

std::string not_observed_line(const NotObserved& some, const Terminal& terminal) {
  return compose("{}{}: {}", terminal.paint(Ink::yellow, "not observed: "), fold_hostlist(some.devices),
                 some.why);
}

}  // namespace lockstep
