#include "reconciler/agent_cli/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "drivers/host_policy/policy.hpp"
#include "reconciler/agent/config.hpp"
#include "reconciler/agent_cli/daemon.hpp"
#include "reconciler/agent_cli/left_files.hpp"
#include "reconciler/agent_cli/requests.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::agent {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
// Its loop looks for requests once a second, and a write of its journal can wait for a slow disk.
constexpr std::chrono::seconds kEffectPatience{30};

int fail(const std::string& what) {
  fmt::print(stderr, "error: {}\n", what);
  return kExitError;
}

// The journal's state with the request in it: of an agent that does not run.
Result<Done> done_now(AgentJournal& journal, const Request& request) {
  JournalState next = journal.state();
  if (request.hold) next.hold = *request.hold;
  if (request.acknowledge) next.failed.reset();
  return journal.write(std::move(next));
}

bool in_effect(const JournalState& state, const Request& request) {
  return (!request.hold || state.hold == *request.hold) && (!request.acknowledge || !state.failed);
}

// Of an agent that runs, through its folder.
Result<Done> requested(const std::string& folder, const Request& request) {
  // An agent that starts just now removes files that are not finished.
  if (!leave_request(folder, request)) TRY_DONE(leave_request(folder, request));
  const auto end = std::chrono::steady_clock::now() + kEffectPatience;
  while (std::chrono::steady_clock::now() < end) {
    TRY(const JournalState state, read_journal(folder));
    if (in_effect(state, request)) return Done{};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return Error{ErrorKind::transient, "lockstep-agent runs and did not act on the request within " +
                                         std::to_string(kEffectPatience.count()) +
                                         " s; the request stays until it does"};
}

int run_request(const Config& config, const Request& request, const std::string& done) {
  Result<AgentJournal> own = AgentJournal::open(config.journal);
  const Result<Done> result = own                                       ? done_now(*own, request)
                              : own.error().kind == ErrorKind::conflict ? requested(config.journal, request)
                                                                        : Result<Done>(own.error());
  if (!result) return fail(result.error().text());
  fmt::print("{}\n", done);
  return kExitOk;
}

int run_status(const Config& config) {
  const Result<JournalState> state = read_journal(config.journal);
  if (!state) return fail(state.error().text());
  fmt::print("device {} of {}, epoch {}\n", config.device, config.cluster, state->epoch);
  const bool runs = is_journal_open(config.journal);
  fmt::print("{}\n", runs ? printable(read_reached(config.journal)) : "lockstep-agent does not run");
  if (state->armed)
    fmt::print("transaction {} is {}: {} changes are rolled back unless it is settled\n",
               printable(state->armed->transaction),
               state->armed->rolling_back ? "being rolled back" : "armed", state->armed->undo.size());
  if (!state->hold.empty()) fmt::print("writes are refused: {}\n", printable(state->hold));
  if (state->failed)
    fmt::print(
        "writes are refused: {} could not be rolled back: {}; check the machine, then run "
        "\"lockstep-agent acknowledge\"\n",
        printable(state->failed->transaction), printable(state->failed->why));
  return state->hold.empty() && !state->failed ? kExitOk : kExitError;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app{"Serves this machine to a Lockstep controller, and rolls back what nobody settles",
               "lockstep-agent"};
  std::string file = kAgentConfigFile;
  std::string reason;
  app.add_option("--config", file, "Its configuration")->capture_default_str()->type_name("FILE");
  app.require_subcommand(1);
  app.fallthrough();
  std::string ready;
  CLI::App* const run = app.add_subcommand("run", "Serve, until SIGTERM");
  run->add_option("--ready", ready, "Make this empty file once it serves")->type_name("FILE");
  app.add_subcommand("check", "Check the configuration and the credentials");
  CLI::App* const status =
      app.add_subcommand("status", "Whether it is reached, what is armed, and whether writes are accepted");
  CLI::App* const hold = app.add_subcommand("hold", "Refuse all writes to this machine");
  hold->add_option("REASON", reason, "Shown to everybody whose write is refused")->required();
  CLI::App* const release = app.add_subcommand("release", "Accept writes again after a hold");
  CLI::App* const acknowledge = app.add_subcommand(
      "acknowledge", "Accept writes again after a failed rollback; first look at the machine");
  app.set_version_flag("--version", std::string(LOCKSTEP_VERSION));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (run->parsed()) return run_daemon(file, ready);
  const Result<Config> config = read_config(file, this_host());
  if (!config) return fail(config.error().text());
  if (status->parsed()) return run_status(*config);
  if (hold->parsed())
    return reason.empty() ? fail("a hold needs a reason")
                          : run_request(*config, {.hold = reason}, "writes are refused: " + reason);
  if (release->parsed()) return run_request(*config, {.hold = ""}, "writes are accepted again");
  if (acknowledge->parsed())
    return run_request(*config, {.hold = {}, .acknowledge = true}, "acknowledged: writes are accepted again");
  const Result<TlsContext> context = tls_context(config->tls, true);
  if (!context) return fail(context.error().text());
  fmt::print("valid: device {} of {}, to listen on {}\n", config->device, config->cluster, config->listen);
  return kExitOk;
}

}  // namespace lockstep::agent
