#include "reconciler/source/source.hpp"

namespace lockstep {

std::string_view to_string(SourceTrouble trouble) {
  switch (trouble) {
    case SourceTrouble::unreachable: return "Unreachable";
    case SourceTrouble::denied: return "Denied";
    case SourceTrouble::not_found: return "NotFound";
    case SourceTrouble::too_large: return "TooLarge";
    case SourceTrouble::not_allowed: return "NotAllowed";
    case SourceTrouble::not_verified: return "NotVerified";
    case SourceTrouble::broken: return "Broken";
    case SourceTrouble::local: return "Local";
  }
  return "Unknown";
}

}  // namespace lockstep
