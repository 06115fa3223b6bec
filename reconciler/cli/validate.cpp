#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/opened_cluster.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {

int run_validate(const ValidateOptions& options, const Console& console) {
  const std::optional<OpenedCluster> opened = open_cluster(options.aim, console, options.strict);
  if (!opened) return kExitError;
  const Topology& topology = opened->compiled.topology;
  std::size_t leaves = 0;
  for (const Intent& intent : opened->compiled.intents) leaves += intent.want.size();
  if (console.is_text()) {
    const std::string warnings =
        opened->warnings.empty() ? "" : ", " + counted(opened->warnings.size(), "warning");
    if (Result<Done> any = has_devices(*opened); !any)
      console.print(fmt::format("{}: valid{}; {}\n", opened->name, warnings, any.error().text()));
    else
      console.print(fmt::format("{}: {}, {}, {} wanted; valid and proved{}\n", opened->name,
                                counted(topology.devices.size(), "device"),
                                counted(topology.links.size(), "link"), counted(leaves, "leaf", "leaves"),
                                warnings));
  } else {
    console.print_document(nlohmann::json{{"apiVersion", "lockstep.dev/v1alpha1"},
                                          {"kind", "Validation"},
                                          {"cluster", opened->name},
                                          {"devices", topology.devices.size()},
                                          {"links", topology.links.size()},
                                          {"leaves", leaves},
                                          {"warnings", opened->warnings.size()}});
  }
  return kExitInSync;
}

}  // namespace lockstep
