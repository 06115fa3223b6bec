#include "reconciler/report/earlier_runs.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/engine/plan.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/session/former_entries.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {

std::string outcome_words(std::string_view outcome) {
  if (outcome == "undone") return "rolled back";
  if (outcome == "undone in part") return "rolled back in part";
  if (outcome == "undo failed") return "rollback failed";
  if (outcome == "effects open") return "kept, effects missing";
  return std::string(outcome);
}

std::string owed_sentence(const OwedChange& owed) {
  return fmt::format("change {} (begun {} by {}) on {}", owed.change, owed.begun, owed.author,
                     fold_hostlist(devices_of(owed.tickets)));
}

nlohmann::json owed_json(const std::vector<OwedChange>& owed) {
  nlohmann::json out = nlohmann::json::array();
  for (const OwedChange& one : owed)
    out.push_back({{"change", one.change},
                   {"begun", one.begun},
                   {"author", one.author},
                   {"devices", devices_of(one.tickets)}});
  return out;
}

std::string in_flight_line(const InFlight& begun, const Terminal& terminal) {
  return terminal.paint(Ink::yellow, "in flight") +
         compose(
             ": change {} (begun {} by {}) did not end: {} of its writes are kept, {} are unknown{}; this "
             "run observes and continues",
             begun.change, begun.begun, begun.author, begun.kept.size(), begun.unsettled.size(),
             begun.unsettled.empty() ? "" : " on " + fold_hostlist(devices_of(begun.unsettled)));
}

namespace {

// `run`: "this run", "the next apply".
std::string what_follows(OwedDecision::Fate fate, const std::string& run) {
  switch (fate) {
    case OwedDecision::Fate::taken:
      return run + " measures what it can have touched, and keeps it or rolls it back";
    case OwedDecision::Fate::no_suite: return "it stays so, as the specs have no ValidationSuite";
    case OwedDecision::Fate::in_maintenance: return "it stays so while its devices are in maintenance";
    case OwedDecision::Fate::other_devices: return "it stays so, as this run is for other devices";
    case OwedDecision::Fate::not_measuring: return "it stays so, as this run does not measure";
  }
  return "";
}

std::string decision_line(const OwedDecision& one, const std::string& run, const Terminal& terminal) {
  const std::set<std::string>& subjects = one.owed.subjects;
  std::string why;
  if (one.measured)
    why = subjects.empty() ? ": no benchmark could tell"
                           : ": no benchmark could tell " + *subjects.begin() + and_more(subjects.size() - 1);
  return terminal.paint(Ink::yellow, one.measured ? "not validated yet" : "never measured") +
         compose(": {}{}; {}", owed_sentence(one.owed), why, what_follows(one.fate, run));
}

}  // namespace

std::string owed_line(const OwedDecision& decision, const Terminal& terminal) {
  return decision_line(decision, "this run", terminal);
}

std::string unjudged_text(const Unjudged& all, const Terminal& terminal) {
  std::string text;
  if (!all.writer.empty()) {
    text += terminal.paint(Ink::yellow, "being changed") + compose(" by {}", all.writer);
    for (const OwedChange& one : all.under_way) text += compose(": {}, not judged yet", owed_sentence(one));
    text += "; this is how it is meanwhile\n";
  }
  for (const OwedDecision& one : all.left) text += decision_line(one, "the next apply", terminal) + "\n";
  return text;
}

std::string left_behind_text(const std::vector<WrittenEntry>& left) {
  struct Left {
    std::size_t count = 0;
    std::set<std::string> devices;
  };
  std::map<std::pair<std::string, bool>, Left> by_object;
  for (const WrittenEntry& one : left) {
    Left& what = by_object[{one.object, !is_verified(one)}];
    ++what.count;
    what.devices.insert(one.device);
  }
  std::string out;
  for (const auto& [key, what] : by_object)
    out += compose("left as {}: {} that earlier changes {}{} and these specs no longer mention, on {}\n",
                   what.count == 1 ? "it is" : "they are", counted(what.count, "setting", "settings"),
                   key.second ? "may have written" : "wrote", key.first.empty() ? "" : " for " + key.first,
                   fold_hostlist({what.devices.begin(), what.devices.end()}));
  return out;
}

nlohmann::json left_behind_json(const std::vector<WrittenEntry>& left) {
  nlohmann::json all = nlohmann::json::array();
  for (const WrittenEntry& one : left)
    all.push_back({{"device", one.device},
                   {"path", one.path.text()},
                   {"found", to_json(one.found)},
                   {"wrote", to_json(one.tried.value_or(one.wrote))},
                   {"verified", is_verified(one)},
                   {"object", one.object}});
  return all;
}

}  // namespace lockstep
