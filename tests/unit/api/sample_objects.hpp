// One object of each kind, for golden cases and for the check of the schemas.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "reconciler/api/api_object.hpp"
#include "reconciler/api/objects.hpp"
#include "sample_status.hpp"

namespace lockstep::api {

inline std::map<std::string, ApiObject> sample_objects() {
  const ServiceStatus full = full_status();
  const ServiceStatus quiet = quiet_status();
  const nlohmann::json conditions = nlohmann::json::array({{{"type", "Ready"},
                                                            {"status", "True"},
                                                            {"reason", "InSync"},
                                                            {"message", "as the specs want it"},
                                                            {"observedGeneration", 1},
                                                            {"lastTransitionTime", "2026-11-17T00:00:00Z"},
                                                            {"observedAt", "2026-11-17T00:00:00Z"}}});
  const ObjectMeta meta{.generation = 2, .resource_version = "0011223344556677-8"};
  const auto device = [&](std::size_t i) {
    KnownDevice out{(*full.devices->named)[i], full.devices->devices[i], {}};
    if (const auto found = full.cordoned.find(out.named.name); found != full.cordoned.end())
      out.cordoned = found->second;
    return to_object(Kind::device, device_object(out, conditions, meta));
  };
  const std::vector<RunFigure> figures = sample_figures();
  const ServiceEvent event{ServiceEvent::Kind::drift, at_second(70), "Device/leaf0",
                           "interface[swp1]/mtu is 1500, not 9216"};
  return {
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
      {"event", to_object(Kind::event, event_object(event, "0011223344556677-8", meta))}};
}

}  // namespace lockstep::api
