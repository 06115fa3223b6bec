#include <nlohmann/json.hpp>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/report/topology_picture.hpp"
#include "specs/files/read_file.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep {
namespace {

// A chosen limit: bench's output for all pairs of some 500 endpoints.
constexpr std::size_t kLargestDocument = std::size_t{256} << 20;

using Marking = Result<Done> (*)(const nlohmann::json&, const std::string&, const Topology&, TopologyMarks&);

Result<Done> mark_from(const std::string& file, const OpenedCluster& cluster, Marking marking,
                       TopologyMarks& marks) {
  if (file.empty()) return Done{};
  const FileText read = read_named(file, kLargestDocument);
  if (!read) return Error{ErrorKind::refused, "can't read " + file + ": " + read.why};
  const Result<nlohmann::json> document = parse_bounded_json(read.text);
  if (!document) return wrap(file, document.error());
  Result<Done> marked = marking(*document, cluster.name, cluster.compiled.topology, marks);
  return marked ? std::move(marked) : wrap(file, marked.error());
}

int print_svg(const TopologyOptions& options, const OpenedCluster& cluster, const Console& console) {
  TopologyMarks marks;
  if (Result<Done> read = mark_from(options.drift, cluster, mark_drift, marks); !read)
    return console.fail(read.error());
  if (Result<Done> read = mark_from(options.bench, cluster, mark_bench, marks); !read)
    return console.fail(read.error());
  console.print_format(topology_svg(cluster.name, cluster.catalog, cluster.compiled.topology, marks));
  return kExitInSync;
}

}  // namespace

int run_topology(const TopologyOptions& options, const Console& console) {
  if (options.format != PictureFormat::svg && !(options.drift.empty() && options.bench.empty()))
    return console.fail_usage("--drift and --bench mark devices and links in a picture: add -o svg");
  ClusterSource source = options.source;
  source.twin = true;  // shows the scaled speeds beside the real ones
  const std::optional<OpenedCluster> opened = open_cluster(source, console);
  if (!opened) return kExitError;
  if (Result<Done> any = has_devices(*opened); !any) return console.fail(any.error());
  const Catalog& catalog = opened->catalog;
  const Topology& topology = opened->compiled.topology;
  switch (options.format) {
    case PictureFormat::text: console.print(topology_text(catalog, topology, console.out())); break;
    case PictureFormat::dot: console.print_format(topology_dot(catalog, topology)); break;
    case PictureFormat::svg: return print_svg(options, *opened, console);
  }
  return kExitInSync;
}

}  // namespace lockstep
