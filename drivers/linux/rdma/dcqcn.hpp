// DCQCN's parameters of a RoCE port, in the files of mlx5: MLNX_OFED's ecn/roce_rp and roce_np, or the
// upstream driver's cc_params (debugfs, infiniband/hw/mlx5/cong.c). Both hold the firmware's own numbers.
//
// bnxt_re's parameters (g, init_cr, init_tr, rtt, nph_per_state, inact_th) belong to another variant of the
// algorithm, in other units: none is equivalent to one of these. Promises: as settings.hpp. Refuses a value
// that is not an integer, or, for a switch, not a boolean; the firmware checks the range.
#pragma once

#include "drivers/linux/rdma/port_file.hpp"
#include "specs/model/diff.hpp"

namespace lockstep::rdma {

struct DcqcnParameter {
  PortFile file;
  bool is_switch = false;
};

inline constexpr DcqcnParameter kDcqcnCnpInterval{
    {"roce_np/min_time_between_cnps", "np_min_time_between_cnps"}};
inline constexpr DcqcnParameter kDcqcnInitialAlpha{{"roce_rp/initial_alpha_value", "rp_initial_alpha_value"}};
inline constexpr DcqcnParameter kDcqcnAlphaGain{{"roce_rp/dce_tcp_g", "rp_dce_tcp_g"}};
inline constexpr DcqcnParameter kDcqcnAlphaTimer{{"roce_rp/dce_tcp_rtt", "rp_dce_tcp_rtt"}};
inline constexpr DcqcnParameter kDcqcnRateReducePeriod{
    {"roce_rp/rate_reduce_monitor_period", "rp_rate_reduce_monitor_period"}};
inline constexpr DcqcnParameter kDcqcnMinDecrease{{"roce_rp/rpg_min_dec_fac", "rp_min_dec_fac"}};
inline constexpr DcqcnParameter kDcqcnReductionShift{{"roce_rp/rpg_gd", "rp_gd"}};
inline constexpr DcqcnParameter kDcqcnMinRate{{"roce_rp/rpg_min_rate", "rp_min_rate"}};
inline constexpr DcqcnParameter kDcqcnRateOnFirstCnp{
    {"roce_rp/rate_to_set_on_first_cnp", "rp_rate_to_set_on_first_cnp"}};
inline constexpr DcqcnParameter kDcqcnClampTargetRate{{"roce_rp/clamp_tgt_rate", "rp_clamp_tgt_rate"}, true};
inline constexpr DcqcnParameter kDcqcnClampTargetRateAfterTimer{
    {"roce_rp/clamp_tgt_rate_after_time_inc", "rp_clamp_tgt_rate_ati"}, true};
inline constexpr DcqcnParameter kDcqcnTimeReset{{"roce_rp/rpg_time_reset", "rp_time_reset"}};
inline constexpr DcqcnParameter kDcqcnByteReset{{"roce_rp/rpg_byte_reset", "rp_byte_reset"}};
inline constexpr DcqcnParameter kDcqcnFastRecoverySteps{{"roce_rp/rpg_threshold", "rp_threshold"}};
inline constexpr DcqcnParameter kDcqcnAdditiveIncrease{{"roce_rp/rpg_ai_rate", "rp_ai_rate"}};
inline constexpr DcqcnParameter kDcqcnHyperIncrease{{"roce_rp/rpg_hai_rate", "rp_hai_rate"}};
inline constexpr DcqcnParameter kDcqcnMaxRate{{"roce_rp/rpg_max_rate", "rp_max_rate"}};

std::string why_no_dcqcn(const DcqcnParameter& one, const HostFiles& files, const RocePort& port);
Result<Value> read_dcqcn(const DcqcnParameter& one, const HostFiles& files, const RocePort& port);
Result<Done> write_dcqcn(const DcqcnParameter& one, const Change& change, const HostFiles& files,
                         const RocePort& port);

}  // namespace lockstep::rdma
