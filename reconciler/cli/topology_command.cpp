#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/topology_picture.hpp"

namespace lockstep {

int run_topology(const TopologyOptions& options, const Console& console) {
  ClusterSource source = options.source;
  source.twin = true;  // so that the scaled speeds stand beside the real ones
  const std::optional<OpenedCluster> opened = open_cluster(source, console);
  if (!opened) return kExitError;
  if (Result<Done> any = has_devices(*opened); !any) return console.fail(any.error());
  const Catalog& catalog = opened->catalog;
  const Topology& topology = opened->compiled.topology;
  switch (options.format) {
    case PictureFormat::text: console.print(topology_text(catalog, topology, console.out())); break;
    case PictureFormat::dot: console.print_format(topology_dot(catalog, topology)); break;
    case PictureFormat::svg: console.print_format(topology_svg(catalog, topology)); break;
  }
  return kExitInSync;
}

}  // namespace lockstep
