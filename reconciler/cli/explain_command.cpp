#include <nlohmann/json.hpp>

#include "drivers/host_policy/policy.hpp"
#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/report/explanation.hpp"
#include "reconciler/session/native_calls.hpp"
#include "specs/compile/explain.hpp"

namespace lockstep {
namespace {

// A choice: as long as an observation of a host may take.
struct Question {
  std::string specs = ".";
  std::string device;
  std::string path;
};

int explain_code(const std::string& code, const Console& console) {
  const std::optional<CodeText> text = text_of_code(code);
  if (!text) return console.fail_usage("no diagnostic has the code '" + code + "'");
  if (console.is_text())
    console.print(code_text(code, *text, console.out()));
  else
    console.print_document(code_json(code, *text));
  return kExitInSync;
}

// By this machine's own policy, where the device is this machine.
WhyRefused why_refused_here(const OpenedCluster& cluster, const Explanation& explanation) {
  if (cluster.twin) return std::nullopt;
  const HostPolicy policy = HostPolicy::read(kHostPolicyFile, this_host());
  if (policy.why_not_device(explanation.device, cluster.name)) return std::nullopt;
  return policy.why_not({explanation.path, {}, explanation.value, 0});
}

}  // namespace

int run_explain(const ExplainOptions& options, const Console& console) {
  if (options.words.size() == 1) return explain_code(options.words[0], console);
  Question question;
  if (options.words.size() == 3) question.specs = options.words[0];
  question.device = options.words[options.words.size() - 2];
  question.path = options.words.back();

  ClusterSource source = options.source;
  source.specs = {question.specs};
  const std::optional<OpenedCluster> cluster = open_cluster(source, console);
  if (!cluster) return kExitError;
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
    console.print_document(explanation_json(*cluster, *explanation, calls, refused));
  return kExitInSync;
}

}  // namespace lockstep
