// The status of an object of the specs: what its devices show of it, and what was measured for it.
//
// Promises: pure. An object is judged by exactly those devices on which it sets anything, and there by its
// own entries: what differs on them because of other objects does not count. It is in sync only if all of
// them were read since the specs that it is from are watched and are in sync, and if at least one of its
// entries can be applied; the proof is the oldest one among them. An object that sets nothing proves nothing:
// Unknown, NotUsed. A ValidationSuite is as valid as the last run that measured it.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/api/kept_device.hpp"
#include "reconciler/session/spec_objects.hpp"
#include "reconciler/store/runs.hpp"

namespace lockstep::api {

// Devices of one object by one of their conditions.
struct Tally {
  std::size_t yes = 0;
  std::size_t no = 0;
  std::size_t unknown = 0;
  std::optional<WallTime> oldest_yes{};
  std::optional<WallTime> oldest_no{};
  void add(const ShownStatus& one);
  bool operator==(const Tally&) const = default;
};

// Choices: what one line of a terminal holds.
inline constexpr std::size_t kDifferingShown = 10;

struct ObjectTally {
  Tally reachable;
  Tally in_sync;
  Tally healthy;
  std::size_t not_applied = 0;           // entries
  std::size_t reconciling = 0;           // devices
  std::size_t stalled = 0;               // devices that differ because of it
  std::string why_stalled{};             // of the first: the reason of its condition
  std::vector<std::string> differing{};  // the first kDifferingShown devices
  bool operator==(const ObjectTally&) const = default;
};
// `devices`: as SpecObjects::devices; null: nothing is known of it.
ObjectTally tally_of(const SpecObject& object, const std::vector<const KeptDevice*>& devices,
                     const std::optional<RevisionId>& watched);

inline constexpr std::string_view kSuiteKind = "ValidationSuite";

// The last run that measured a suite.
struct SuiteRun {
  RunHead head;
  std::size_t suites = 0;  // that it measured
  bool operator==(const SuiteRun&) const = default;
};

struct ProofLifetimes {
  std::chrono::seconds observation;
  std::chrono::seconds run;
};
std::vector<ConditionRow> object_rows(const lockstep::KindRow& kind, const ProofLifetimes& lifetimes);
// `run`: of a ValidationSuite; none: nothing has measured it.
std::vector<NamedLook> looks_at_object(const SpecObject& object, const ObjectTally& tally,
                                       const std::optional<SuiteRun>& run);

nlohmann::json spec_object(const SpecObject& object, const ObjectTally& tally,
                           const std::optional<SuiteRun>& run, const std::optional<RevisionId>& watched,
                           const nlohmann::json& conditions, const ObjectMeta& meta);

}  // namespace lockstep::api
