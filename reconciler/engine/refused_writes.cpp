#include "reconciler/engine/refused_writes.hpp"

#include <fmt/format.h>

namespace lockstep {

std::map<std::string, UndoneBefore> undone_before(const std::vector<RefusedWrite>& refused, bool person) {
  std::map<std::string, UndoneBefore> out;
  for (const RefusedWrite& one : refused) {
    const std::string rolled_back =
        fmt::format("change {} did this and was rolled back ({})", one.change, one.why);
    const bool offered = one.cleared && one.times == 1 && person;
    out.emplace(
        one.digest,
        UndoneBefore{rolled_back + (offered ? "; it is tried once more"
                                            : "; it needs --approve gate, or another value in the specs"),
                     offered});
  }
  return out;
}

}  // namespace lockstep
