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
             ": change {} (begun {} by {}) was cut off: {} writes kept, {} may have happened{}; observing "
             "and going on from there",
             begun.change, begun.begun, begun.author, begun.kept.size(), begun.unsettled.size(),
             begun.unsettled.empty() ? "" : " on " + fold_hostlist(devices_of(begun.unsettled)));
}

std::string owed_line(const OwedDecision& decision, const Terminal& terminal) {
  const char* what = "";
  switch (decision.fate) {
    case OwedDecision::Fate::no_suite: what = "it stays so, as the specs have no ValidationSuite"; break;
    case OwedDecision::Fate::in_maintenance: what = "it stays so while its devices are in maintenance"; break;
    case OwedDecision::Fate::other_devices: what = "it stays so, as this run is for other devices"; break;
    case OwedDecision::Fate::not_measuring: what = "it stays so, as this run does not measure"; break;
    case OwedDecision::Fate::taken:
      what = "this run measures what it can have touched, and keeps or undoes it";
      break;
  }
  return terminal.paint(Ink::yellow, "never measured") +
         compose(": {}; {}", owed_sentence(decision.owed), what);
}

std::string unjudged_text(const Unjudged& all, const Terminal& terminal) {
  std::string text;
  if (!all.writer.empty()) {
    text += terminal.paint(Ink::yellow, "being changed") + compose(" by {}", all.writer);
    for (const OwedChange& one : all.under_way) text += compose(": {}, not judged yet", owed_sentence(one));
    text += "; this is how it is meanwhile\n";
  }
  for (const OwedChange& one : all.left)
    text += terminal.paint(Ink::yellow, "never measured") +
            compose(": {}; the next apply measures what it can have touched, and keeps or undoes it\n",
                    owed_sentence(one));
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
    out += compose("left as {}: {} that earlier changes {}{} and nothing here says any more, on {}\n",
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
