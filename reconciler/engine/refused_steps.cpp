#include "reconciler/engine/refused_steps.hpp"

#include <fmt/format.h>

#include <map>

#include "reconciler/engine/digest.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// By digest, those whose devices' specs are what they were.
std::map<std::string, const RefusedStep*> standing(const std::vector<RefusedStep>& refused,
                                                   const Fleet& fleet) {
  std::map<std::string, std::string> now;  // by devices
  std::map<std::string, const RefusedStep*> out;
  for (const RefusedStep& one : refused) {
    const auto [ground, is_new] = now.try_emplace(one.devices);
    if (is_new)
      if (const auto devices = expand_hostlist(one.devices)) ground->second = wanted_digest(fleet, *devices);
    if (ground->second == one.ground) out.emplace(one.digest, &one);
  }
  return out;
}

}  // namespace

Plan hold_refused(Plan plan, const std::vector<RefusedStep>& refused, const Fleet& fleet, bool person) {
  if (refused.empty()) return plan;
  const std::map<std::string, const RefusedStep*> all = standing(refused, fleet);
  for (Step& step : plan.steps) {
    const auto found = all.find(step_digest(step));
    if (found == all.end()) continue;
    const RefusedStep& one = *found->second;
    const std::string undone = fmt::format("change {} did this and was undone ({})", one.change, one.why);
    if (one.cleared && one.times == 1 && person)
      step.notes.push_back(undone + "; it is tried once more");
    else
      step.holds.push_back({Hold::Kind::gate, undone + "; until the specs change it needs --approve gate"});
  }
  return plan;
}

}  // namespace lockstep
