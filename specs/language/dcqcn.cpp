// The field table of Dcqcn, and the rules between its fields.
//
// Defaults are those of ConnectX-4 and later (NVIDIA DOCA 3.4, "DCQCN CC Parameters"; mlxconfig's output on
// ConnectX-4 Lx, -5 and -7). Units and widths: Mellanox/mstflint@b9d9e844 mlxconfig_host.db.
#include "specs/language/dcqcn.hpp"

#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t microsecond = 1'000;
constexpr std::int64_t megabit = 1'000'000;
constexpr std::int64_t percent = 10'000;
constexpr std::int64_t bits_17 = 131'071;
constexpr std::int64_t bits_32 = 4'294'967'295;
constexpr std::string_view widths = "mlxconfig's widths (mstflint, mlxconfig_host.db)";

constexpr Limits intervals{
    .least = 0, .most = bits_17 * microsecond, .range = "0us to 131071us", .why = widths};
constexpr Limits times{
    .least = microsecond, .most = bits_17 * microsecond, .range = "1us to 131071us", .why = widths};
constexpr Limits rates{
    .least = 0, .most = bits_32 * megabit, .range = "0Mbps to 4294967295Mbps", .why = widths};
constexpr Limits rates_above_0{
    .least = megabit, .most = bits_32 * megabit, .range = "1Mbps to 4294967295Mbps", .why = widths};
constexpr Limits alphas{.least = 1, .most = 1023, .why = "ten bits: 1024 is 1 (DOCA 3.4)"};

constexpr Field dcqcn_fields[] = {
    field<&Dcqcn::cnp_interval>(
        "cnpInterval",
        "least time between two CNPs of a port, whole us; min_time_between_cnps, 4us by default", intervals),
    field<&Dcqcn::initial_alpha>(
        "initialAlpha", "alpha at a flow's first CNP, in 1/1024; initial_alpha_value, 1023 by default",
        alphas),
    field<&Dcqcn::alpha_gain>(
        "alphaGain", "weight in the updates of alpha, in 1/1024; dce_tcp_g, 1019 by default", alphas),
    field<&Dcqcn::alpha_timer>("alphaTimer",
                               "time between updates of alpha, whole us; dce_tcp_rtt, 1us by default", times),
    field<&Dcqcn::rate_reduce_period>("rateReducePeriod",
                                      "least time between two reductions of a flow's rate, whole us; "
                                      "rate_reduce_monitor_period, 4us by default",
                                      times),
    field<&Dcqcn::min_decrease>(
        "minDecrease",
        "share of its rate that a flow keeps at least in one reduction, whole %; "
        "rpg_min_dec_fac, 50% by default",
        {.least = percent, .most = 100 * percent, .range = "1% to 100%", .why = widths}),
    field<&Dcqcn::reduction_shift>("reductionShift",
                                   "a reduction is by alpha / 2^n, alpha in 1/1024; rpg_gd, 11 by default",
                                   {.least = 10, .most = 11, .why = "DOCA 3.4"}),
    field<&Dcqcn::min_rate>("minRate",
                            "rate below which no flow is taken, whole Mbps; rpg_min_rate, 1Mbps by default",
                            rates_above_0),
    field<&Dcqcn::rate_on_first_cnp>("rateOnFirstCnp",
                                     "a flow's rate at its first CNP, whole Mbps, 0: the port's; "
                                     "rate_to_set_on_first_cnp, 0Mbps by default",
                                     rates),
    field<&Dcqcn::clamp_target_rate>(
        "clampTargetRate",
        "true: each CNP lowers the target rate to the current one; clamp_tgt_rate, false by default"),
    field<&Dcqcn::clamp_target_rate_after_timer>(
        "clampTargetRateAfterTimer",
        "true: so, where the timer raised the rate; clamp_tgt_rate_after_time_inc, true by default"),
    field<&Dcqcn::time_reset>(
        "timeReset",
        "time without CNPs between two rate increases, whole us; rpg_time_reset, 300us by default", times),
    field<&Dcqcn::byte_reset>(
        "byteReset",
        "bytes sent between two rate increases, 0: time alone counts; rpg_byte_reset, 32767B by default",
        {.least = 0, .most = bits_32, .range = "0B to 4294967295B", .why = widths}),
    field<&Dcqcn::fast_recovery_steps>(
        "fastRecoverySteps",
        "rate increases before additive, and then hyper increase; rpg_threshold, 1 "
        "by default",
        {.least = 1, .most = 31, .why = widths}),
    field<&Dcqcn::additive_increase>(
        "additiveIncrease",
        "added to the target rate in each step, whole Mbps; rpg_ai_rate, 5Mbps by default", rates_above_0),
    field<&Dcqcn::hyper_increase>(
        "hyperIncrease",
        "added in each step once time and bytes both had theirs, whole Mbps; rpg_hai_rate, 50Mbps by default",
        rates_above_0),
    field<&Dcqcn::max_rate>(
        "maxRate",
        "rate from which a flow is no longer limited, whole Mbps, 0: the port's; rpg_max_rate, "
        "0Mbps by default",
        rates),
};

template <class T>
void check_whole(const Said<T>& said, std::uint64_t amount, std::uint64_t unit, std::string_view name,
                 Reporter& reporter) {
  if (said.said && amount % unit != 0)
    reporter.error(code::out_of_range, {said.at, 1}, in_quotes(format(*said)) + " can't be set",
                   "a whole number of " + std::string(name));
}
void check_time(const Said<Duration>& said, Reporter& reporter) {
  check_whole(said, static_cast<std::uint64_t>(said->count()), kDcqcnTime, "microseconds", reporter);
}
void check_rate(const Said<BitRate>& said, Reporter& reporter) {
  check_whole(said, said->bits_per_second, kDcqcnRate, "Mbps", reporter);
}

void check_dcqcn(const Dcqcn& said, Span, Reporter& reporter) {
  for (const auto member :
       {&Dcqcn::cnp_interval, &Dcqcn::alpha_timer, &Dcqcn::rate_reduce_period, &Dcqcn::time_reset})
    check_time(said.*member, reporter);
  for (const auto member : {&Dcqcn::min_rate, &Dcqcn::rate_on_first_cnp, &Dcqcn::additive_increase,
                            &Dcqcn::hyper_increase, &Dcqcn::max_rate})
    check_rate(said.*member, reporter);
  check_whole(said.min_decrease, said.min_decrease->parts_per_million, kDcqcnShare, "percent", reporter);
  if (said.min_rate.said && said.max_rate.said && said.max_rate->bits_per_second != 0 &&
      *said.min_rate > *said.max_rate)
    reporter.error(code::fields_conflict, {said.min_rate.at, 1},
                   "minRate " + format(*said.min_rate) + " is above maxRate " + format(*said.max_rate), "",
                   {{said.max_rate.at, "maxRate is here"}});
}

}  // namespace

template <>
const Type& struct_type<Dcqcn>() {
  static constexpr Type type =
      object_type<Dcqcn>("dcqcn", dcqcn_fields, checked<Dcqcn, check_dcqcn>, "the NIC keeps its own");
  return type;
}

}  // namespace lockstep
