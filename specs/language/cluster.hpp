// RolloutPolicy: how a change may be rolled out to devices. GitSource: where the specs come from. Cluster:
// settings of the whole cluster: management path, scheduler, maintenance, cost model.
#pragma once

#include "specs/language/object.hpp"

namespace lockstep {

enum class RolloutUnit : std::uint8_t { redundancy_group, device };
constexpr auto words(RolloutUnit) { return std::to_array<std::string_view>({"redundancy-group", "device"}); }

enum class Approval : std::uint8_t { automatic, manual };
constexpr auto words(Approval) { return std::to_array<std::string_view>({"auto", "manual"}); }

enum class HostDrain : std::uint8_t { scheduler, none };
constexpr auto words(HostDrain) { return std::to_array<std::string_view>({"scheduler", "none"}); }

enum class SwitchDrain : std::uint8_t { bgp_graceful_shutdown, none };
constexpr auto words(SwitchDrain) {
  return std::to_array<std::string_view>({"bgp-graceful-shutdown", "none"});
}

enum class OnTimeout : std::uint8_t { skip, proceed, stop };
constexpr auto words(OnTimeout) { return std::to_array<std::string_view>({"skip", "proceed", "stop"}); }

// After which waves benchmarks judge the changes.
enum class RolloutGate : std::uint8_t { each_wave, end };
constexpr auto words(RolloutGate) { return std::to_array<std::string_view>({"eachWave", "end"}); }

// By disruption.
struct Approvals {
  Said<Approval> none;
  Said<Approval> traffic;
  Said<Approval> reset;
  Said<Approval> reboot;
};
// The share of capacity that remains at any moment, for every pair, by tier.
struct MinCapacity {
  Said<Ratio> host;
  Said<Ratio> leaf;
  Said<Ratio> spine;
  Said<Ratio> superspine;
};
struct Window {
  Said<Weekdays> days;
  Said<TimeOfDay> from;
  Said<TimeOfDay> to;
  Said<std::string> timezone;
};
struct Drain {
  Said<HostDrain> host;
  Said<SwitchDrain> switches;  // `switch` in the spec
  Said<Duration> timeout;
  Said<OnTimeout> on_timeout;
};

struct RolloutPolicy : Object {
  Said<Selector> selector;
  Said<RolloutUnit> unit;
  std::vector<Said<CountOrRatio>> waves;
  Said<RolloutGate> gate;
  Said<MinCapacity> min_capacity;
  Said<Approvals> approval;
  std::vector<Window> windows;
  Said<Drain> drain;
  Said<Ratio> max_delete;  // a change that deletes a larger share of devices or objects needs confirmation
};

enum class SignaturePolicy : std::uint8_t { none, required };
constexpr auto words(SignaturePolicy) { return std::to_array<std::string_view>({"none", "required"}); }

struct Signatures {
  Said<SignaturePolicy> policy;
  std::vector<Said<std::string>> keys;  // files with the public keys that are accepted
};

struct GitSource : Object {
  Said<std::string> repository;
  Said<std::string> branch;
  Said<std::string> path;
  Said<Duration> interval;
  Said<Signatures> signatures;
  Said<Credentials> credentials;
};

enum class ManagementPath : std::uint8_t { out_of_band, in_band };
constexpr auto words(ManagementPath) { return std::to_array<std::string_view>({"out-of-band", "in-band"}); }

enum class SchedulerKind : std::uint8_t { slurm, kubernetes, none };
constexpr auto words(SchedulerKind) {
  return std::to_array<std::string_view>({"slurm", "kubernetes", "none"});
}

struct Management {
  Said<ManagementPath> path;
  Said<std::string> interface;
};
struct Scheduler {
  Said<SchedulerKind> kind;
  Said<std::string> url;
  Said<Credentials> credentials;
};
struct Maintenance {
  Said<std::string> names;  // devices, a hostlist
  Said<Date> until;
  Said<std::string> reason;
};
struct Cost {
  Said<Decimal> gpu_hour;
  Said<std::string> currency;  // ISO 4217
  Said<Decimal> tokens_per_gpu_second;
};

struct Cluster : Object {
  Said<Management> management;
  Said<Scheduler> scheduler;
  std::vector<Maintenance> maintenance;
  Said<Cost> cost;
};

}  // namespace lockstep
