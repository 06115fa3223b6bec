// What was measured, as the store keeps it (store/runs.hpp): figures, and the conditions of the measurement.
//
// Promises: a figure has everything that an SLO can need from its measurement; the devices of a run are those
// at which traffic ended and those that it may have crossed, each with the boot in which this session last
// observed it, or with none. A gate's measurement is recorded by the thread that took it, on a connection of
// its own.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/measure/measure.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

using RunDevices = std::map<std::string, RunDevice>;  // by name

// What was observed replaces what was known; devices that were not observed stay.
void learn_devices(const Fleet& fleet, const std::vector<DeviceState>& states, RunDevices& known);

struct MeasuredUnder {
  std::string command;
  std::string author;
  std::string config_hash;
  std::string version;
  RunDevices devices;
};
// For a bench; `controls`: for a gate, the control measurements.
MeasuredRun run_of(const std::vector<SuiteOutcome>& outcomes, const std::vector<SuiteOutcome>& controls,
                   const MeasuredUnder& context);

// Records the measurements of one change's gate. May be called on any thread.
class GateRecorder {
 public:
  // `judged`: the newest change that is not validated yet, if the plan has nothing to do; 0: the first change
  // that begins after `newest`.
  GateRecorder(std::string directory, StoreOptions options, MeasuredUnder context,
               Result<std::uint64_t> newest, std::uint64_t judged)
      : directory_(std::move(directory)),
        options_(std::move(options)),
        context_(std::move(context)),
        newest_(std::move(newest)),
        judged_(judged) {}
  void record(const GateQuestion& question, const std::vector<SuiteOutcome>& outcomes,
              const std::vector<SuiteOutcome>& beside, const FileLock& turn);
  // "what was measured before the change is not recorded: ..."; empty: everything is recorded.
  std::vector<std::string> notes() const;

 private:
  Result<Done> try_record(RunPurpose purpose, MeasuredRun run, const FileLock& turn) const;

  const std::string directory_;
  const StoreOptions options_;
  const MeasuredUnder context_;
  const Result<std::uint64_t> newest_;
  const std::uint64_t judged_;
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
};

}  // namespace lockstep
