// The objects of the API as JSON, in the form of Kubernetes: apiVersion, kind, metadata, spec, status.
//
// Promises: pure. What is shown comes from the arguments alone. Times are RFC 3339 in UTC. Lists are bounded,
// with the whole number beside them: kStepsShown steps, of each kChangesShown changes, kWritesShown writes,
// kFiguresShown figures, of a device's differences those that its status has. The texts are as their authors
// wrote them: to_object() makes them presentable.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "reconciler/service/service_event.hpp"
#include "reconciler/service/service_status.hpp"
#include "reconciler/session/change_history.hpp"

namespace lockstep::api {

// Choices: what a person may review at once, some MB of JSON at most.
inline constexpr std::size_t kStepsShown = 1000;
inline constexpr std::size_t kChangesShown = 50;
inline constexpr std::size_t kWritesShown = 5000;
inline constexpr std::size_t kFiguresShown = 5000;

// Of metadata, which the feed gives to each object.
struct ObjectMeta {
  std::uint64_t generation = 1;  // grows when spec changes, since the service started
  std::string resource_version{};
};

// With an empty spec and status.
nlohmann::json object_of(Kind kind, const std::string& name, const ObjectMeta& meta);

// The name of a cluster that has had no valid revision yet: nobody knows its name.
inline constexpr const char* kUnnamed = "unnamed";
std::string cluster_name_of(const ServiceStatus& status);

// `conditions`: Conditions::to_json().
nlohmann::json cluster_object(const ServiceStatus& status, const nlohmann::json& conditions,
                              const ObjectMeta& meta);

// Of the i-th of ServiceStatus::revisions. Its name is the source's id, followed by a dot and the start of
// the intents' digest where a newer revision has the same source.
std::string revision_name(const ServiceStatus& status, std::size_t i);
nlohmann::json revision_object(const ServiceStatus& status, std::size_t i, const ObjectMeta& meta);

// A device, as far as it is known.
struct KnownDevice {
  NamedDevice named{};
  std::shared_ptr<const DeviceStatus> observed{};  // null: it was not
  std::optional<SpokenBy> cordoned{};
};
nlohmann::json device_object(const KnownDevice& device, const nlohmann::json& conditions,
                             const ObjectMeta& meta);

// With what it wrote, if `tickets` are there.
nlohmann::json change_object(const std::string& cluster, bool twin, const ShownChange& change, bool writes,
                             const ObjectMeta& meta);
// With its figures, if `figures` is not null.
nlohmann::json run_object(const RunHead& run, const std::vector<RunFigure>* figures, const ObjectMeta& meta);

// `name`: of the object; "EPOCH-SEQ".
nlohmann::json event_object(const ServiceEvent& event, const std::string& name, const ObjectMeta& meta);

}  // namespace lockstep::api
