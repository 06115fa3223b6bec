#include "reconciler/engine/refused_writes.hpp"

#include <fmt/format.h>

#include "reconciler/engine/digest.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {

std::map<std::string, UndoneBefore> undone_before(const std::vector<RefusedWrite>& refused,
                                                  const Fleet& fleet, bool person) {
  std::map<std::string, std::string> now;  // by devices
  std::map<std::string, UndoneBefore> out;
  for (const RefusedWrite& one : refused) {
    const auto [ground, is_new] = now.try_emplace(one.devices);
    if (is_new)
      if (const auto devices = expand_hostlist(one.devices)) ground->second = wanted_digest(fleet, *devices);
    if (ground->second != one.ground) continue;
    const std::string undone = fmt::format("change {} did this and was undone ({})", one.change, one.why);
    const bool offered = one.cleared && one.times == 1 && person;
    out.emplace(one.digest,
                UndoneBefore{undone + (offered ? "; it is tried once more"
                                               : "; until the specs change it needs --approve gate"),
                             offered});
  }
  return out;
}

}  // namespace lockstep
