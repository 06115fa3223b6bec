#include "reconciler/engine/ledger.hpp"

#include <fmt/format.h>

namespace lockstep {

Result<Done> count_cure(Ledger& ledger, const std::string& device, const Remedy::Offer& offer, WallTime now,
                        bool person) {
  if (offer.within > kCureWindowMax)
    return Error{
        ErrorKind::refused,
        fmt::format("{}: remedy '{}' is counted over {} s, and remedies are remembered for {} s", device,
                    offer.name, offer.within.count(), std::chrono::seconds(kCureWindowMax).count())};
  TRY(const std::size_t tried, ledger.cures(device, offer.name, now - offer.within));
  if (!person && tried >= static_cast<std::size_t>(offer.tries_max))
    return Error{ErrorKind::refused,
                 fmt::format("{}: remedy '{}' was tried {} times within {} s, as often as its driver allows",
                             device, offer.name, tried, offer.within.count())};
  return ledger.cure(device, offer.name, now);
}

}  // namespace lockstep
