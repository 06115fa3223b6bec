// One object of each kind, for golden cases and for the check of the schemas.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "reconciler/api/api_object.hpp"
#include "reconciler/api/findings.hpp"
#include "reconciler/api/objects.hpp"
#include "reconciler/api/spec_looks.hpp"
#include "sample_status.hpp"

namespace lockstep::api {

// An object of that kind of the specs, with something of all that there is; nothing is known of its devices
// but `tally`.
inline ApiObject sample_spec(const KindRow& kind, const std::string& spec, const ObjectTally& tally,
                             const nlohmann::json& conditions) {
  SpecObject object{.kind = kind.spec, .name = "backend", .labels = {{"pool", "lab"}}};
  object.file = "fabric.yaml";
  object.line = 20;
  object.spec = spec;
  object.digest = "sha256:0b";
  object.places = {{0, 12}, {1, 12}, {2, 4}};
  object.entries = 28;
  object.overruled = 1;
  object.governs = kind.spec->configures ? 0 : 3;
  std::optional<SuiteRun> run;
  if (kind.name == kSuiteKind) run = SuiteRun{sample_run(), 1};
  const RevisionId watched{"3f2a41", "sha256:aa11"};
  return to_object(kind.kind, spec_object(object, tally, run, watched, conditions,
                                          {.generation = 2, .resource_version = "0011223344556677-8"}));
}

inline std::map<std::string, ApiObject> sample_specs(const nlohmann::json& conditions) {
  ObjectTally tally;
  tally.in_sync = {.yes = 1, .no = 1, .unknown = 1};
  tally.healthy = {.yes = 2, .no = 0, .unknown = 1};
  tally.reachable = {.yes = 2, .no = 1, .unknown = 0};
  tally.not_applied = 2;
  tally.stalled = 1;
  tally.differing = {"leaf0"};
  std::map<std::string, ApiObject> out;
  for (const KindRow& kind : kinds()) {
    if (kind.spec == nullptr) continue;
    const bool is_fabric = kind.name == "Fabric";
    out.emplace(
        "spec-" + std::string(kind.plural),
        sample_spec(kind, is_fabric ? R"({"role": "backend", "mtu": {"host": 9000, "fabric": 9216}})" : "",
                    tally, conditions));
  }
  return out;
}

// A port that is shut down, and a session that it took away; and a setting of two devices.
inline DriftReport sample_findings() {
  const auto item = [](const char* device, const char* path, DriftState state, Value want, Value have) {
    DriftEntry out;
    out.device = device;
    out.path = *Path::parse(path);
    out.state = state;
    out.want = want;
    out.have = have;
    return out;
  };
  DriftReport out;
  out.items = {
      item("leaf0", "interface[swp1]/admin", DriftState::drifted, Value::boolean(true),
           Value::boolean(false)),
      item("gpu1", "interface[rail0]/carrier", DriftState::effect, Value::boolean(true),
           Value::boolean(false)),
      item("gpu1", "sysctl[vm.swappiness]", DriftState::drifted, Value::text("1"), Value::text("60")),
      item("gpu2", "sysctl[vm.swappiness]", DriftState::drifted, Value::text("1"), Value::text("60"))};
  out.problems = {{.kind = Problem::Kind::port, .cause = {{0}, {}}, .explains = {{1}, {}}}};
  return out;
}

inline std::map<std::string, ApiObject> sample_objects() {
  const ServiceStatus full = full_status();
  const ServiceStatus quiet = quiet_status();
  const nlohmann::json conditions = nlohmann::json::array({{{"type", "Ready"},
                                                            {"status", "True"},
                                                            {"reason", "InSync"},
                                                            {"message", "as the specs want it"},
                                                            {"observedGeneration", 1},
                                                            {"lastTransitionTime", "2026-11-17T00:00:00Z"},
                                                            {"observedAt", "2026-11-17T00:00:00Z"},
                                                            {"bootId", "b1"}}});
  const SpecObjects objects{
      .devices = {"gpu1", "gpu2"}, .gpus = {8, 8}, .all = {}, .cost = SpecObjects::Cost{2.5, "USD"}};
  const ObjectMeta meta{.generation = 2, .resource_version = "0011223344556677-8"};
  const auto device = [&](std::size_t i) {
    KnownDevice out{(*full.devices->named)[i], full.devices->devices[i], {}};
    if (const auto found = full.cordoned.find(out.named.name); found != full.cordoned.end())
      out.cordoned = found->second;
    return to_object(Kind::device, device_object(out, conditions, meta));
  };
  const std::vector<RunFigure> figures = sample_figures();
  const DriftReport found = sample_findings();
  const ServiceEvent event{ServiceEvent::Kind::drift, at_second(70), "Device/leaf0",
                           "interface[swp1]/mtu is 1500, not 9216"};
  std::map<std::string, ApiObject> out{
      {"cluster", to_object(Kind::cluster, cluster_object(full, conditions, meta))},
      {"cluster-quiet", to_object(Kind::cluster, cluster_object(quiet, conditions, meta))},
      {"cluster-new", to_object(Kind::cluster, cluster_object(ServiceStatus{}, conditions, meta))},
      {"revision-waiting", to_object(Kind::revision, revision_object(full, 0, meta))},
      {"revision-kept", to_object(Kind::revision, revision_object(full, 1, meta))},
      {"device", device(0)},
      {"device-drifted", device(1)},
      {"device-unattached", device(2)},
      {"device-cordoned", device(3)},
      {"change", to_object(Kind::change, change_object("pod1", false, sample_change(), false, meta))},
      {"change-writes", to_object(Kind::change, change_object("pod1", false, sample_change(), true, meta))},
      {"benchmarkrun", to_object(Kind::benchmark_run, run_object(sample_run(), nullptr, meta))},
      {"benchmarkrun-figures", to_object(Kind::benchmark_run, run_object(sample_run(), &figures, meta))},
      {"finding", to_object(Kind::finding, finding_object(found, findings_in(found)[0], at_second(70),
                                                          gpu_prices(&objects), meta))},
      {"event", to_object(Kind::event, event_object(event, "0011223344556677-8", meta))}};
  out.merge(sample_specs(conditions));
  return out;
}

}  // namespace lockstep::api
