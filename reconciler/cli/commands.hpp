// The subcommands: the options of each, and the function that runs it and returns the exit code.
// command_line.cpp fills the options; each subcommand is implemented in its own .cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/cli/client_commands.hpp"
#include "reconciler/cli/console.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

enum class ValidateFormat : std::uint8_t { gitlab, github };
struct ValidateOptions {
  ClusterSource source;
  std::optional<ValidateFormat> format;  // of the findings, in addition to the text; none: as -o says
  bool strict = false;
  bool locked = false;  // a stale allocations.lock is an error
};
int run_validate(const ValidateOptions& options, const Console& console);

int run_lock(const ClusterSource& source, const Console& console);

struct PlanOptions {
  ClusterSource source;
  std::string out;   // file to write the plan to
  std::string only;  // devices, a hostlist
  std::string sign;  // key that signs the file; empty: not signed
  bool details = false;
  ServerOptions at;  // the service that plans; neither server nor context: this process does
};
int run_plan(const PlanOptions& options, const Console& console);
int run_plan_by_service(const PlanOptions& options, const Console& console);

struct ApplyCommandOptions {
  ClusterSource source;
  bool yes = false;
  bool no_measure = false;
  bool strict = false;
  bool confirm_deletion = false;
  bool partial = false;  // apply even if some devices could not be observed
  std::string approve;   // kinds of holds (approved.hpp)
  std::string only;
  std::optional<std::uint64_t> undone{};  // a change to roll back, instead of converging
  std::string allowed_signers;  // who may have signed the plan file; empty: no signature is required
};
int run_apply(const ApplyCommandOptions& options, const Console& console);

enum class DriftFormat : std::uint8_t { text, json, markdown, sarif, junit, gitlab, github };
struct DriftOptions {
  ClusterSource source;
  std::optional<DriftFormat> format;
  std::vector<std::string> reports;  // FORMAT=FILE: further forms, of the same observation
  std::string only;
  bool unmanaged = false;
  bool details = false;
};
const std::map<std::string, DriftFormat>& drift_formats();  // by name
int run_drift(const DriftOptions& options, const Console& console);

struct WatchOptions {
  ClusterSource source;
  bool converge = false;
};
int run_watch(const WatchOptions& options, const Console& console);

struct ServeOptions {
  ClusterSource source;               // a folder of specs; with `twin`: the twin's
  bool has_specs = false;             // `source` was given
  std::string config;                 // file; empty: kServiceConfigFile, unless specs are given
  std::vector<std::string> listen{};  // instead of the configuration's
  bool no_measure = false;
};
int run_serve(const ServeOptions& options, const Console& console);

struct BenchOptions {
  ClusterSource source;
  std::string suite;
  std::string only;
  bool strict = false;
  bool accept = false;  // make the result the new baseline when all SLOs hold
  std::string compare;  // a recorded run; empty: none
  std::string report;   // HTML file to write; empty: none
};
int run_bench(const BenchOptions& options, const Console& console);

struct DiscoverOptions {
  ClusterSource source;
  bool of_specs = false;  // the devices of the specs, or of their twin; else this machine
  bool draft = false;
};
int run_discover(const DiscoverOptions& options, const Console& console);

struct ExplainOptions {
  ClusterSource source;
  std::vector<std::string> words;  // DEVICE PATH, or a code such as LS1004
};
int run_explain(const ExplainOptions& options, const Console& console);

enum class RenderFormat : std::uint8_t { native };
struct RenderOptions {
  ClusterSource source;
  std::vector<std::string> words;    // [SPECS] DEVICE; for all devices: [SPECS]
  std::optional<RenderFormat> form;  // none: as -o says
  bool all = false;
  std::string out;  // for all devices: the folder that gets one file per device
};
int run_render(const RenderOptions& options, const Console& console);

enum class DiffFormat : std::uint8_t { markdown };
struct DiffOptions {
  std::optional<DiffFormat> form;  // none: as -o says
  std::string was;                 // folder or file of specs
  std::string now;
  std::size_t max_entries = kEntriesDefault;
};
int run_diff(const DiffOptions& options, const Console& console);

enum class PictureFormat : std::uint8_t { text, dot, svg };
struct TopologyOptions {
  ClusterSource source;
  PictureFormat format = PictureFormat::text;
  std::string drift;  // file with `drift -o json`, shown in an SVG; empty: none
  std::string bench;  // file with `bench -o json`, the same
};
int run_topology(const TopologyOptions& options, const Console& console);

struct TwinUpOptions {
  ClusterSource source;
  bool no_lldp = false;
  bool agents = false;
};
struct TwinDownOptions {
  ClusterSource source;
  bool force = false;
  std::string name{};  // as shown by `twin list`; then no specs are read
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
  ServerOptions at;                    // the service whose history it is; neither server nor context: none
};
int run_history(const HistoryOptions& options, const Console& console);
int run_history_by_service(const HistoryOptions& options, const Console& console);

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

enum class PeerRole : std::uint8_t;  // drivers/agent/identity.hpp
struct CaIssueOptions {
  std::string folder;  // of the authority
  PeerRole role{};
  std::string name;
  std::vector<std::string> dns;
  std::vector<std::string> addresses;
  std::int64_t days = 0;
  std::string out;  // folder; empty: the authority's
  bool renew = false;
};
struct CaRevokeOptions {
  std::string folder;
  std::vector<std::string> files;
};
int run_ca_init(const std::string& folder, const std::string& cluster, const Console& console);
int run_ca_issue(const CaIssueOptions& options, const Console& console);
int run_ca_revoke(const CaRevokeOptions& options, const Console& console);
int run_ca_crl(const std::string& folder, const Console& console);
int run_ca_show(const std::string& file, const Console& console);

int run_host_policy_init(const Console& console);
int run_host_policy_check(const std::string& named, const Console& console);      // empty: this machine's own
int run_host_policy_explain(const std::string& setting, const Console& console);  // empty: all settings

enum class SonicFormat : std::uint8_t { config_db, yang };
struct SonicLintOptions {
  std::string file;  // "-": standard input
  SonicFormat format = SonicFormat::config_db;
  std::string models;  // folder of YANG models; empty: none
};
struct SonicPlanOptions {
  std::string current;  // files; "-": standard input
  std::string target;
  std::string models;  // folder of YANG models; empty: none
};
struct SonicImportOptions {
  std::vector<std::string> files;
  bool draft = false;
};
int run_sonic_import(const SonicImportOptions& options, const Console& console);
int run_sonic_lint(const SonicLintOptions& options, const Console& console);
int run_sonic_plan(const SonicPlanOptions& options, const Console& console);

int run_schema(const std::string& kind, const Console& console);
int run_schema_list(const Console& console);
// `examples`: specs without errors.
int run_generate_spec_reference(const std::vector<std::string>& examples, const Console& console);
// `folders`: each entry is named by the code that it produces ("LS1002.yaml", "LS105-mtu-bad").
int run_generate_troubleshooting(const std::vector<std::string>& folders, const Console& console);
int run_generate_api_reference(const Console& console);
// `pages`: by file name.
int run_generate_man_pages(const std::map<std::string, std::string>& pages, const std::string& folder,
                           const Console& console);
int run_version(const Console& console);

}  // namespace lockstep
