// The subcommands: what each takes, and the function that runs it and returns the exit code. command_line.cpp
// fills the options; one .cpp a subcommand holds the body.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/cli/console.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

struct ValidateOptions {
  ClusterSource source;
  bool strict = false;
};
int run_validate(const ValidateOptions& options, const Console& console);

struct PlanOptions {
  ClusterSource source;
  std::string out;   // file to write the plan to
  std::string only;  // devices, a hostlist
  std::string sign;  // key by which the file is signed; empty: it is not
};
int run_plan(const PlanOptions& options, const Console& console);

struct ApplyCommandOptions {
  ClusterSource source;
  bool yes = false;
  bool no_measure = false;
  bool strict = false;
  bool confirm_deletion = false;
  bool partial = false;  // although some devices could not be observed
  std::string approve;   // kinds of holds (approved.hpp)
  std::string only;
  std::string allowed_signers;  // of whom one must have signed the plan file; empty: nobody need have
};
int run_apply(const ApplyCommandOptions& options, const Console& console);

enum class DriftFormat : std::uint8_t { text, json, markdown, sarif, junit, gitlab, github };
struct DriftOptions {
  ClusterSource source;
  std::optional<DriftFormat> format;
  std::string only;
  bool unmanaged = false;
};
int run_drift(const DriftOptions& options, const Console& console);

struct WatchOptions {
  ClusterSource source;
  bool converge = false;
};
int run_watch(const WatchOptions& options, const Console& console);

struct BenchOptions {
  ClusterSource source;
  std::string suite;
  std::string only;
  bool strict = false;
  bool accept = false;  // make the result the new baseline when all SLOs hold
  std::string compare;  // a recorded run; empty: none
};
int run_bench(const BenchOptions& options, const Console& console);

struct DiscoverOptions {
  ClusterSource source;
  bool draft = false;
};
int run_discover(const DiscoverOptions& options, const Console& console);

struct ExplainOptions {
  ClusterSource source;
  std::vector<std::string> words;  // DEVICE PATH, or a code such as LS1004
};
int run_explain(const ExplainOptions& options, const Console& console);

enum class PictureFormat : std::uint8_t { text, dot, svg };
struct TopologyOptions {
  ClusterSource source;
  PictureFormat format = PictureFormat::text;
};
int run_topology(const TopologyOptions& options, const Console& console);

struct TwinUpOptions {
  ClusterSource source;
  bool no_lldp = false;
};
struct TwinDownOptions {
  ClusterSource source;
  bool force = false;
  std::string name{};  // as `twin list` has it; then no specs are read
};
struct TwinBreakOptions {
  std::string specs = ".";
  std::string fault;
  std::vector<std::string> arguments;
  bool list = false;
};
struct TwinExecOptions {
  std::string specs;
  std::string device;
  std::vector<std::string> command;
};
int run_twin_up(const TwinUpOptions& options, const Console& console);
int run_twin_down(const TwinDownOptions& options, const Console& console);
int run_twin_list(const Console& console);
int run_twin_status(const ClusterSource& source, const Console& console);
int run_twin_exec(const TwinExecOptions& options, const Console& console);
int run_twin_break(const TwinBreakOptions& options, const Console& console);

struct HistoryOptions {
  ClusterSource source;
  std::size_t newest = 20;  // changes
  std::string of;           // device, endpoint or group whose figures are shown; empty: none
  std::optional<Metric> metric;
  std::optional<Statistic> statistic;  // none: median
};
int run_history(const HistoryOptions& options, const Console& console);

struct ShowOptions {
  ClusterSource source;
  std::uint64_t change = 0;
};
int run_show(const ShowOptions& options, const Console& console);

struct StateFileOptions {
  ClusterSource source;
  std::string file;  // the backup
};
int run_state_show(const ClusterSource& source, const Console& console);
int run_state_backup(const StateFileOptions& options, const Console& console);
int run_state_adopt(const ClusterSource& source, const Console& console);
int run_state_restore(const StateFileOptions& options, const Console& console);

int run_host_policy_init(const Console& console);
int run_host_policy_check(const std::string& named, const Console& console);      // empty: this machine's own
int run_host_policy_explain(const std::string& setting, const Console& console);  // empty: all of it

int run_schema(const std::string& kind, const Console& console);
int run_version(const Console& console);

}  // namespace lockstep
