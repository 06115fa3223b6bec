#include "reconciler/engine/link_ends.hpp"

#include <algorithm>
#include <map>

#include "reconciler/engine/met.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Refers to, or is committed with, a row that must agree: at most as many rounds as there are rows.
constexpr std::array<bool, kSchema.size()> kMustAgree = [] {
  std::array<bool, kSchema.size()> out{};
  const auto joins = [](const Row& row, const Row& other) {
    return row.refers_to == other.pattern || (!row.commit.empty() && row.commit == other.commit);
  };
  for (std::size_t i = 0; i < kSchema.size(); ++i)
    out[i] = kSchema[i].peer_order == PeerOrder::receiver_first;
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t i = 0; i < kSchema.size(); ++i)
      for (std::size_t j = 0; j < kSchema.size() && !out[i]; ++j)
        if (out[j] && joins(kSchema[i], kSchema[j])) grew = out[i] = true;
  }
  return out;
}();

std::optional<std::uint32_t> cable_of(const Step& step, const PlannedChange& change, const Wiring& wiring) {
  if (!must_agree(change.path.row()) || change.path.key_count() == 0) return std::nullopt;
  return wiring.cable_at(step.device, change.path.key(0));
}

std::string port_of(const Step& step, const PlannedChange& change) {
  return step.device + ":" + std::string(change.path.key(0));
}

// By index: the steps that are not done for a failure. One that waits for a window or a person's word, or
// that only comes after such a one, is not done by plan.
std::vector<bool> fallen_short(const Plan& plan, const std::vector<StepResult>& results) {
  std::vector<bool> is_short(results.size(), false);
  std::vector<bool> by_plan(results.size(), false);
  for (std::size_t i = 0; i < results.size(); ++i) {  // what it comes after has a smaller id
    const StepResult& result = results[i];
    const std::vector<std::uint32_t>& after = plan.steps[i].after;
    const auto any_of = [&after](const std::vector<bool>& those) {
      return std::any_of(after.begin(), after.end(), [&](std::uint32_t id) { return those[id - 1]; });
    };
    const bool behind = result.waits || (any_of(by_plan) && !any_of(is_short));
    is_short[i] = result.state == StepState::failed || result.state == StepState::undone ||
                  (result.state == StepState::skipped && !behind);
    by_plan[i] = result.state == StepState::held || (result.state == StepState::skipped && behind);
  }
  return is_short;
}

}  // namespace

bool must_agree(RowId row) { return kMustAgree[row]; }

std::vector<Step> half_done(const Plan& plan, const std::vector<StepResult>& results, const Fleet& fleet) {
  std::vector<Step> out;
  const std::vector<bool> is_short = fallen_short(plan, results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Step& step = plan.steps[i];
    if (is_short[i] && step.remedy.empty() &&
        std::any_of(step.changes.begin(), step.changes.end(), [&](const PlannedChange& change) {
          return cable_of(step, change, fleet.wiring()).has_value();
        }))
      out.push_back(step);
  }
  return out;
}

UnevenEnds uneven_ends(const std::vector<Step>& short_of, const std::vector<Step>& written,
                       const Fleet& fleet, const std::vector<DeviceState>& now) {
  UnevenEnds out;
  std::map<std::uint32_t, std::string> uneven;  // by cable: the port that did not take its part
  for (const Step& step : short_of) {
    const auto device = fleet.find(step.device);
    if (!device || *device >= now.size()) continue;
    const DeviceState& state = now[*device];
    for (const PlannedChange& change : step.changes) {
      const auto cable = cable_of(step, change, fleet.wiring());
      if (!cable || change.transient) continue;
      const std::string port = port_of(step, change);
      if (!state.reachable || is_unread(state.observation.unread, change.path))
        out.notes.push_back(port + " can't be read: the other end of its cable is left as it is");
      else if (!is_met(change.path, change.want, state.observation.have.value(change.path)))
        uneven.emplace(*cable, port);
    }
  }
  std::map<std::string, std::string> taken;  // by port that was written: the one that it is taken back for
  for (const Step& step : written) {
    Step part = step;
    part.changes.clear();
    for (const PlannedChange& change : step.changes) {
      const auto cable = cable_of(step, change, fleet.wiring());
      const auto refuser = cable ? uneven.find(*cable) : uneven.end();
      if (refuser == uneven.end()) continue;
      taken.emplace(port_of(step, change), refuser->second);
      part.changes.push_back(change);
    }
    if (!part.changes.empty()) out.take_back.push_back(std::move(part));
  }
  for (const auto& [port, refuser] : taken)
    if (port != refuser)
      out.notes.push_back("what was written at " + port + " is taken back: " + refuser +
                          ", the other end of its cable, did not take its part");
  std::sort(out.notes.begin(), out.notes.end());
  out.notes.erase(std::unique(out.notes.begin(), out.notes.end()), out.notes.end());
  return out;
}

}  // namespace lockstep
