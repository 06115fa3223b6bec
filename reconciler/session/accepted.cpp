#include "reconciler/session/accepted.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/windows.hpp"
#include "reconciler/session/numbers.hpp"
#include "specs/compile/deletion_guard.hpp"

namespace lockstep {
namespace {

constexpr const char* kCensusPlace = "census";
constexpr const char* kIntentsPlace = "intents";
constexpr const char* kShare = "maxDelete";  // in parts per million

// Includes the share that one change may delete: specs that raise it don't raise it for themselves.
nlohmann::json census_json(const OpenedCluster& cluster) {
  const Census census = census_of(cluster.catalog, cluster.compiled.topology);
  return {{"devices", census.devices},
          {"objects", census.objects},
          {kShare, max_delete_of(cluster.catalog).parts_per_million}};
}

Error not_of_ours(const char* place) {
  return Error{ErrorKind::refused, "journal: what is kept under '" + std::string(place) +
                                       "' is not of the form that lockstep writes"};
}

Result<std::vector<std::string>> names_at(const nlohmann::json& blob, const char* key) {
  const auto found = blob.find(key);
  if (found == blob.end() || !found->is_array()) return not_of_ours(kCensusPlace);
  std::vector<std::string> names;
  for (const nlohmann::json& name : *found) {
    if (!name.is_string()) return not_of_ours(kCensusPlace);
    names.push_back(name.get<std::string>());
  }
  return names;
}

// When a change was last accepted; nothing before the first. If it can't be read, that is an error: treating
// it as nothing would allow every deletion.
struct Accepted {
  Census census;
  std::optional<Ratio> share;  // none: stored by a lockstep that did not store it
};
Result<Accepted> last_accepted(const Blobs& blobs) {
  TRY(const std::optional<nlohmann::json> blob, blobs.kept(kCensusPlace));
  Accepted out;
  if (!blob) return out;
  if (!blob->is_object()) return not_of_ours(kCensusPlace);
  TRY(out.census.devices, names_at(*blob, "devices"));
  TRY(out.census.objects, names_at(*blob, "objects"));
  const auto share = blob->find(kShare);
  if (share == blob->end()) return out;
  if (!share->is_number_unsigned()) return not_of_ours(kCensusPlace);
  out.share = Ratio{static_cast<std::uint32_t>(
      std::min<std::uint64_t>(share->get<std::uint64_t>(), std::numeric_limits<std::uint32_t>::max()))};
  return out;
}

std::string digest_of(const Intent& intent) {
  Digest digest;
  for (const Entry& entry : intent.want.entries()) {
    digest.add(entry.path);
    digest.add(entry.value);
  }
  return digest.finish();
}

Result<nlohmann::json> accepted_intents(const Blobs& blobs) {
  TRY(std::optional<nlohmann::json> blob, blobs.kept(kIntentsPlace));
  if (!blob) return nlohmann::json::object();
  if (!blob->is_object()) return not_of_ours(kIntentsPlace);
  return *std::move(blob);
}

bool was_accepted(const nlohmann::json& accepted, const FleetDevice& device) {
  const auto found = accepted.find(device.name);
  return found != accepted.end() && *found == digest_of(*device.intent);
}

// Only needed if a window may be closed.
bool has_windows(const OpenedCluster& cluster) {
  const std::vector<RolloutPolicy>& all = cluster.catalog.rollout_policies;
  return std::any_of(all.begin(), all.end(), [](const RolloutPolicy& one) { return !one.windows.empty(); });
}

}  // namespace

Result<Deletion> deletion_by(const OpenedCluster& cluster, const Plan& plan, const Blobs& blobs) {
  TRY(const Accepted before, last_accepted(blobs));
  const Ratio now = max_delete_of(cluster.catalog);
  DeletionVerdict verdict =
      judge_deletion(before.census, census_of(cluster.catalog, cluster.compiled.topology),
                     std::min(now, before.share.value_or(now)));
  Deletion out{verdict.refused ? verdict.reason : "", std::move(verdict.devices), std::move(verdict.objects)};
  for (const std::string& refusal : plan.refusals) out.why += (out.why.empty() ? "" : "; ") + refusal;
  return out;
}

Result<Done> remember(const OpenedCluster& cluster, Blobs& blobs) {
  TRY_DONE(blobs.keep(kCensusPlace, census_json(cluster)));
  return keep_numbers(cluster, blobs);
}

Result<Done> remember_first(const OpenedCluster& cluster, Blobs& blobs) {
  TRY(const std::optional<nlohmann::json> known, blobs.kept(kCensusPlace));
  return known ? Result<Done>(Done{}) : blobs.keep(kCensusPlace, census_json(cluster));
}

Result<Done> remember_intents(const ClusterSession& session, const Plan& plan, const ApplyReport& report,
                              Blobs& blobs) {
  if (!has_windows(session.cluster())) return Done{};
  std::set<std::string> left_out;
  for (std::size_t i = 0; i < report.steps.size(); ++i)
    if (!is_good(report.steps[i].state)) left_out.insert(plan.steps[i].device);
  const std::vector<std::string> only = session.choice().only;
  TRY(nlohmann::json accepted, accepted_intents(blobs));
  for (const FleetDevice& device : session.fleet().devices()) {
    const bool chosen = only.empty() || std::find(only.begin(), only.end(), device.name) != only.end();
    if (chosen && !left_out.contains(device.name)) accepted[device.name] = digest_of(*device.intent);
  }
  return blobs.keep(kIntentsPlace, accepted);
}

Result<std::function<std::string(const FleetDevice&)>> waits_for_window(const ClusterSession& session,
                                                                        const Blobs& blobs) {
  using Answer = std::function<std::string(const FleetDevice&)>;
  if (!has_windows(session.cluster())) return Answer();
  TRY(const nlohmann::json accepted, accepted_intents(blobs));
  std::map<const Policy*, std::string> reasons;
  std::map<std::string, std::string> waiting;
  const auto policies = session.policies();
  const WallTime now = session.executor().wall_time();
  for (const FleetDevice& device : session.fleet().devices()) {
    const Policy* const policy = policies(device);
    if (policy == nullptr) continue;
    const auto [reason, is_new] = reasons.try_emplace(policy);
    if (is_new) reason->second = why_wait(*policy, now, std::chrono::milliseconds(0));
    if (!reason->second.empty() && !was_accepted(accepted, device)) waiting[device.name] = reason->second;
  }
  return Answer([waiting = std::move(waiting)](const FleetDevice& device) {
    const auto found = waiting.find(device.name);
    return found == waiting.end() ? std::string() : found->second;
  });
}

}  // namespace lockstep
