#include "specs/compile/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drivers/frr/driver.hpp"
#include "drivers/linux/driver.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/table.hpp"
#include "specs/fabric/codes.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/language/codes.hpp"

namespace lockstep {
namespace {

struct Question {
  std::string specs = ".";
  std::string device;
  std::string path;
};

std::string place_text(const Sources& sources, Position at) {
  return at.file == 0 ? "" : fmt::format("{}:{}:{}", sources.files[at.file].name, at.line, at.column);
}

// The leaf as a change, and what else is wanted of its collection (`bgp/neighbor[up0]`, `bgp`) as there
// already: FRR writes some leaves of a neighbour in one line, and a speaker with its number.
ChangeSet change_within_its_collection(const Intent& intent, const Explanation& explanation) {
  ChangeSet changes{{explanation.path, Value{}, explanation.value, 0}};
  const std::string text = explanation.path.text();
  const std::size_t bracket = text.rfind("]/");
  const std::string collection =
      bracket == std::string::npos ? text.substr(0, text.find('/')) + "/" : text.substr(0, bracket + 2);
  for (const Leaf& leaf : intent.want.leaves())
    if (leaf.path != explanation.path && leaf.path.text().starts_with(collection))
      changes.push_back({leaf.path, leaf.value, leaf.value, 0});
  return changes;
}

// The native calls of a leaf, in the words of each driver of the device that has some.
std::vector<std::string> native_calls(const OpenedCluster& cluster, const Explanation& explanation) {
  std::vector<std::string> calls;
  const Topology& topology = cluster.compiled.topology;
  const DeviceIndex index = topology.find_device(explanation.device);
  const ChangeSet change{{explanation.path, Value{}, explanation.value, 0}};
  const ChangeSet within = change_within_its_collection(cluster.compiled.intents[index], explanation);
  LinuxTarget linux_target;  // never reached: only asked for its words
  FrrTarget frr_target;
  linux_target.device = frr_target.device = explanation.device;
  for (const DriverName name : topology.devices[index].drivers) {
    std::optional<Attached> attached;
    if (name == DriverName::linux_kernel) attached = make_linux_driver(linux_target);
    if (name == DriverName::frr) attached = make_frr_driver(frr_target);
    if (!attached || attached->preview == nullptr) continue;
    const Traits traits = attached->driver->traits();
    if (std::find(traits.writes.begin(), traits.writes.end(), explanation.path.row()) == traits.writes.end())
      continue;
    for (std::string& call : attached->preview->native(name == DriverName::frr ? within : change))
      if (!call.empty()) calls.push_back(std::move(call));
  }
  return calls;
}

std::string explanation_text(const OpenedCluster& cluster, const Explanation& e,
                             const std::vector<std::string>& calls, const Terminal& terminal) {
  const Sources& sources = cluster.catalog.sources;
  std::string out = terminal.paint(Ink::bold, e.device + " " + e.path.text()) + " = " +
                    terminal.paint(Ink::green, value_text(e.path.row(), e.value)) + "\n";
  out += fmt::format("  leaf    {}{}\n", e.doc, e.unit.empty() ? "" : fmt::format(" ({})", e.unit));
  out += fmt::format("  spec    {}  {}\n", place_text(sources, e.origin.at), e.origin.object);
  out += fmt::format("  rule    {}{}\n", e.origin.rule, e.sentence.empty() ? "" : ": " + e.sentence);
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
    out += fmt::format("  overruled  {} of {} ({})\n", value_text(e.path.row(), one.want), from.object,
                       place_text(sources, from.at));
  }
  for (const std::string& call : calls) out += "  native  " + terminal.paint(Ink::cyan, call) + "\n";
  if (calls.empty())
    out += terminal.paint(Ink::dim, "  native  no call: read only, or no driver here carries it") + "\n";
  return out;
}

nlohmann::json explanation_json(const OpenedCluster& cluster, const Explanation& e,
                                const std::vector<std::string>& calls) {
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
  return {{"apiVersion", "lockstep.dev/v1alpha1"},
          {"kind", "Explanation"},
          {"device", e.device},
          {"path", e.path.text()},
          {"value", to_json(e.value)},
          {"unit", e.unit},
          {"doc", e.doc},
          {"origin",
           {{"file", sources.files[e.origin.at.file].name},
            {"line", e.origin.at.line},
            {"column", e.origin.at.column},
            {"object", e.origin.object},
            {"rule", e.origin.rule}}},
          {"sentence", e.sentence},
          {"terms", terms},
          {"overruled", overruled},
          {"native", calls}};
}

struct CodeText {
  std::string_view rule;
  std::string_view reason;
};

std::optional<CodeText> text_of_code(std::string_view code) {
  if (const CodeRow* const row = find_code(code)) return CodeText{row->rule, row->reason};
  if (const ProofRule* const rule = find_proof_rule(code)) return CodeText{rule->title, rule->reason};
  for (const FabricCode& one : kFabricCodes)
    if (one.code == code) return CodeText{one.reason, ""};
  return std::nullopt;
}

int explain_code(const std::string& code, const Console& console) {
  const std::optional<CodeText> text = text_of_code(code);
  if (!text) return console.fail_usage("no diagnostic has the code '" + code + "'");
  if (console.is_text())
    console.print(fmt::format("{}  {}\n{}{}", console.out().paint(Ink::bold, code), text->rule, text->reason,
                              text->reason.empty() ? "" : "\n"));
  else
    console.print_document(nlohmann::json{{"code", code}, {"rule", text->rule}, {"reason", text->reason}});
  return kExitInSync;
}

}  // namespace

int run_explain(const ExplainOptions& options, const Console& console) {
  if (options.words.size() == 1) return explain_code(options.words[0], console);
  Question question;
  if (options.words.size() == 3) question.specs = options.words[0];
  question.device = options.words[options.words.size() - 2];
  question.path = options.words.back();

  Aim aim = options.aim;
  aim.specs = {question.specs};
  const std::optional<OpenedCluster> cluster = open_cluster(aim, console);
  if (!cluster) return kExitError;
  const Result<Path> path = Path::parse(question.path);
  if (!path) return console.fail(path.error());
  const Result<Explanation> explanation =
      explain(cluster->compiled, cluster->catalog, question.device, *path);
  if (!explanation) return console.fail(explanation.error());
  const std::vector<std::string> calls = native_calls(*cluster, *explanation);
  if (console.is_text())
    console.print(explanation_text(*cluster, *explanation, calls, console.out()));
  else
    console.print_document(explanation_json(*cluster, *explanation, calls));
  return kExitInSync;
}

}  // namespace lockstep
