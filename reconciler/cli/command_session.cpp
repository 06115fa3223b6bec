#include "reconciler/cli/command_session.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/report/bench_report.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/session/specs_commit.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// If no file can be opened, existing files look missing: a daemon's socket, a setting's file.
Result<Done> may_open_files() {
  // A chosen limit: the workers of an executor have some ten files open each, a watch three per device of a
  // machine.
  constexpr rlim_t kLeast = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLeast) return Done{};
  return Error{ErrorKind::refused,
               fmt::format("this process may have {} files open, and needs {} (ulimit -n {})", limit.rlim_cur,
                           kLeast, kLeast)};
}

// `only`: a hostlist; empty: all devices.
Result<Done> choose(ClusterSession& session, const std::string& only) {
  if (only.empty()) return Done{};
  TRY(const std::vector<std::string> names, expand_hostlist(only));
  Result<Done> chosen = session.choose(names);
  return chosen ? chosen : wrap("--only", std::move(chosen.error()));
}

std::optional<OpenedCluster> opened(Result<OpenedCluster> cluster, const Console& console, bool strict) {
  if (!cluster) {
    console.fail(cluster.error());
    return std::nullopt;
  }
  const auto is_a_warning = [](const Diagnostic& one) { return !is_note(one.code); };
  if (!cluster->valid() || (strict && std::ranges::any_of(cluster->diagnostics, is_a_warning))) {
    console.fail(cluster->catalog.sources, cluster->diagnostics);
    return std::nullopt;
  }
  console.warn(cluster->catalog.sources, cluster->diagnostics);
  return *std::move(cluster);
}

}  // namespace

std::optional<OpenedCluster> open_cluster(const ClusterSource& source, const Console& console) {
  return opened(load_cluster(source), console, false);
}

Result<OpenedCluster> load_to_validate(const ClusterSource& source) {
  Result<OpenedCluster> cluster = load_cluster(source);
  if (cluster)
    std::ranges::move(std::exchange(cluster->without_effect, {}), std::back_inserter(cluster->diagnostics));
  return cluster;
}

std::optional<OpenedCluster> validated(Result<OpenedCluster> cluster, const Console& console, bool strict) {
  return opened(std::move(cluster), console, strict);
}

std::optional<OpenedCluster> open_side(const std::string& side, const ClusterSource& source,
                                       const Console& console) {
  Result<OpenedCluster> cluster = load_cluster(source);
  if (!cluster) return opened(wrap(side, std::move(cluster.error())), console, false);
  for (Diagnostic& one : cluster->diagnostics) one.message = side + ": " + one.message;
  return opened(std::move(cluster), console, false);
}

// Ctrl-C wakes the loop once, so that it sees the stop request at once; work in progress is finished.
Result<Done> CommandSession::watch_for_stop(int descriptor) {
  if (descriptor < 0) return Done{};
  return executor_.watch(descriptor, [this, descriptor] { executor_.forget(descriptor); });
}

std::unique_ptr<CommandSession> CommandSession::open(const ClusterSource& source, const Console& console,
                                                     const std::string& only) {
  if (const Result<Done> may = may_open_files(); !may) {
    console.fail(may.error());
    return nullptr;
  }
  std::optional<OpenedCluster> cluster = open_cluster(source, console);
  if (!cluster) return nullptr;
  return open(*std::move(cluster), console, only);
}

std::unique_ptr<CommandSession> CommandSession::open(OpenedCluster cluster, const Console& console,
                                                     const std::string& only) {
  std::unique_ptr<CommandSession> command(new CommandSession());
  if (Result<Done> watched = command->watch_for_stop(console.stop_fd); !watched) {
    console.fail(wrap("can't wait for Ctrl-C", std::move(watched.error())));
    return nullptr;
  }
  const DriverTable drivers = driver_table();
  SessionSeams seams{.drivers = drivers, .executor = command->executor_, .stop = console.stop};
  seams.version = LOCKSTEP_VERSION;
  seams.first_hops = first_hops_here();
  Result<std::unique_ptr<ClusterSession>> opened = ClusterSession::open(std::move(cluster), seams);
  if (!opened) {
    console.fail(opened.error());
    return nullptr;
  }
  command->session_ = *std::move(opened);
  if (Result<Done> chosen = choose(**command, only); !chosen) {
    console.fail_usage(chosen.error().text());
    return nullptr;
  }
  return command;
}

int tell_not_observed(const std::vector<NotObserved>& all, const Console& console) {
  for (const NotObserved& some : all) console.note(not_observed_line(some, console.progress()));
  return all.empty() ? kExitInSync : kExitIncomplete;
}

void note_slow_machine(const OpenedCluster& cluster, const std::vector<SuiteOutcome>& outcomes,
                       const Console& console) {
  const auto is_limited = [](const BenchmarkOutcome& one) {
    return std::ranges::any_of(one.measurements, &bench::Measurement::cpu_limited);
  };
  const bool any = std::ranges::any_of(outcomes, [&](const SuiteOutcome& one) {
    return one.verdict != bench::Verdict::pass && std::ranges::any_of(one.benchmarks, is_limited);
  });
  if (cluster.twin && any)
    console.note(
        compose("this machine's CPUs limited some of the twin's traffic, not its links of {}: "
                "`lockstep twin up --link-rate {}` makes all links slower in proportion",
                format(BitRate{cluster.link_rate}), format(BitRate{cluster.link_rate / 2})));
}

nlohmann::json of_cluster(const OpenedCluster& cluster, nlohmann::json document) {
  document["cluster"] = cluster.name;
  document["twin"] = cluster.twin;
  document["specsCommit"] = specs_commit(cluster.folder, cluster.catalog.sources);
  return document;
}

std::string who_runs() {
  const char* const user =
      std::getenv("SUDO_USER") != nullptr ? std::getenv("SUDO_USER") : std::getenv("USER");
  if (user != nullptr) return user;
  std::array<char, 4096> text{};  // of one entry: its strings
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, text.data(), text.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return "uid " + std::to_string(::getuid());
}

MeasureHooks measure_hooks(const Console& console, const std::string& indent) {
  // In every output form: without it the command seems to hang.
  return {.waiting =
              [](const Error& taken) { std::fputs(report_text(waiting_line(taken) + "\n").c_str(), stderr); },
          .progress = [&console, indent](
                          const MeasureProgress& at) { console.say_passing(indent + measuring_line(at)); },
          .ended = [&console] { console.say_passing(""); }};
}

}  // namespace lockstep
