#include "reconciler/client/object_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "reconciler/client/human_age.hpp"
#include "reconciler/client/object_fields.hpp"
#include "reconciler/client/object_table.hpp"
#include "reconciler/client/step_text.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/store/utc_text.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLabel = 20;  // columns before a value: chosen, the longest of our own fits

// "observedAt" as "Observed at".
std::string title_of(const std::string& field) {
  std::string out;
  for (const char c : field) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital && !out.empty()) out += ' ';
    out += capital && !out.empty() ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string indented(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n') + 1;
    out.append("  ").append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return out;
}

// With its age where it is a time.
Shown scalar_text(const Json& value, WallTime now) {
  if (!value.is_string()) return Shown(one_line(value));
  const auto& text = value.get_ref<const std::string&>();
  return utc_time(text) ? compose("{} ({} ago)", text, human_age(text, now)) : compose("{}", text);
}

class Describing {
 public:
  Describing(WallTime now, const Terminal& terminal) : now_(now), terminal_(terminal) {}

  void line(std::size_t indent, const std::string& title, const Shown& text) {
    out_ += std::string(indent, ' ') + pad(compose("{}:", title), kLabel - std::min(indent, kLabel)) + " " +
            text + "\n";
  }
  void head(const std::string& title) { out_ += terminal_.paint(Ink::bold, title + ":") + "\n"; }
  void field(std::size_t indent, const std::string& name, const Json& value);
  void conditions(const Json& list);
  void waiting(const Json& list, const std::string& in_all);
  void table(const std::string& name, const Json& list);
  void add(const std::string& text) { out_ += text; }
  void sections(const Json& part);
  const std::string& text() const { return out_; }

 private:
  const WallTime now_;
  const Terminal& terminal_;
  std::string out_;
};

// Lists of objects that have sections of their own, and what of each is shown.
struct ListColumns {
  std::string_view name;
  std::array<const char*, 9> fields;  // null: fewer
};
constexpr std::array kLists{
    ListColumns{"drift", {"state", "path", "have", "want", "reason"}},
    ListColumns{"writes", {"step", "device", "path", "was", "want", "state", "note"}},
    ListColumns{"measured",
                {"benchmark", "from", "to", "group", "metric", "median", "nominal", "unit", "message"}},
    ListColumns{"runs", {"run", "purpose", "verdict", "at", "figures", "author"}}};

void Describing::field(std::size_t indent, const std::string& name, const Json& value) {
  if (name == "labels" && value.is_object()) {
    Shown all;
    for (const auto& [key, one] : value.items())
      all += (all.empty() ? "" : ", ") + compose("{}={}", key, scalar_text(one, now_));
    line(indent, title_of(name), all);
  } else if (value.is_object() && !value.empty()) {
    out_ += std::string(indent, ' ') + compose("{}:", title_of(name)) + "\n";
    for (const auto& [below, one] : value.items()) field(indent + 2, below, one);
  } else if (value.is_array() && !value.empty() &&
             std::ranges::none_of(value, [](const Json& one) { return one.is_structured(); })) {
    Shown all;
    for (const Json& one : value) all += (all.empty() ? "" : ", ") + scalar_text(one, now_);
    line(indent, title_of(name), all);
  } else if (value.is_array()) {
    out_ += std::string(indent, ' ') + compose("{}:", title_of(name)) + (value.empty() ? " none\n" : "\n");
    for (const Json& one : value) out_ += std::string(indent + 2, ' ') + one_line(one) + "\n";
  } else if (!value.is_null() && !value.is_object()) {
    line(indent, title_of(name), scalar_text(value, now_));
  }
}

void Describing::conditions(const Json& list) {
  head("Conditions");
  Table table({{"TYPE"}, {"STATUS"}, {"REASON"}, {"SINCE"}, {"PROVEN"}, {"MESSAGE"}});
  for (const Json& one : list) {
    const std::string proven = text_at(one, "observedAt");
    table.add({text_at(one, "type"), text_at(one, "status"), text_at(one, "reason"),
               human_age(text_at(one, "lastTransitionTime"), now_),
               proven.empty() ? "-" : human_age(proven, now_) + " ago", text_at(one, "message")});
  }
  out_ += table.render(terminal_, "  ");
}

void Describing::waiting(const Json& list, const std::string& in_all) {
  if (list.empty()) return;
  head("Waits for an approval");
  std::vector<const Json*> steps;
  for (const Json& one : list) steps.push_back(&one);
  out_ += steps_text(steps, terminal_);
  if (in_all != std::to_string(list.size()))
    out_ += compose("{} steps wait in all: the service shows no more of them\n", in_all);
}

void Describing::table(const std::string& name, const Json& list) {
  const auto found = std::ranges::find(kLists, name, &ListColumns::name);
  std::vector<const char*> fields;
  for (const char* const field : found->fields)
    if (field != nullptr &&
        std::ranges::any_of(list, [&](const Json& one) { return !text_at(one, field).empty(); }))
      fields.push_back(field);
  std::vector<Table::Column> columns;
  for (const char* const field : fields) {
    std::string title = field;
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    columns.push_back({title});
  }
  head(title_of(name));
  Table out(columns);
  for (const Json& one : list) {
    std::vector<Table::Cell> cells;
    for (const char* const field : fields) cells.emplace_back(text_at(one, field));
    out.add(std::move(cells));
  }
  out_ += out.render(terminal_, "  ");
}

// Of spec and status: what is short first, then the lists.
void Describing::sections(const Json& part) {
  const auto has_section = [](const std::string& name, const Json& value) {
    return value.is_array() && (name == "conditions" || name == "waiting" ||
                                std::ranges::find(kLists, name, &ListColumns::name) != kLists.end());
  };
  for (const auto& [name, value] : part.items())
    if (!has_section(name, value)) field(0, name, value);
  for (const auto& [name, value] : part.items()) {
    if (!has_section(name, value) || value.empty()) continue;
    if (name == "conditions")
      conditions(value);
    else if (name == "waiting")
      waiting(value, text_at(part, "waitingInAll"));
    else
      table(name, value);
  }
}

}  // namespace

std::string object_text(const KindRow& kind, const Json& object, const std::vector<const Json*>& events,
                        WallTime now, const Terminal& terminal) {
  Describing out(now, terminal);
  out.line(0, "Name", terminal.paint(Ink::bold, text_at(object, "metadata.name")));
  out.line(0, "Kind", compose("{}", kind.name));
  if (const Json* const metadata = find_at(object, "metadata"); metadata != nullptr && metadata->is_object())
    for (const auto& [name, value] : metadata->items())
      if (name != "name") out.field(0, name, value);
  for (const auto& [name, value] : object.items()) {
    if (name == "metadata" || name == "apiVersion" || name == "kind") continue;
    if ((name == "spec" || name == "status") && value.is_object())
      out.sections(value);
    else
      out.field(0, name, value);
  }
  if (kind.plural == event_kind().plural) return out.text();
  out.head("Events");
  ObjectTable table(event_kind(), false, terminal);
  out.add(events.empty() ? std::string("  none since the service was started\n")
                         : indented(table.table(events, now)));
  return out.text();
}

}  // namespace lockstep::client
