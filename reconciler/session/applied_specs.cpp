#include "reconciler/session/applied_specs.hpp"

#include <algorithm>
#include <map>

#include "reconciler/engine/digest.hpp"
#include "reconciler/session/former_entries.hpp"

namespace lockstep {
namespace {

constexpr const char* kPlace = "applied";
constexpr const char* kNobody = "";  // a digest that no specs have

// What the specs say: without what is only to be restored, which ends with its restoration.
std::string specs_digest(const Intent& intent, const Origins& origins) {
  Digest digest;
  for (const Entry& entry : intent.want.entries()) {
    if (is_restoration(origins[entry.origin])) continue;
    digest.add(entry.path);
    digest.add(entry.value);
  }
  return digest.finish();
}

Result<nlohmann::json> applied(const Blobs& blobs) {
  TRY(std::optional<nlohmann::json> blob, blobs.kept(kPlace));
  if (!blob) return nlohmann::json::object();
  if (!blob->is_object())
    return Error{ErrorKind::refused, "journal: what is kept under '" + std::string(kPlace) +
                                         "' is not of the form that lockstep writes"};
  return *std::move(blob);
}

bool is(const nlohmann::json& all, const std::string& device, const std::string& digest) {
  const auto found = all.find(device);
  return found != all.end() && *found == digest;
}

// What an apply has come to on one device.
enum class Reached : std::uint8_t { nothing, part, all };

Reached reached_by(const StepResult& step) {
  if (step.state == StepState::done || step.state == StepState::nothing_to_do) return Reached::all;
  return step.writes == 0 || step.state == StepState::undone ? Reached::nothing : Reached::part;
}

std::map<std::string, Reached> reached_by(const Plan& plan, const ApplyReport& report) {
  std::map<std::string, Reached> out;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const Reached step =
        report.verdict == ApplyVerdict::undo_failed ? Reached::part : reached_by(report.steps[i]);
    const auto [device, is_new] = out.try_emplace(plan.steps[i].device, step);
    if (device->second != step) device->second = Reached::part;
  }
  return out;
}

}  // namespace

Result<Done> AppliedSpecs::begin(const ClusterSession& session, const std::set<std::string>& devices,
                                 Blobs& blobs) {
  TRY(before_, applied(blobs));
  nlohmann::json now = before_;
  for (const std::string& name : devices) {
    const FleetDevice& device = session.fleet()[*session.fleet().find(name)];
    if (!is(now, name, specs_digest(*device.intent, session.origins()))) now[name] = kNobody;
  }
  return blobs.keep(kPlace, now);
}

Result<Done> AppliedSpecs::end(const ClusterSession& session, const Plan& plan, const ApplyReport& report,
                               Blobs& blobs) {
  if (report.verdict == ApplyVerdict::undone)
    return before_.is_null() ? Result<Done>(Done{}) : blobs.keep(kPlace, before_);
  TRY(nlohmann::json now, applied(blobs));
  if (before_.is_null()) before_ = now;
  const std::map<std::string, Reached> reached = reached_by(plan, report);
  const std::vector<std::string> only = session.choice().only;
  for (const FleetDevice& device : session.fleet().devices()) {
    if (!only.empty() && !std::ranges::count(only, device.name)) continue;
    const std::string digest = specs_digest(*device.intent, session.origins());
    const auto found = reached.find(device.name);
    const Reached how = found == reached.end() ? Reached::all : found->second;
    if (how == Reached::all)
      now[device.name] = digest;
    else if (how == Reached::nothing && before_.contains(device.name))
      now[device.name] = before_[device.name];
    else if (!is(before_, device.name, digest))
      now[device.name] = kNobody;
  }
  for (auto& [name, digest] : now.items())
    if (!session.fleet().find(name)) digest = kNobody;
  return blobs.keep(kPlace, now);
}

Result<std::vector<std::size_t>> applied_otherwise(const Fleet& fleet, const Origins& origins,
                                                   const std::vector<std::size_t>& devices,
                                                   const Blobs& blobs) {
  TRY(const nlohmann::json all, applied(blobs));
  std::vector<std::size_t> out;
  if (all.empty()) return out;
  for (const std::size_t device : devices)
    if (!is(all, fleet[device].name, specs_digest(*fleet[device].intent, origins))) out.push_back(device);
  return out;
}

}  // namespace lockstep
