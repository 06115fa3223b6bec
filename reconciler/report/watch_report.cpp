#include "reconciler/report/watch_report.hpp"

#include <ctime>
#include <nlohmann/json.hpp>

#include "reconciler/report/apply_report.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/earlier_runs.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

constexpr const char* kStandsBack =
    "other specs than these were applied there last, or in part; after a `lockstep apply` of these specs it "
    "is repaired again";

std::string line(std::string_view word, const std::string& what) {
  return compose("{:<12}  {}\n", word, what);
}

// A new finding is not drift.
std::string_view word_of(const WatchEvent& event) {
  const bool comes = event.kind == WatchEvent::Kind::appeared;
  return comes && event.item.state == DriftState::finding ? to_string(event.item.state)
                                                          : to_string(event.kind);
}

}  // namespace

std::string watching_text(const std::string& title, const Terminal& terminal) {
  return terminal.paint(Ink::bold, "watching " + title) + "; Ctrl-C ends it\n";
}

std::string clock_text(WallTime at, const Terminal& terminal) {
  const std::time_t seconds = WallTime::clock::to_time_t(at);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return terminal.paint(Ink::dim, compose("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec)) +
         "  ";
}

std::string watch_event_json(const WatchEvent& event, WallTime at) {
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
  document["time"] = utc_text(at);
  document["microseconds"] = event.since_event.count();
  return json_text(document, -1);
}

std::string watch_event_text(const WatchEvent& event, const Terminal& terminal) {
  const Ink ink = !event.item.maintenance.empty() ? Ink::dim
                  : event.kind == WatchEvent::Kind::cleared || event.kind == WatchEvent::Kind::readable
                      ? Ink::green
                  : event.kind == WatchEvent::Kind::appeared && event.item.differs() ? Ink::red
                                                                                     : Ink::yellow;
  const std::string_view word = event.kind == WatchEvent::Kind::unreadable ? "not observed"
                                : event.kind == WatchEvent::Kind::readable ? "observed"
                                                                           : word_of(event);
  std::string text = pad(terminal.paint(ink, word), 12) + "  ";
  if (event.about_entry())
    text += printable(drift_sentence(event.item));
  else
    text += printable(event.item.device + (event.item.reason.empty() ? "" : ": " + event.item.reason));
  if (event.kind == WatchEvent::Kind::flapping && event.returns > 0)
    text += compose("  (came back {} times after it was repaired)", event.returns);
  if (!event.item.maintenance.empty()) text += compose("  (in maintenance {})", event.item.maintenance);
  if (event.about_entry() && !event.item.origin.file.empty())
    text += terminal.paint(Ink::dim, compose("  {}:{} {}", event.item.origin.file, event.item.origin.line,
                                             event.item.origin.rule));
  if (event.since_event.count() > 0)
    text += terminal.paint(Ink::dim, compose("  detected in {:.1f} ms",
                                             static_cast<double>(event.since_event.count()) / 1000.0));
  return text + "\n";
}

std::string healing_text(const Healing& healing) {
  if (healing.locked) return line("not repaired", healing.locked->text());
  const ApplyReport& report = healing.report;
  std::string text = line("repaired", compose("{}: {}", done_text(healing.plan, report),
                                              outcome_words(to_string(report.verdict))));
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (!report.steps[i].why.empty())
      text += line("", compose("{}: {}, {}", healing.plan.steps[i].device,
                               outcome_words(to_string(report.steps[i].state)), report.steps[i].why));
  return text;
}

std::string watch_problem_text(const ProblemLine& problem, const Terminal& terminal) {
  return pad(terminal.paint(Ink::bold, "problem"), 12) + "  " +
         compose("{}: {}{}\n", fold_hostlist(problem.devices), problem.what, explains_text(problem));
}

std::string watch_problem_json(const ProblemLine& problem, WallTime at) {
  nlohmann::json document = problems_json({problem}).front();
  document["event"] = "problem";
  document["time"] = utc_text(at);
  return json_text(document, -1);
}

std::string healing_json(const Healing& healing, WallTime at) {
  const ApplyReport& report = healing.report;
  nlohmann::json document{{"event", healing.locked ? "notHealed" : "healed"}, {"time", utc_text(at)}};
  if (healing.locked) {
    document["reason"] = healing.locked->text();
    return json_text(document, -1);
  }
  document["verdict"] = to_string(report.verdict);
  document["steps"] = nlohmann::json::array();
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    document["steps"].push_back({{"device", healing.plan.steps[i].device},
                                 {"state", to_string(report.steps[i].state)},
                                 {"why", report.steps[i].why}});
  return json_text(document, -1);
}

std::string stands_back_text(const std::vector<std::string>& devices) {
  return line("not repaired", fold_hostlist(devices) + ": " + kStandsBack);
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
  return line("not repaired", (left.size() == devices ? "all devices" : fold_hostlist(left)) +
                                  ": not under `mode: converge`. Drift is reported, and `lockstep apply` "
                                  "repairs it; for automatic repair, set `mode: converge` in a spec, or in "
                                  "the Cluster for all");
}

}  // namespace lockstep
