#include "reconciler/report/host_policy_report.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/report/table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

using Json = nlohmann::json;

std::string host_policy_text(const HostPolicy& policy, const Terminal& terminal) {
  std::string out = terminal.paint(Ink::bold, "what specs may do to this machine") + "\n";
  if (!policy.broken().empty()) return out + terminal.paint(Ink::red, "nothing: " + policy.broken()) + "\n";
  if (policy.is_default())
    out += std::string("There is no ") + kHostPolicyFile +
           ": the default holds. `lockstep host-policy init` writes a first one.\n";
  Table table({{"field"}, {"says"}, {"at"}});
  std::string last;
  for (const HostPolicy::Line& line : policy.lines()) {
    const Table::Cell place =
        line.place.empty() ? terminal.paint(Ink::dim, "default") : Table::Cell(line.place);
    table.add({line.field == last ? "" : line.field, line.says, place});
    last = line.field;
  }
  return out + table.render(terminal, "  ");
}

Json host_policy_json(const HostPolicy& policy) {
  Json lines = Json::array();
  for (const HostPolicy::Line& line : policy.lines()) {
    Json one{{"field", line.field}, {"says", line.says}};
    if (!line.place.empty()) one["at"] = line.place;
    lines.push_back(std::move(one));
  }
  Json out{{"kind", "HostPolicyReport"},
           {"file", policy.is_default() ? Json() : Json(kHostPolicyFile)},
           {"lines", std::move(lines)}};
  if (!policy.broken().empty()) out["broken"] = policy.broken();
  return out;
}

std::string permission_text(const Path& setting, const WhyRefused& why, const Terminal& terminal) {
  const Row& row = schema_row(setting.row());
  return compose("{}: {}{}\n", setting.text(),
                 why ? terminal.paint(Ink::red, "refused: " + *why) : terminal.paint(Ink::green, "allowed"),
                 terminal.paint(Ink::dim, compose(" ({}, at worst: {})", row.pattern, to_string(row.power))));
}

Json permission_json(const Path& setting, const WhyRefused& why) {
  Json out{{"kind", "HostPermission"},
           {"path", setting.text()},
           {"power", to_string(schema_row(setting.row()).power)},
           {"allowed", !why.has_value()}};
  if (why) out["reason"] = *why;
  return out;
}

}  // namespace lockstep
