// Ground: what one fabric provides for a benchmark: endpoints in bench's form, links, and the paths between
// them.
//
// Promises: endpoints in the order of FabricGraph::endpoints, links as in paths.hpp; paths and RDMA devices
// are looked up on first use.
#pragma once

#include <optional>
#include <vector>

#include "bench/tcp/probe_plan.hpp"
#include "bench/verbs/rdma_end.hpp"
#include "reconciler/measure/measure.hpp"
#include "reconciler/measure/paths.hpp"

namespace lockstep {

class Ground {
 public:
  Ground(const MeasureInput& input, FabricIndex fabric);
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;

  const Topology& topology() const { return topology_; }
  const FabricGraph& graph() const { return graph_; }
  FabricPaths& paths() { return paths_; }
  // RDMA of each endpoint, read on first use.
  const std::vector<bench::verbs::RdmaEnd>& rdma_ends();

  // Calls `each` for each directed link that the data may cross, in no order; false: there is no path.
  template <class Each>
  bool each_link(const bench::Pair& way, Each each);
  // `flagged`: by directed link.
  bool touches(const bench::Pair& way, const std::vector<bool>& flagged);
  // Number of traversed paths, so that tests detect quadratic cost.
  std::size_t walked() const { return walked_; }

  std::vector<bench::ProbeEndpoint> probes;
  bench::Links links;

 private:
  const Topology& topology_;
  const std::vector<Intent>& intents_;
  const FabricGraph& graph_;
  FabricPaths paths_;
  std::vector<bench::verbs::RdmaEnd> rdma_ends_;
  std::size_t walked_ = 0;
};

template <class Each>
bool Ground::each_link(const bench::Pair& way, Each each) {
  const Endpoint& from = graph_.endpoints[way.from];
  const Endpoint& to = graph_.endpoints[way.to];
  ++walked_;
  const bool apart = from.leaf != to.leaf;
  const CrossedPath* const middle = apart ? paths_.between_leaves(from.leaf, to.leaf) : nullptr;
  if (apart && middle == nullptr) return false;
  each(directed(topology_, from.port));
  each(directed(topology_, to.leaf_port));
  if (!apart) return true;
  for (const std::uint32_t link : middle->links) each(link);
  return true;
}

}  // namespace lockstep
