// `lockstep sonic lint`: what is wrong with a configuration of a SONiC switch.
#include <nlohmann/json.hpp>

#include "drivers/sonic/builtin_rules.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/sonic_files.hpp"
#include "reconciler/report/table.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using sonic::ConfigFault;
using sonic::ConfigFindings;

Result<ConfigFindings> findings_in(const SonicLintOptions& options) {
  if (options.format == SonicFormat::yang) {
    TRY(const std::string text, sonic_text(options.file));
    const Result<Json> data = parse_bounded_json(text);
    if (!data) return wrap(options.file, data.error());
    TRY(const sonic::YangModels models, sonic::YangModels::load(options.models));
    return models.check_yang(*data);
  }
  TRY(const sonic::ConfigDb config, sonic_config(options.file));
  if (options.models.empty()) return sonic::check_by_builtin_rules(config);
  TRY(const sonic::YangModels models, sonic::YangModels::load(options.models));
  return models.check(config);
}

Json lint_json(const SonicLintOptions& options, const ConfigFindings& findings) {
  Json errors = Json::array();
  for (const ConfigFault& fault : findings.faults)
    errors.push_back(
        {{"table", fault.table}, {"key", fault.key}, {"field", fault.field}, {"message", fault.message}});
  return {{"kind", "SonicLint"},
          {"file", options.file},
          {"valid", findings.valid()},
          {"errors", std::move(errors)},
          {"unlisted", findings.unlisted},
          {"partial", findings.partial},
          {"withoutModel", findings.without_model},
          {"models", options.models.empty() ? Json() : Json(options.models)}};
}

std::string lint_text(const SonicLintOptions& options, const ConfigFindings& findings,
                      const Terminal& terminal) {
  std::string out;
  for (const ConfigFault& fault : findings.faults) {
    const std::string place = sonic_place(fault);
    out +=
        terminal.paint(Ink::red, place.empty() ? "the file" : place) + ": " + printable(fault.message) + "\n";
  }
  if (findings.unlisted != 0) out += "and " + counted(findings.unlisted, "more error") + "\n";
  if (findings.partial) out += "references and rules between rows were not checked: mend the keys first\n";
  if (!findings.without_model.empty()) {
    out +=
        options.models.empty() ? "without built-in rules, not checked: " : "without a model, not checked: ";
    for (const std::string& table : findings.without_model)
      out += (&table == &findings.without_model.front() ? "" : ", ") + printable(table);
    out += "\n";
  }
  if (options.models.empty())
    out += "no YANG models were given (--yang DIR): only the built-in rules were checked\n";
  if (findings.valid()) return out + printable(options.file) + ": nothing is wrong with it\n";
  return out + printable(options.file) + ": " + counted(findings.faults.size() + findings.unlisted, "error") +
         "\n";
}

}  // namespace

int run_sonic_lint(const SonicLintOptions& options, const Console& console) {
  if (options.format == SonicFormat::yang && options.models.empty())
    return console.fail_usage(
        "--format yang needs --yang: the built-in rules are for the tables of CONFIG_DB");
  const Result<ConfigFindings> findings = findings_in(options);
  if (!findings) return console.fail(findings.error());
  if (console.is_text())
    console.print(lint_text(options, *findings, console.out()));
  else
    console.print_document(lint_json(options, *findings));
  return findings->valid() ? kExitInSync : kExitError;
}

}  // namespace lockstep
