// The field table of Nccl. Variables, values and defaults: NCCL user guide, "Environment Variables"
// (docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
#include "specs/language/nccl.hpp"

#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr Field nccl_fields[] = {
    field<&Nccl::gid_index>(
        "gidIndex", "NCCL_IB_GID_INDEX: of the GID that is sent from; -1, the default: NCCL looks for it",
        {.least = -1, .most = 255, .why = "libibverbs' sgid_index has 8 bits"}),
    field<&Nccl::qps_per_connection>(
        "qpsPerConnection", "NCCL_IB_QPS_PER_CONNECTION: queue pairs of each connection; 1 by default",
        {.least = 1, .most = 128, .why = "NCCL's range"}),
    field<&Nccl::split_data_on_qps>(
        "splitDataOnQps",
        "NCCL_IB_SPLIT_DATA_ON_QPS: true: each message over all queue pairs; false by "
        "default since NCCL 2.20"),
    field<&Nccl::cross_nic>(
        "crossNic",
        "NCCL_CROSS_NIC: may a ring change NICs between hosts: never (0), allow (1), avoid (2, "
        "the default)"),
    field<&Nccl::service_level>(
        "serviceLevel", "NCCL_IB_SL: InfiniBand service level; 0 by default",
        {.least = 0, .most = 15, .why = "a service level has 4 bits (IBTA 1.3 7.6.5)"}),
    field<&Nccl::adaptive_routing>(
        "adaptiveRouting",
        "NCCL_IB_ADAPTIVE_ROUTING: true: the network may reorder packets; false by "
        "default on RoCE"),
};

// A single queue pair can't be split over.
void check_nccl(const Nccl& said, Span, Reporter& reporter) {
  if (!said.split_data_on_qps.said || !*said.split_data_on_qps) return;
  if (said.qps_per_connection.said && *said.qps_per_connection > 1) return;
  reporter.warning(code::fields_conflict, {said.split_data_on_qps.at, 1},
                   "splitDataOnQps has no effect with one queue pair for each connection",
                   "qpsPerConnection: 2 or more");
}

}  // namespace

template <>
const Type& struct_type<Nccl>() {
  static constexpr Type type =
      object_type<Nccl>("nccl", nccl_fields, checked<Nccl, check_nccl>, "NCCL's own");
  return type;
}

}  // namespace lockstep
