#include "reconciler/report/watch_report.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/escape.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

constexpr const char* kStandsBack =
    "other specs than these were applied there last, or in part; `lockstep apply` of these specs has it "
    "healed again";

std::string line(std::string_view word, const std::string& what) {
  return compose("{:<10}  {}\n", word, what);
}

// A finding that comes is no drift.
std::string_view word_of(const WatchEvent& event) {
  const bool comes = event.kind == WatchEvent::Kind::appeared;
  return comes && event.item.state == DriftState::finding ? to_string(event.item.state)
                                                          : to_string(event.kind);
}

}  // namespace

std::string watching_text(const std::string& title, const Terminal& terminal) {
  return terminal.paint(Ink::bold, "watching " + title) + "; Ctrl-C ends it\n";
}

std::string watch_event_json(const WatchEvent& event) {
  nlohmann::json document;
  if (event.about_entry()) {
    document = drift_item_json(event.item);
  } else {
    document["device"] = event.item.device;
    if (!event.item.maintenance.empty()) document["maintenance"] = event.item.maintenance;
    if (!event.item.reason.empty()) document["reason"] = event.item.reason;
  }
  if (event.returns > 0) document["returns"] = event.returns;
  document["event"] = word_of(event);
  document["microseconds"] = event.since_event.count();
  return json_text(document, -1);
}

std::string watch_event_text(const WatchEvent& event, const Terminal& terminal) {
  const Ink ink = !event.item.maintenance.empty() ? Ink::dim
                  : event.kind == WatchEvent::Kind::cleared || event.kind == WatchEvent::Kind::readable
                      ? Ink::green
                  : event.kind == WatchEvent::Kind::appeared && event.item.differs() ? Ink::red
                                                                                     : Ink::yellow;
  std::string text = pad(terminal.paint(ink, word_of(event)), 10) + "  ";
  if (event.about_entry())
    text += printable(drift_sentence(event.item));
  else
    text += printable(event.item.device + (event.item.reason.empty() ? "" : ": " + event.item.reason));
  if (event.kind == WatchEvent::Kind::flapping && event.returns > 0)
    text += compose("  (came back {} times after it was healed)", event.returns);
  if (!event.item.maintenance.empty()) text += compose("  (in maintenance {})", event.item.maintenance);
  if (event.about_entry() && !event.item.origin.file.empty())
    text += terminal.paint(Ink::dim, compose("  {}:{} {}", event.item.origin.file, event.item.origin.line,
                                             event.item.origin.rule));
  if (event.since_event.count() > 0)
    text += terminal.paint(Ink::dim,
                           compose("  {:.1f} ms", static_cast<double>(event.since_event.count()) / 1000.0));
  return text + "\n";
}

std::string healing_text(const Healing& healing) {
  if (healing.locked) return line("not healed", healing.locked->text());
  const ApplyReport& report = healing.report;
  std::string text = line("healed", compose("{} of {} steps: {}", report.count(StepState::done),
                                            report.steps.size() - report.count(StepState::not_needed),
                                            to_string(report.verdict)));
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (!report.steps[i].why.empty())
      text += line("", compose("{}: {}, {}", healing.plan.steps[i].device, to_string(report.steps[i].state),
                               report.steps[i].why));
  return text;
}

std::string stands_back_text(const std::vector<std::string>& devices) {
  return line("not healed", fold_hostlist(devices) + ": " + kStandsBack);
}

std::string stands_back_json(const std::vector<std::string>& devices) {
  return json_text({{"event", "standsBack"}, {"devices", devices}, {"reason", kStandsBack}}, -1);
}

std::string specs_loaded_text() {
  return line("specs", "loaded again after an edit; what differs from them is reported from here on");
}

std::string specs_loaded_json() { return json_text({{"event", "specs"}, {"loaded", true}}, -1); }

std::string specs_refused_text() {
  return line("specs", "not loaded after an edit; those that were loaded last stay in force");
}

std::string specs_refused_json(const Sources& sources, const Diagnostics& diagnostics) {
  return json_text(
      {{"event", "specs"}, {"loaded", false}, {"errors", error_report(diagnostics, sources)["errors"]}}, -1);
}

std::string not_converging_text(const std::vector<std::string>& left, std::size_t devices) {
  if (left.empty()) return "";
  return line(
      "not healed",
      (left.size() == devices ? "all of it" : fold_hostlist(left)) +
          ": not under `mode: converge`. Its drift is told, and `lockstep apply` heals it; what may heal by "
          "itself has `mode: converge` in its spec, or in the Cluster's for all");
}

}  // namespace lockstep
