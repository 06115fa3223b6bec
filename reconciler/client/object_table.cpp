#include "reconciler/client/object_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reconciler/client/human_age.hpp"
#include "reconciler/client/object_fields.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;

struct Looking {
  const Terminal& terminal;
  WallTime now;
  bool wide;
};
using Cells = std::vector<Table::Cell>;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string age_at(const Json& object, const char* path, const Looking& by) {
  const std::string text = text_at(object, path);
  return text.empty() ? "-" : human_age(text, by.now);
}

// The reason of the condition Ready, in its colour: "InSync", "Drifted". `otherwise`: where nothing proves
// it, or not yet.
Shown ready_of(const Json& object, const Terminal& terminal, const std::string& also,
               const std::string& otherwise = "Unknown") {
  const Json* const ready = condition_of(object, "Ready");
  const std::string status = ready == nullptr ? "" : text_at(*ready, "status");
  if (status == "True") return terminal.paint(Ink::green, or_dash(text_at(*ready, "reason")) + also);
  if (status == "False") return terminal.paint(Ink::red, or_dash(text_at(*ready, "reason")) + also);
  return terminal.paint(Ink::yellow, otherwise + also);
}

// What the last observation alone says: conditions wait for a second one.
std::string seen_as(const Json& device) {
  if (find_at(device, "status.observedAt") == nullptr) return "Unknown";
  if (!is_true_at(device, "status.reachable")) return "Unreachable";
  if (!is_true_at(device, "status.complete")) return "Incomplete";
  return is_true_at(device, "status.inSync") ? "InSync" : "Drifted";
}

Cells cluster_cells(const Json& object, const Looking& by) {
  const std::string known = text_at(object, "status.devices.known");
  std::string doing = text_at(object, "status.run.phase");
  if (!doing.empty()) {
    doing = "runs " + short_revision(text_at(object, "status.run.revision.source")) + ": wave " +
            text_at(object, "status.run.wave") + " of " + text_at(object, "status.run.waves") + ", " + doing;
  } else if (const Json* const ready = condition_of(object, "Ready"); ready != nullptr) {
    doing = text_at(*ready, "message");
  }
  // The reason of Ready says so too, unless there is a graver one.
  const Json* const ready_now = condition_of(object, "Ready");
  const bool says_so = ready_now != nullptr && text_at(*ready_now, "reason") == "Suspended";
  const bool also = find_at(object, "spec.suspended") != nullptr && !says_so;
  Cells out{text_at(object, "metadata.name"),
            ready_of(object, by.terminal, also ? ",Suspended" : ""),
            or_dash(known),
            or_dash(text_at(object, "status.devices.inSync")),
            or_dash(text_at(object, "status.devices.unreachable")),
            or_dash(short_revision(text_at(object, "status.lastGood.source"), by.wide))};
  if (by.wide) {
    out.emplace_back(or_dash(text_at(object, "status.devices.cordoned")));
    out.emplace_back(or_dash(text_at(object, "status.source.title")));
    out.emplace_back(age_at(object, "status.source.fetchedAt", by));
  }
  out.emplace_back(doing);
  return out;
}

Ink ink_of_state(const std::string& state) {
  if (state == "kept") return Ink::green;
  if (state == "refused") return Ink::red;
  if (state == "waiting" || state == "running" || state == "pending") return Ink::yellow;
  return Ink::plain;
}

Cells revision_cells(const Json& object, const Looking& by) {
  const std::string state = text_at(object, "status.state");
  const std::string waits = text_at(object, "status.waitingInAll");
  Cells out{short_revision(text_at(object, "metadata.name"), by.wide),
            by.terminal.paint(ink_of_state(state),
                              state + (is_true_at(object, "status.lastGood") ? ",lastGood" : "")),
            waits == "0" ? "-" : or_dash(waits), age_at(object, "status.since", by)};
  if (by.wide) {
    out.emplace_back(or_dash(text_at(object, "spec.intents")));
    out.emplace_back(or_dash(text_at(object, "spec.author")));
    out.emplace_back(or_dash(text_at(object, "spec.subject")));
  }
  const std::string message = text_at(object, "status.message");
  out.emplace_back(message.empty() && !by.wide ? text_at(object, "spec.subject") : message);
  return out;
}

Cells device_cells(const Json& object, const Looking& by) {
  const bool cordoned = find_at(object, "spec.cordoned") != nullptr;
  std::string message = text_at(object, "status.message");
  if (message.empty()) message = text_at(object, "status.maintenance");
  if (message.empty() && cordoned)
    message = text_at(object, "spec.cordoned.by") + ": " + text_at(object, "spec.cordoned.reason");
  const Json* const labels = find_at(object, "metadata.labels");
  const auto role =
      labels != nullptr && labels->is_object() ? labels->find("lockstep.dev/role") : Json::const_iterator();
  Cells out{text_at(object, "metadata.name"),
            labels != nullptr && labels->is_object() && role != labels->end() && role->is_string()
                ? role->get<std::string>()
                : "-",
            ready_of(object, by.terminal, cordoned ? ",Cordoned" : "", seen_as(object)),
            or_dash(text_at(object, "status.differences")), age_at(object, "status.observedAt", by)};
  if (by.wide) {
    const Json* const ready = condition_of(object, "Ready");
    out.emplace_back(ready == nullptr ? "-" : age_at(*ready, "lastTransitionTime", by));
    out.emplace_back(cordoned ? text_at(object, "spec.cordoned.by") : "-");
    out.emplace_back(or_dash(text_at(object, "status.maintenance")));
  }
  out.emplace_back(message);
  return out;
}

Cells change_cells(const Json& object, const Looking& by) {
  const std::string outcome = text_at(object, "status.outcome");
  const auto begun = utc_time(text_at(object, "status.begun"));
  const auto ended = utc_time(text_at(object, "status.ended"));
  Cells out{text_at(object, "metadata.name"),
            or_dash(outcome),
            std::to_string(size_at(object, "status.devices")),
            or_dash(text_at(object, "status.steps")),
            age_at(object, "status.begun", by),
            begun && ended ? human_duration(std::chrono::floor<std::chrono::seconds>(*ended - *begun)) : "-",
            or_dash(text_at(object, "spec.author"))};
  if (by.wide) out.emplace_back(or_dash(text_at(object, "spec.digest")));
  out.emplace_back(text_at(object, "spec.reason"));
  return out;
}

Cells run_cells(const Json& object, const Looking& by) {
  const std::string verdict = text_at(object, "status.verdict");
  const Ink ink = verdict == "pass" ? Ink::green : verdict == "fail" ? Ink::red : Ink::yellow;
  Cells out{text_at(object, "metadata.name"),           by.terminal.paint(ink, or_dash(verdict)),
            or_dash(text_at(object, "spec.purpose")),   or_dash(text_at(object, "status.change")),
            or_dash(text_at(object, "status.figures")), age_at(object, "status.at", by),
            or_dash(text_at(object, "spec.author"))};
  if (by.wide)
    for (const char* const path : {"spec.command", "status.version", "status.kernel", "status.configHash"})
      out.emplace_back(or_dash(text_at(object, path)));
  return out;
}

// "20.00 USD".
std::string cost_of(const Json& finding) {
  const Json* const cost = find_at(finding, "status.costPerHour");
  if (cost == nullptr || !cost->is_number()) return "-";
  return fmt::format("{:.2f} {}", cost->get<double>(), text_at(finding, "status.currency"));
}

Cells finding_cells(const Json& object, const Looking& by) {
  const Json* const devices = find_at(object, "status.devices");
  std::vector<std::string> names;
  if (devices != nullptr && devices->is_array())
    for (const Json& one : *devices)
      if (one.is_string()) names.push_back(one.get<std::string>());
  Cells out{text_at(object, "metadata.name"),
            or_dash(text_at(object, "status.kind")),
            or_dash(fold_hostlist(names)),
            or_dash(text_at(object, "status.explains")),
            cost_of(object),
            age_at(object, "status.since", by)};
  if (by.wide) {
    out.emplace_back(or_dash(text_at(object, "status.origin")));
    out.emplace_back(or_dash(text_at(object, "status.action")));
  }
  out.emplace_back(text_at(object, "status.fault"));
  return out;
}

Cells event_cells(const Json& object, const Looking& by) {
  const std::string type = text_at(object, "type");
  const std::string name = text_at(object, "involvedObject.name");
  const std::string kind = text_at(object, "involvedObject.kind");
  const KindRow* const row = find_kind(kind);
  const std::string shown = kind == revision_kind().name ? short_revision(name, by.wide) : name;
  Cells out{age_at(object, "lastTimestamp", by),
            by.terminal.paint(type == "Warning" ? Ink::yellow : Ink::plain, or_dash(type)),
            or_dash(text_at(object, "reason")),
            (row == nullptr ? kind : std::string(row->singular)) + (shown.empty() ? "" : "/" + shown)};
  if (by.wide) out.emplace_back(text_at(object, "metadata.name"));
  out.emplace_back(text_at(object, "message"));
  return out;
}

// Of the specs.
Cells spec_cells(const Json& object, const Looking& by) {
  const Json* const ready = condition_of(object, "Ready");
  Cells out{text_at(object, "metadata.name"), ready_of(object, by.terminal, ""),
            or_dash(text_at(object, "status.devices.known")),
            or_dash(text_at(object, "status.devices.inSync"))};
  if (by.wide) {
    out.emplace_back(text_at(object, "status.origin.file") + ":" + text_at(object, "status.origin.line"));
    out.emplace_back(or_dash(short_revision(text_at(object, "status.revision"), true)));
  }
  out.emplace_back(ready == nullptr ? "" : text_at(*ready, "message"));
  return out;
}

// Titles, separated by blanks; those that end with > are of numbers.
struct Columns {
  std::string_view plural;
  std::string_view narrow;
  std::string_view wide;
  Cells (*cells)(const Json&, const Looking&);
};
constexpr std::array kColumns{
    Columns{"clusters", "NAME STATUS DEVICES> IN-SYNC> UNREACHABLE> LAST-GOOD DOING",
            "NAME STATUS DEVICES> IN-SYNC> UNREACHABLE> LAST-GOOD CORDONED> SOURCE FETCHED DOING",
            cluster_cells},
    Columns{"revisions", "NAME STATE WAITING> SINCE MESSAGE",
            "NAME STATE WAITING> SINCE INTENTS AUTHOR SUBJECT MESSAGE", revision_cells},
    Columns{"devices", "NAME ROLE STATUS DIFFERENCES> SEEN MESSAGE",
            "NAME ROLE STATUS DIFFERENCES> SEEN SINCE CORDONED-BY MAINTENANCE MESSAGE", device_cells},
    Columns{"changes", "NAME OUTCOME DEVICES> STEPS> AGE TOOK AUTHOR REASON",
            "NAME OUTCOME DEVICES> STEPS> AGE TOOK AUTHOR DIGEST REASON", change_cells},
    Columns{"benchmarkruns", "NAME VERDICT PURPOSE CHANGE FIGURES> AGE AUTHOR",
            "NAME VERDICT PURPOSE CHANGE FIGURES> AGE AUTHOR COMMAND VERSION KERNEL CONFIG", run_cells},
    Columns{"findings", "NAME KIND DEVICES EXPLAINS> COST/H> AGE FAULT",
            "NAME KIND DEVICES EXPLAINS> COST/H> AGE ORIGIN ACTION FAULT", finding_cells},
    Columns{"events", "LAST-SEEN TYPE REASON OBJECT MESSAGE", "LAST-SEEN TYPE REASON OBJECT NAME MESSAGE",
            event_cells}};
constexpr Columns kOfSpecs{"", "NAME STATUS DEVICES> IN-SYNC> MESSAGE",
                           "NAME STATUS DEVICES> IN-SYNC> ORIGIN REVISION MESSAGE", spec_cells};

std::vector<Table::Column> columns_in(std::string_view titles) {
  std::vector<Table::Column> out;
  while (!titles.empty()) {
    const std::size_t end = std::min(titles.find(' '), titles.size());
    std::string title(titles.substr(0, end));
    const bool right = title.ends_with('>');
    if (right) title.pop_back();
    out.push_back({title, right});
    titles.remove_prefix(std::min(end + 1, titles.size()));
  }
  return out;
}

}  // namespace

Table ObjectTable::filled(const std::vector<const Json*>& objects, WallTime now) {
  const auto own = std::ranges::find(kColumns, kind_.plural, &Columns::plural);
  const Columns& columns = own == kColumns.end() ? kOfSpecs : *own;
  const std::vector<Table::Column> titles = columns_in(wide_ ? columns.wide : columns.narrow);
  Table out(titles);
  std::vector<Cells> rows;
  widest_.resize(titles.size());
  for (const Json* const object : objects) {
    rows.push_back(columns.cells(*object, {terminal_, now, wide_}));
    for (std::size_t i = 0; i + 1 < titles.size(); ++i)  // the last one is as long as it is
      if (display_width(rows.back()[i].text()) > display_width(widest_[i]))
        widest_[i] = rows.back()[i].text();
  }
  Cells ruler;
  for (const std::string& one : widest_) ruler.emplace_back(Shown(one));
  out.add(std::move(ruler));
  for (Cells& row : rows) out.add(std::move(row));
  return out;
}

// The ruler is the line after the header.
std::string ObjectTable::rows(const std::vector<const Json*>& objects, WallTime now) {
  const std::string text = filled(objects, now).rows(terminal_);
  return text.substr(text.find('\n') + 1);
}

std::string ObjectTable::table(const std::vector<const Json*>& objects, WallTime now) {
  const std::string text = filled(objects, now).render(terminal_);
  const std::size_t header = text.find('\n') + 1;
  return text.substr(0, header) + text.substr(text.find('\n', header) + 1);
}

}  // namespace lockstep::client
