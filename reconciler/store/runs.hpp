// Runs: what was measured, run by run, with the conditions of each: by `bench`, and by the gates of changes.
//
// Promises: record() is one transaction: when it returns, the run is stored whole and durably, or not at all.
// It needs the turn to measure (lock_for_measuring) and no leadership: every measuring process has that turn
// anyway, so there is one writer of runs at a time, and a bench records beside an apply that leads, without
// changing its epoch and changes. Only a file that is missing or has an older layout is created or updated
// under the leader's lock (conflict: another process has it), as an older lockstep that leads could not read
// it any more. What is read equals what was recorded, bytes and numbers alike. Refuses nothing that is
// measured.
//
// Retention (in the transaction that records): runs of changes are kept as long as the history has the
// change; benches as kRetention keeps changes; figures of the newest runs up to kFiguresMost, for benches and
// for changes each. A run whose figures were deleted stays, with its verdict and its context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/summary.hpp"
#include "reconciler/store/file_lock.hpp"

namespace lockstep {

// before, after, confirm, again: as in GateQuestion::When.
enum class RunPurpose : std::uint8_t { bench, before, after, confirm, again };
constexpr auto words(RunPurpose) {
  return std::to_array<std::string_view>({"bench", "before", "after", "confirm", "again"});
}

struct RunFigure {
  std::string suite;
  std::string benchmark;
  Workload workload = Workload::stream;
  Metric metric = Metric::bandwidth;
  std::string unit;
  std::string transport;
  std::string from;  // "gpu1:rail0"; empty for a group
  std::string to;
  std::string group;
  std::uint64_t bytes = 0;  // per rank, for collectives
  bool control = false;     // a control: the change can't have touched it
  bench::Summary seen;
  std::optional<double> nominal;
  std::optional<double> cpu;  // share of the window that the busier end was on a CPU; none: unknown
  bool cpu_limited = false;
  bench::Trouble trouble = bench::Trouble::none;
  std::string why;  // of the trouble, or of the limit
  bool operator==(const RunFigure&) const = default;
};

// A device that the traffic ended at or may have crossed, as it was last observed before the run.
struct RunDevice {
  std::string device;
  std::string boot;     // empty: unknown, as it was not observed
  std::string drivers;  // "linux, frr"
  bool operator==(const RunDevice&) const = default;
};

struct RunHead {
  std::uint64_t number = 0;
  RunPurpose purpose = RunPurpose::bench;
  std::uint64_t change = 0;  // the change that it judges; 0: of a bench
  std::uint64_t under = 0;   // the newest change that may have written by then; 0: none
  std::string at;            // when it was over: "2026-11-21T10:05:26Z"
  std::string command;
  std::string author;
  std::string verdict;  // "pass", "fail", "unknown", from its suites
  std::string config_hash;
  std::string version;  // of lockstep and of its probes, which are one program; empty: unknown
  std::string kernel;   // of the machine that measured
  std::size_t measured = 0;
  std::size_t kept = 0;  // of its figures; fewer: retention deleted some
  bool operator==(const RunHead&) const = default;
};

struct MeasuredRun {
  RunHead head;
  std::vector<RunDevice> devices;  // by name
  std::vector<RunFigure> figures;
};

struct FigureOfRun {
  std::uint64_t run = 0;
  RunFigure figure;
};

struct RunTotals {
  std::uint64_t runs = 0;
  std::uint64_t figures = 0;
};

// For benches and for the gates of changes: as many figures as the newest thousand changes have with a
// thousand each (two runs, 500 pairs), or five changes of 32,768 endpoints with three pairs each. A bandwidth
// takes 114 bytes and a latency 172 (tests/unit/store/runs_test.cpp): at most 350 MB for both together.
// Counted separately, so that a bench every ten minutes does not displace the figures of changes.
inline constexpr std::size_t kFiguresMost = 1'000'000;

class Runs {
 public:
  virtual ~Runs() = default;
  // Returns the run's number; number, kept and measured of the head are set here.
  virtual Result<std::uint64_t> record(const FileLock& turn, const MeasuredRun& run) = 0;
  // Newest first, of this purpose or of all.
  virtual Result<std::vector<RunHead>> newest(std::size_t count,
                                              std::optional<RunPurpose> purpose = {}) const = 0;
  // Oldest first.
  virtual Result<std::vector<RunHead>> of_change(std::uint64_t change) const = 0;
  // May include devices that it did not measure, if runs before and after it found them in the same boot.
  virtual Result<std::optional<MeasuredRun>> find(std::uint64_t number) const = 0;
  // Figures of pairs that end at this device ("gpu7") or endpoint ("gpu7:rail0"), and of the group of that
  // name; oldest run first.
  virtual Result<std::vector<FigureOfRun>> figures_of(const std::string& name, Metric metric) const = 0;
  virtual Result<RunTotals> totals() const = 0;
  // The suites whose figures it has, by name.
  virtual Result<std::vector<std::string>> suites_of(std::uint64_t number) const = 0;
};

// "gpu1:rail0 -> gpu2:rail0", "rail0 (1MiB)": as Measurement::subject().
std::string subject_of(const RunFigure& figure);

}  // namespace lockstep
