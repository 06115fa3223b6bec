#include "drivers/linux/dcb/qdisc_classes.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace lockstep::dcb {
namespace {

constexpr std::size_t kClasses = IEEE_8021QAZ_MAX_TCS;
constexpr std::uint8_t kAllPercent = 100;
// The minimum to which Linux 6.1.192 raises a quantum; used for classes without a share.
constexpr std::uint32_t kLeastQuantum = 256;
// Quantum per percent: large enough that the minimum quanta of all classes are less than half of it.
constexpr std::uint32_t kQuantumOfPercent = 8192;
static_assert(2 * kClasses * kLeastQuantum < kQuantumOfPercent);

constexpr std::size_t band_of(std::size_t tc) { return kClasses - 1 - tc; }

bool is_used(const ieee_ets& ets, std::size_t tc) { return std::ranges::count(ets.prio_tc, tc) > 0; }

bool has_share(const ieee_ets& ets, std::size_t tc) {
  return is_used(ets, tc) && ets.tc_tsa[tc] == IEEE_8021QAZ_TSA_ETS && ets.tc_tx_bw[tc] > 0;
}

}  // namespace

Result<EtsParameters> root_ets_for(const ieee_ets& ets) {
  std::size_t lowest = kClasses - 1;  // lowest used class; there are no bands below it
  std::size_t lowest_strict = kClasses;
  for (std::size_t tc = kClasses; tc-- > 0;) {
    if (!is_used(ets, tc)) continue;
    lowest = tc;
    if (ets.tc_tsa[tc] == IEEE_8021QAZ_TSA_STRICT) lowest_strict = tc;
  }
  for (std::size_t tc = lowest_strict; tc < kClasses; ++tc)
    if (is_used(ets, tc) && ets.tc_tsa[tc] != IEEE_8021QAZ_TSA_STRICT)
      return Error{ErrorKind::refused, "class " + std::to_string(tc) + " is not strict, and class " +
                                           std::to_string(lowest_strict) +
                                           " below it is: of a root ets qdisc the strict classes have the "
                                           "highest numbers"};
  EtsParameters out;
  out.strict = static_cast<std::uint8_t>(kClasses - lowest_strict);
  std::uint32_t* last = nullptr;  // of a class with a share
  out.quanta.reserve(kClasses);
  for (std::size_t tc = lowest_strict; tc-- > lowest;) {
    out.quanta.push_back(has_share(ets, tc) ? ets.tc_tx_bw[tc] * kQuantumOfPercent : kLeastQuantum);
    if (has_share(ets, tc)) last = &out.quanta.back();
  }
  // The sum is exactly 100 %, so that no partial sum is rounded down by a percent.
  if (last != nullptr)
    *last -= std::accumulate(out.quanta.begin(), out.quanta.end(), std::uint32_t{0}) -
             kAllPercent * kQuantumOfPercent;
  for (std::size_t priority = 0; priority < out.bands.size(); ++priority)
    out.bands[priority] = static_cast<std::uint8_t>(band_of(ets.prio_tc[priority < kClasses ? priority : 0]));
  return out;
}

ieee_ets ets_of(const EtsParameters& root, const ieee_ets& have) {
  ieee_ets out = have;
  std::uint64_t sum = 0;
  for (const std::uint32_t quantum : root.quanta)
    if (quantum > kLeastQuantum) sum += quantum;
  for (std::size_t tc = 0; tc < kClasses; ++tc) {
    const std::size_t band = band_of(tc);
    const bool is_shared = band >= root.strict && band - root.strict < root.quanta.size();
    const std::uint32_t quantum = is_shared ? root.quanta[band - root.strict] : 0;
    out.tc_tsa[tc] = is_shared ? IEEE_8021QAZ_TSA_ETS : IEEE_8021QAZ_TSA_STRICT;
    out.tc_tx_bw[tc] = quantum > kLeastQuantum
                           ? static_cast<std::uint8_t>((std::uint64_t{quantum} * kAllPercent + sum / 2) / sum)
                           : std::uint8_t{0};
  }
  for (std::size_t priority = 0; priority < kClasses; ++priority)
    out.prio_tc[priority] =
        static_cast<std::uint8_t>(band_of(std::min<std::size_t>(root.bands[priority], kClasses - 1)));
  return out;
}

}  // namespace lockstep::dcb
