#include <filesystem>
#include <nlohmann/json.hpp>

#include "drivers/host_policy/policy.hpp"
#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/report/change_lines.hpp"
#include "reconciler/report/explanation.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/rendered_device.hpp"
#include "reconciler/report/troubleshooting.hpp"
#include "reconciler/session/native_calls.hpp"
#include "specs/compile/explain.hpp"

namespace lockstep {
namespace {

struct Question {
  std::string specs = ".";
  std::string device;
  std::string path;
};

bool is_specs(const std::string& word) {
  std::error_code none;
  return word == "-" || std::filesystem::exists(word, none);
}

// Lists the entries of a device, for the next query.
int list_entries(const OpenedCluster& cluster, const std::string& name, const Console& console) {
  const Result<DeviceIndex> device = device_called(cluster.compiled, name);
  if (!device) return console.fail(device.error());
  if (!console.is_text()) {
    console.print_document(of_cluster(cluster, rendered_device_json(cluster, *device)));
    return kExitInSync;
  }
  std::vector<FoldableChange> all;
  for (const Entry& entry : cluster.compiled.intents[*device].want.entries())
    all.push_back({entry.path, {}, entry.value, 0});
  std::string out =
      compose("{} entries of {} can be explained (`lockstep explain {} PATH`):\n", all.size(), name, name);
  for (const ChangeLine& line : change_lines(fold_changes(all), {}))
    out += compose("  {}  {}\n", line.path, line.value);
  console.print(out);
  return kExitInSync;
}

int explain_code(const std::string& code, const Console& console) {
  const CodeRow* const row = find_any_code(code);
  if (row == nullptr) return console.fail_usage("no diagnostic has the code '" + code + "'");
  if (console.is_text())
    console.print(code_text(*row, console.out()));
  else
    console.print_document(code_json(*row));
  return kExitInSync;
}

// According to this machine's own policy, if the device is this machine.
WhyRefused why_refused_here(const OpenedCluster& cluster, const Explanation& explanation) {
  if (cluster.twin) return std::nullopt;
  const HostPolicy policy = HostPolicy::read(kHostPolicyFile, this_host());
  if (policy.why_not_device(explanation.device, cluster.name)) return std::nullopt;
  return policy.why_not({explanation.path, {}, explanation.value, 0});
}

}  // namespace

int run_explain(const ExplainOptions& options, const Console& console) {
  const std::vector<std::string>& words = options.words;
  if (words.size() == 1 && find_any_code(words[0]) != nullptr) return explain_code(words[0], console);
  if (words.size() == 1 && words[0].starts_with("LS")) return explain_code(words[0], console);
  Question question;
  const bool lists = words.size() == 1 || (words.size() == 2 && is_specs(words[0]) && !Path::parse(words[1]));
  if (words.size() == 3 || (words.size() == 2 && lists)) question.specs = words[0];
  question.device = lists ? words.back() : words[words.size() - 2];
  question.path = lists ? "" : words.back();

  ClusterSource source = options.source;
  source.specs = {question.specs};
  const std::optional<OpenedCluster> cluster = open_cluster(source, console);
  if (!cluster) return kExitError;
  if (lists) return list_entries(*cluster, question.device, console);
  const Result<Path> path = Path::parse(question.path);
  if (!path) return console.fail(path.error());
  const Result<Explanation> explanation =
      explain(cluster->compiled, cluster->catalog, question.device, *path);
  if (!explanation) return console.fail(explanation.error());
  const std::vector<std::string> calls = native_calls(*cluster, *explanation, driver_table());
  const WhyRefused refused = why_refused_here(*cluster, *explanation);
  if (console.is_text())
    console.print(explanation_text(*cluster, *explanation, calls, refused, console.out()));
  else
    console.print_document(of_cluster(*cluster, explanation_json(*cluster, *explanation, calls, refused)));
  return kExitInSync;
}

}  // namespace lockstep
