// The map between entries and RoCE's settings: the only file of this folder that names rows.
#pragma once

#include <string>

#include "drivers/linux/rdma/dcqcn.hpp"
#include "drivers/linux/rdma/settings.hpp"
#include "drivers/mapped/map_table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::rdma_map {

struct MapRow {
  RowId row;
  // Why a RoCE port does not support it; empty: it does.
  std::string (*lacking)(const HostFiles&, const rdma::RocePort&);
  Result<Value> (*read)(const HostFiles&, const rdma::RocePort&);
  Result<Done> (*write)(const Change&, const HostFiles&, const rdma::RocePort&);
  // In terms of MLNX_OFED's tools and files; those of other drivers are elsewhere (settings.hpp).
  std::string (*native)(const Change&);
};

std::string cnp_dscp_words(const Change& change);
std::string cnp_priority_words(const Change& change);
std::string control_words(const Change& change);
std::string tos_words(const Change& change);

std::string dcqcn_words(const Change& change, const rdma::DcqcnParameter& one);

template <const rdma::DcqcnParameter& one>
constexpr MapRow dcqcn(RowId row) {
  return {
      row,
      [](const HostFiles& files, const rdma::RocePort& port) { return rdma::why_no_dcqcn(one, files, port); },
      [](const HostFiles& files, const rdma::RocePort& port) { return rdma::read_dcqcn(one, files, port); },
      [](const Change& change, const HostFiles& files, const rdma::RocePort& port) {
        return rdma::write_dcqcn(one, change, files, port);
      },
      [](const Change& change) { return dcqcn_words(change, one); }};
}

inline constexpr MapRow kRows[] = {
    {row("interface[*]/cnp-dscp"), rdma::why_no_cnp_dscp, rdma::read_cnp_dscp, rdma::write_cnp_dscp,
     cnp_dscp_words},
    {row("interface[*]/cnp-priority"), rdma::why_no_cnp_priority, rdma::read_cnp_priority,
     rdma::write_cnp_priority, cnp_priority_words},
    {row("interface[*]/congestion-control"), rdma::why_no_control, rdma::read_control, rdma::write_control,
     control_words},
    dcqcn<rdma::kDcqcnAdditiveIncrease>(row("interface[*]/dcqcn/additive-increase")),
    dcqcn<rdma::kDcqcnAlphaGain>(row("interface[*]/dcqcn/alpha-gain")),
    dcqcn<rdma::kDcqcnAlphaTimer>(row("interface[*]/dcqcn/alpha-timer")),
    dcqcn<rdma::kDcqcnByteReset>(row("interface[*]/dcqcn/byte-reset")),
    dcqcn<rdma::kDcqcnClampTargetRate>(row("interface[*]/dcqcn/clamp-target-rate")),
    dcqcn<rdma::kDcqcnClampTargetRateAfterTimer>(row("interface[*]/dcqcn/clamp-target-rate-after-timer")),
    dcqcn<rdma::kDcqcnCnpInterval>(row("interface[*]/dcqcn/cnp-interval")),
    dcqcn<rdma::kDcqcnFastRecoverySteps>(row("interface[*]/dcqcn/fast-recovery-steps")),
    dcqcn<rdma::kDcqcnHyperIncrease>(row("interface[*]/dcqcn/hyper-increase")),
    dcqcn<rdma::kDcqcnInitialAlpha>(row("interface[*]/dcqcn/initial-alpha")),
    dcqcn<rdma::kDcqcnMaxRate>(row("interface[*]/dcqcn/max-rate")),
    dcqcn<rdma::kDcqcnMinDecrease>(row("interface[*]/dcqcn/min-decrease")),
    dcqcn<rdma::kDcqcnMinRate>(row("interface[*]/dcqcn/min-rate")),
    dcqcn<rdma::kDcqcnRateOnFirstCnp>(row("interface[*]/dcqcn/rate-on-first-cnp")),
    dcqcn<rdma::kDcqcnRateReducePeriod>(row("interface[*]/dcqcn/rate-reduce-period")),
    dcqcn<rdma::kDcqcnReductionShift>(row("interface[*]/dcqcn/reduction-shift")),
    dcqcn<rdma::kDcqcnTimeReset>(row("interface[*]/dcqcn/time-reset")),
    {row("interface[*]/roce-tos"), rdma::why_no_tos, rdma::read_tos, rdma::write_tos, tos_words},
};
static_assert(has_each_row_once(kRows));

// Why the port does not support the row; empty: it does.
std::string lacking(const MapRow& one, const HostFiles& files, const rdma::RocePort& port);

}  // namespace lockstep::rdma_map
