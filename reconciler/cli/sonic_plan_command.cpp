// `lockstep sonic plan`: from one configuration of a SONiC switch to another.
#include <nlohmann/json.hpp>

#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/sonic_files.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using sonic::ConfigDb;
using sonic::ConfigMove;
using sonic::ConfigPlan;

struct PlannedMoves {
  ConfigDb current;
  ConfigPlan plan;
};

Result<PlannedMoves> plan_of(const SonicPlanOptions& options) {
  if (options.current == "-" && options.target == "-")
    return Error{ErrorKind::invalid_spec, "only one of the two files can be standard input (-)"};
  TRY(ConfigDb current, sonic_config(options.current));
  TRY(const ConfigDb target, sonic_config(options.target));
  std::optional<sonic::YangModels> models;
  if (!options.models.empty()) {
    TRY(models, sonic::YangModels::load(options.models));
  }
  TRY(ConfigPlan plan, sonic::plan_config(models ? &*models : nullptr, current, target));
  return PlannedMoves{std::move(current), std::move(plan)};
}

Json plan_json(const SonicPlanOptions& options, const ConfigPlan& plan) {
  Json moves = Json::array();
  for (const ConfigMove& move : plan.moves) {
    Json one{{"op", move.row ? "set" : "delete"}, {"table", move.table}, {"key", move.key}};
    if (move.row) one["fields"] = sonic_row_json(*move.row);
    moves.push_back(std::move(one));
  }
  Json rebuilt = Json::array();
  for (const ConfigMove& row : plan.rebuilt) rebuilt.push_back({{"table", row.table}, {"key", row.key}});
  return {{"kind", "SonicPlan"},
          {"current", options.current},
          {"target", options.target},
          {"moves", std::move(moves)},
          {"portsDown", plan.ports_down},
          {"rebuilt", std::move(rebuilt)},
          {"models", options.models.empty() ? Json() : Json(options.models)}};
}

std::string text_of(const sonic::ConfigField& field) {
  if (const auto* const text = std::get_if<std::string>(&field))
    return text->empty() ? "''" : printable(*text);
  std::string out;
  for (const std::string& one : std::get<sonic::ConfigList>(field))
    out += (out.empty() ? "" : ",") + printable(one);
  return "[" + out + "]";
}

// "mtu 9100 -> 9216, fec rs": what differs from the row before.
std::string fields_text(const sonic::ConfigRow* before, const sonic::ConfigRow& after) {
  std::string out;
  const auto add = [&out](const std::string& one) { out += (out.empty() ? "" : ", ") + one; };
  for (const auto& [field, value] : after) {
    const auto was = before == nullptr ? after.end() : before->find(field);
    if (before == nullptr || was == before->end())
      add(printable(field) + " " + text_of(value));
    else if (was->second != value)
      add(printable(field) + " " + text_of(was->second) + " -> " + text_of(value));
  }
  if (before != nullptr)
    for (const auto& [field, value] : *before)
      if (!after.contains(field)) add("without " + printable(field));
  return out;
}

std::string plan_text(const SonicPlanOptions& options, PlannedMoves planned, const Terminal& terminal) {
  Table table({{"#", true}, {"OP"}, {"ROW"}, {"FIELDS"}});
  std::size_t number = 0;
  for (const ConfigMove& move : planned.plan.moves) {
    const std::string row = sonic::redis_name(move.table, move.key);
    table.add({std::to_string(++number), move.row ? "set" : "delete", row,
               move.row ? fields_text(planned.current.find(move.table, move.key), *move.row) : ""});
    sonic::make_move(move, planned.current);
  }
  std::string out = table.empty() ? "" : table.render(terminal);
  const auto list = [&out](const std::string& what, const auto& names) {
    if (names.empty()) return;
    out += what;
    for (const std::string& name : names) out += (&name == &names.front() ? "" : ", ") + printable(name);
    out += "\n";
  };
  list("shut down meanwhile: ", planned.plan.ports_down);
  std::vector<std::string> rebuilt;
  for (const ConfigMove& row : planned.plan.rebuilt) rebuilt.push_back(sonic::redis_name(row.table, row.key));
  list("deleted and made again: ", rebuilt);
  if (options.models.empty())
    out += "no YANG models were given (--yang DIR): states were judged by the built-in rules only\n";
  if (number == 0) return out + "nothing to do: the two configurations are the same\n";
  return out + counted(number, "move") + "\n";
}

}  // namespace

int run_sonic_plan(const SonicPlanOptions& options, const Console& console) {
  Result<PlannedMoves> made = plan_of(options);
  if (!made) return console.fail(made.error());
  if (console.is_text())
    console.print(plan_text(options, *std::move(made), console.out()));
  else
    console.print_document(plan_json(options, made->plan));
  return kExitInSync;
}

}  // namespace lockstep
