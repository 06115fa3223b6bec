#include "drivers/linux/lldp_remedy.hpp"

#include "drivers/linux/map.hpp"

namespace lockstep {
namespace {

// Arbitrary: an agent that dies more often than this requires manual action.
constexpr int kTries = 3;
constexpr std::chrono::seconds kWithin{300};

}  // namespace

std::optional<Remedy::Offer> LldpRemedy::offer(const Change& effect) const {
  if (!restart_ || effect.path.row() != linux_map::kLldpAgent) return std::nullopt;
  return Offer{"restart-lldp-agent", "ends what is left of lldpd and starts it again", Disruption::none,
               kTries, kWithin};
}

Result<Done> LldpRemedy::cure(const ChangeSet& effects, const Call& call) {
  for (const Change& effect : effects)
    if (!offer(effect))
      return Error{ErrorKind::unsupported, effect.path.text() + ": there is no remedy for it here"};
  return effects.empty() ? Result<Done>(Done{}) : restart_(call);
}

}  // namespace lockstep
