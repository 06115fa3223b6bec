#include "reconciler/session/applied_specs.hpp"

#include <algorithm>
#include <map>

#include "reconciler/engine/digest.hpp"
#include "reconciler/session/former_entries.hpp"

namespace lockstep {
namespace {

constexpr const char* kPlace = "applied";
constexpr const char* kNobody = "";  // a digest that no specs have

// The desired state without entries that are only to be restored, which end with their restoration.
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

// How far an apply came on one device.
enum class Reached : std::uint8_t { nothing, part, all };

Reached reached_by(const StepResult& step) {
  if (is_good(step.state)) return Reached::all;
  return step.writes == 0 || step.state == StepState::undone ? Reached::nothing : Reached::part;
}

// For devices that had steps. A remedy does not bring a device to its specs.
std::map<std::string, Reached> reached_by(const Plan& plan, const ApplyReport& report) {
  std::map<std::string, Reached> out;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    if (!plan.steps[i].remedy.empty()) continue;
    const auto [device, is_new] = out.try_emplace(plan.steps[i].device, reached_by(report.steps[i]));
    if (device->second != reached_by(report.steps[i])) device->second = Reached::part;
  }
  for (const UndoneChange& undone : report.undone) {
    // After a rollback of an older change it is unknown which specs the device has.
    const bool as_before = undone.whole && undone.change == report.change_id;
    for (const Step& step : undone.plan.steps)
      if (undone.hosts.empty() || undone.hosts.contains(step.device))
        out[step.device] = as_before ? Reached::nothing : Reached::part;
  }
  return out;
}

}  // namespace

AppliedSpecs::AppliedSpecs(const Plan& plan) {
  for (const Step& step : plan.steps)
    if (step.remedy.empty()) written_.insert(step.device);
}

Result<Done> AppliedSpecs::begin(const ClusterSession& session, Blobs& blobs) {
  TRY(before_, applied(blobs));
  nlohmann::json now = before_;
  for (const std::string& name : written_) {
    const FleetDevice& device = session.fleet()[*session.fleet().find(name)];
    if (!is(now, name, specs_digest(*device.intent, session.origins()))) now[name] = kNobody;
  }
  return blobs.keep(kPlace, now);
}

Result<Done> AppliedSpecs::end(const ClusterSession& session, const Plan& plan, const ApplyReport& report,
                               const std::set<std::string>& left_out, Blobs& blobs) {
  TRY(nlohmann::json now, applied(blobs));
  if (before_.is_null()) before_ = now;
  const std::map<std::string, Reached> reached = reached_by(plan, report);
  const PlanChoice choice = session.choice();
  for (const FleetDevice& device : session.fleet().devices()) {
    if (!choice.only.empty() && !std::ranges::count(choice.only, device.name)) continue;
    const std::string digest = specs_digest(*device.intent, session.origins());
    const auto found = reached.find(device.name);
    Reached how = found == reached.end() ? Reached::all : found->second;
    if (left_out.contains(device.name) || !choice.allows(device))
      how = found == reached.end() || how == Reached::nothing ? Reached::nothing : Reached::part;
    if (how == Reached::all)
      now[device.name] = digest;
    else if (how == Reached::part)
      now[device.name] = is(before_, device.name, digest) ? digest : kNobody;
    else if (before_.contains(device.name))
      now[device.name] = before_[device.name];
    else
      now.erase(device.name);
  }
  for (auto& [name, digest] : now.items())
    if (!session.fleet().find(name)) digest = kNobody;
  return blobs.keep(kPlace, now);
}

Result<std::vector<std::size_t>> applied_otherwise(const Fleet& fleet, const Origins& origins,
                                                   const std::vector<std::size_t>& devices, bool only_applied,
                                                   const Blobs& blobs) {
  TRY(const nlohmann::json all, applied(blobs));
  std::vector<std::size_t> out;
  for (const std::size_t device : devices)
    if ((only_applied || all.contains(fleet[device].name)) &&
        !is(all, fleet[device].name, specs_digest(*fleet[device].intent, origins)))
      out.push_back(device);
  return out;
}

}  // namespace lockstep
