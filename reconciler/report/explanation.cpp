#include "reconciler/report/explanation.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/table.hpp"
#include "specs/model/value_json.hpp"

namespace lockstep {
namespace {

std::string place_text(const Sources& sources, Position at) {
  return at.file == 0 ? "" : fmt::format("{}:{}:{}", sources.files[at.file].name, at.line, at.column);
}

}  // namespace

std::string explanation_text(const OpenedCluster& cluster, const Explanation& e,
                             const std::vector<std::string>& calls, const std::optional<std::string>& refused,
                             const Terminal& terminal) {
  const Sources& sources = cluster.catalog.sources;
  std::string out = terminal.paint(Ink::bold, e.device + " " + e.path.text()) + " = " +
                    terminal.paint(Ink::green, value_text(e.path.row(), e.value)) + "\n";
  out += compose("  entry   {}{}\n", e.doc, e.unit.empty() ? "" : fmt::format(" ({})", e.unit));
  out += compose("  spec    {}  {}\n", place_text(sources, e.origin.at), e.origin.object);
  out += compose("  rule    {}{}\n", e.origin.rule, e.sentence.empty() ? "" : ": " + e.sentence);
  Table terms({{""}, {""}, {""}, {""}});
  for (const ExplainTerm& term : e.terms)
    terms.add({term.name, term.value, terminal.paint(Ink::dim, term.source),
               terminal.paint(Ink::dim, place_text(sources, term.at))});
  if (!terms.empty()) {
    const std::string table = terms.render(Terminal{}, "          ");
    out += table.substr(table.find('\n') + 1);
  }
  for (const Overruled& one : e.overruled) {
    const Origin& from = cluster.compiled.origins[one.origin];
    out += compose("  overruled  {} of {} ({})\n", value_text(e.path.row(), one.want), from.object,
                   place_text(sources, from.at));
  }
  for (const std::string& call : calls) out += "  native  " + terminal.paint(Ink::cyan, call) + "\n";
  if (calls.empty())
    out +=
        terminal.paint(Ink::dim, "  native  no call: read-only, or not supported by this device's drivers") +
        "\n";
  if (refused) out += "  policy  " + terminal.paint(Ink::red, "refused: " + *refused) + "\n";
  return out;
}

nlohmann::json explanation_json(const OpenedCluster& cluster, const Explanation& e,
                                const std::vector<std::string>& calls,
                                const std::optional<std::string>& refused) {
  const Sources& sources = cluster.catalog.sources;
  nlohmann::json terms = nlohmann::json::array();
  for (const ExplainTerm& term : e.terms) {
    terms.push_back({{"name", term.name},
                     {"value", term.value},
                     {"source", term.source},
                     {"at", place_text(sources, term.at)}});
    if (term.number) {
      terms.back()["value"] = *term.number;
      terms.back()["unit"] = term.unit;
    }
  }
  nlohmann::json overruled = nlohmann::json::array();
  for (const Overruled& one : e.overruled) {
    const Origin& from = cluster.compiled.origins[one.origin];
    overruled.push_back(
        {{"want", to_json(one.want)}, {"object", from.object}, {"at", place_text(sources, from.at)}});
  }
  nlohmann::json out{{"kind", "Explanation"},
                     {"device", e.device},
                     {"path", e.path.text()},
                     {"value", to_json(e.value)},
                     {"unit", e.unit},
                     {"doc", e.doc},
                     {"origin", to_json(plan_origin(e.origin, &sources))},
                     {"sentence", e.sentence},
                     {"terms", terms},
                     {"overruled", overruled},
                     {"native", calls}};
  if (refused) out["refused"] = *refused;
  return out;
}

std::string code_text(const CodeRow& row, const Terminal& terminal) {
  return compose("{}\n", terminal.paint(Ink::bold, row.code)) +
         compose("  rule:        {}\n  why:         {}\n  what to do:  {}\n", row.rule, row.reason,
                 row.remedy);
}

nlohmann::json code_json(const CodeRow& row) {
  return {{"kind", "Code"},
          {"code", row.code},
          {"rule", row.rule},
          {"reason", row.reason},
          {"remedy", row.remedy}};
}

}  // namespace lockstep
