// What a change set can have touched, and what errors lead to.
#include <algorithm>
#include <array>
#include <map>

#include "reconciler/engine/apply.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

bool BlastRadius::touches(const std::string& device) const {
  return std::binary_search(devices.begin(), devices.end(), device);
}

bool BlastRadius::touches_cable(std::uint32_t cable) const {
  return std::binary_search(cables.begin(), cables.end(), cable);
}

bool BlastRadius::touches_path(const std::vector<std::string>& devices_crossed,
                               const std::vector<std::uint32_t>& cables_crossed) const {
  return std::any_of(devices_crossed.begin(), devices_crossed.end(),
                     [this](const std::string& one) { return touches(one); }) ||
         std::any_of(cables_crossed.begin(), cables_crossed.end(),
                     [this](std::uint32_t one) { return touches_cable(one); });
}

BlastRadius blast_radius(const std::vector<Step>& steps, const Wiring& wiring) {
  std::set<std::string> whole;
  std::set<std::uint32_t> cables;
  for (const Step& step : steps) {
    bool only_cables = step.if_open.empty();
    for (const PlannedChange& change : step.changes) {
      if (!schema_row(change.path.row()).saves.empty()) continue;  // no traffic depends on it
      const auto cable = change.path.key_count() > 0 ? wiring.cable_at(step.device, change.path.key(0))
                                                     : std::optional<std::uint32_t>();
      if (cable)
        cables.insert(*cable);
      else
        only_cables = false;
    }
    if (!only_cables) whole.insert(step.device);
  }
  for (std::uint32_t i = 0; i < wiring.cables.size(); ++i)
    if (whole.contains(wiring.cables[i].a.device) || whole.contains(wiring.cables[i].b.device))
      cables.insert(i);
  BlastRadius blast;
  blast.devices = {whole.begin(), whole.end()};
  blast.cables = {cables.begin(), cables.end()};
  return blast;
}

std::vector<Step> joined(std::vector<Step> first, const std::vector<Step>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<Step> steps_of(const OwedChange& owed) {
  std::vector<Step> steps;
  std::map<std::uint32_t, std::size_t> place;  // a step has a ticket for each of its tries
  for (const LedgerTicket& ticket : owed.tickets) {
    const auto [found, is_new] = place.try_emplace(ticket.step, steps.size());
    if (is_new) {
      steps.emplace_back();
      steps.back().device = ticket.device;
      steps.back().driver = ticket.driver;
    }
    for (const Change& one : ticket.changes)
      steps[found->second].changes.push_back({one.path, one.was, one.want, 0, false});
  }
  return steps;
}

Reaction reaction_to(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::transient: return Reaction::retry_later;
    case ErrorKind::unknown_outcome: return Reaction::observe_again;
    case ErrorKind::conflict: return Reaction::plan_again;
    case ErrorKind::cancelled: return Reaction::stop;
    case ErrorKind::refused:
    case ErrorKind::unsupported:
    case ErrorKind::denied:
    case ErrorKind::invalid_spec: return Reaction::give_up;
  }
  return Reaction::give_up;
}

std::string_view to_string(StepState state) {
  constexpr std::array<std::string_view, 10> kWords{"waiting",    "running", "done",   "nothing to do",
                                                    "not needed", "failed",  "undone", "skipped",
                                                    "held",       "stopped"};
  return kWords[static_cast<std::size_t>(state)];
}

std::string_view to_string(ApplyVerdict verdict) {
  constexpr std::array<std::string_view, 13> kWords{"nothing to do",
                                                    "kept",
                                                    "partly",
                                                    "effects open",
                                                    "undone",
                                                    "undo failed",
                                                    "quarantined",
                                                    "waits for a window",
                                                    "stopped",
                                                    "kept, not validated",
                                                    "needs approval",
                                                    "undone in part",
                                                    "taken over by another controller"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::size_t ApplyReport::count(StepState state) const {
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [state](const StepResult& one) { return one.state == state; }));
}

int ApplyReport::exit_code() const {
  if (unjournalled) return 1;
  switch (verdict) {
    case ApplyVerdict::not_validated:
      if (fell_short) return 1;
      return gate && gate->verdict == GateVerdict::fail ? 2 : 3;
    case ApplyVerdict::nothing_to_do:
    case ApplyVerdict::kept:
      if (gate && gate->verdict == GateVerdict::fail) return 2;
      if (leaves_owed || (gate && gate->verdict == GateVerdict::unknown)) return 3;
      return open_before.empty() ? 0 : 2;
    case ApplyVerdict::undone:
    case ApplyVerdict::undone_in_part: return fell_short || guilt() == Guilt::open ? 1 : 2;
    case ApplyVerdict::quarantined: return fell_short ? 1 : 2;
    case ApplyVerdict::effects_open:
    case ApplyVerdict::asks:
    case ApplyVerdict::waits: return 2;
    case ApplyVerdict::partly:
    case ApplyVerdict::undo_failed:
    case ApplyVerdict::taken_over:
    case ApplyVerdict::stopped: return 1;
  }
  return 1;
}

}  // namespace lockstep
