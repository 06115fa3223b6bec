#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/spec_diff_report.hpp"

namespace lockstep {

int run_diff(const DiffOptions& options, const Console& console) {
  if (options.form && !console.is_text())
    return console.fail_usage("--format and -o both say a form: give one of them");
  const auto open = [&](const char* side, const std::string& specs) {
    ClusterSource source;
    source.specs = {specs};
    source.max_entries = options.max_entries;
    return open_side(side, source, console);
  };
  const std::optional<OpenedCluster> was = open("OLD", options.was);
  if (!was) return kExitError;
  const std::optional<OpenedCluster> now = open("NEW", options.now);
  if (!now) return kExitError;
  const SpecDiff diff = compare_specs(*was, *now);
  if (options.form)
    console.print_format(spec_diff_markdown(diff));
  else if (console.is_text())
    console.print(spec_diff_text(diff, console.out()));
  else
    console.print_document(of_cluster(*now, spec_diff_json(diff)));
  return diff.differ.empty() ? kExitInSync : kExitDifferent;
}

}  // namespace lockstep
