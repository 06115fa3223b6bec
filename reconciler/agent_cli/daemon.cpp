#include "reconciler/agent_cli/daemon.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "drivers/host_policy/policy.hpp"
#include "reconciler/agent/calls.hpp"
#include "reconciler/agent/dead_man.hpp"
#include "reconciler/agent/server.hpp"
#include "reconciler/agent/time_keeper.hpp"
#include "reconciler/agent_cli/left_files.hpp"
#include "reconciler/agent_cli/requests.hpp"
#include "reconciler/local/local_drivers.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep::agent {
namespace {

// Also without an event: for a request that inotify lost, the watchdog, and an address that may be there now.
constexpr std::chrono::milliseconds kLongestWait{1'000};

void log_line(const char* priority, const std::string& text) {
  // systemd reads the priority; a terminal would show it.
  const bool to_journal = ::getenv("JOURNAL_STREAM") != nullptr;
  std::fprintf(stderr, "%slockstep-agent: %s\n", to_journal ? priority : "", text.c_str());
}
void log_error(const std::string& text) { log_line(SD_ERR, text); }
void log_notice(const std::string& text) { log_line(SD_NOTICE, text); }

// Blocks the signals that end the daemon, in this thread and those that it starts.
Descriptor ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Descriptor watch_of(const std::string& folder) {
  Descriptor out(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (out) ::inotify_add_watch(out.number(), folder.c_str(), IN_MOVED_TO);
  return out;
}

void empty(const Descriptor& descriptor) {
  std::array<char, 4096> room{};
  while (::read(descriptor.number(), room.data(), room.size()) > 0) {
  }
}

DeviceCalls::Discover discovery_of(const Config& config) {
  std::optional<LocalDevice> in_twin;
  if (config.twin)
    in_twin = {.device = config.device,
               .cluster = config.cluster,
               .twin = LocalDevice::InTwin{config.twin->id, config.twin->lldp}};
  return [in_twin](const Call& call) { return discover_local(in_twin, call); };
}

class Daemon {
 public:
  // `unusable`: why the configuration can't be served; that of the last start says what to roll back.
  Daemon(Config config, AgentJournal journal, std::optional<Error> unusable, std::string ready)
      : config_(std::move(config)), unusable_(std::move(unusable)), ready_file_(std::move(ready)) {
    for (const DriverName name : config_.drivers) {
      LocalDevice target{.device = config_.device, .cluster = config_.cluster};
      if (config_.twin) target.twin = LocalDevice::InTwin{config_.twin->id, config_.twin->lldp};
      target.sonic = {.databases = config_.sonic.databases,
                      .config = config_.sonic.config,
                      .checkpoints = config_.sonic.checkpoints,
                      .models = config_.sonic.models};
      attached_.emplace(std::string(to_string(name)), attach_local(name, target));
    }
    std::map<std::string, Attached*> drivers;
    for (auto& [name, one] : attached_) drivers.emplace(name, &one);
    dead_man_ = std::make_shared<DeadMan>(std::move(journal), drivers, this_machine(), log_notice);
    calls_ = std::make_shared<DeviceCalls>(
        DeviceCalls::Identity{
            .cluster = config_.cluster, .device = config_.device, .version = LOCKSTEP_VERSION},
        dead_man_, std::move(drivers), discovery_of(config_));
  }

  // The exit code.
  int run(const Descriptor& signals) {
    auto keeper = TimeKeeper::start(dead_man_, this_machine());
    if (!keeper) {
      log_error(keeper.error().text());
      return 1;
    }
    keeper_ = *std::move(keeper);
    const Descriptor changed = watch_of(config_.journal);
    std::array<pollfd, 2> waits{{{signals.number(), POLLIN, 0}, {changed.number(), POLLIN, 0}}};
    for (;;) {
      take_requests();
      if (!server_) listen();
      // A transaction that is armed is rolled back or settled first; a hold is no reason to stay.
      if (!server_ && !may_serve_ && !dead_man_->next_time()) return 1;
      tell_systemd();
      ::poll(waits.data(), waits.size(), static_cast<int>(kLongestWait.count()));
      if (waits[0].revents != 0) return 0;
      empty(changed);
    }
  }

 private:
  void listen() {
    const auto started = start_server();
    may_serve_ = may_serve_ || started || started.error().kind == ErrorKind::transient;
    if (!started) {
      const std::string next =
          may_serve_ ? "tries again every second" : "ends, as soon as nothing is armed here any more";
      const std::string why = started.error().text();
      return say("not listening: " + why.substr(0, why.find('\n')), next);
    }
    say("listening on " + config_.listen, "device " + config_.device + " of " + config_.cluster);
    if (ready_file_.empty()) return;
    if (const Result<Done> made = replace_file(ready_file_, "", {.mode = 0600}); !made)
      log_error(made.error().text());
  }

  Result<Done> start_server() {
    if (unusable_) return *unusable_;
    ServerOptions options;
    options.listen = config_.listen;
    options.cluster = config_.cluster;
    options.files = config_.tls;
    TRY(server_, AgentServer::start(std::move(options), calls_, log_notice));
    return Done{};
  }

  // Once, however often it is so.
  void say(const std::string& reached, const std::string& more) {
    if (reached == reached_) return;
    reached_ = reached;
    server_ ? log_notice(reached + "; " + more) : log_error(reached + "; " + more);
    ::sd_notify(0, ("STATUS=" + reached).c_str());
    if (const auto left = leave_reached(config_.journal, reached); !left) log_error(left.error().text());
  }

  // Ready: what is armed is rolled back in time, and a controller is served as soon as it can reach this
  // machine. Waiting longer for an address would make systemd kill who keeps the time.
  void tell_systemd() {
    if (may_serve_ && !std::exchange(is_ready_, true)) ::sd_notify(0, "READY=1");
    if (!is_ready_) ::sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
    if (keeper_->busy_for() < TimeKeeper::kStuckAfter) ::sd_notify(0, "WATCHDOG=1");
  }

  void take_requests() {
    const Result<std::optional<Request>> request = take_request(config_.journal);
    if (!request) return log_error(request.error().text());
    if (!*request) return;
    if ((*request)->hold) {
      const Result<Done> held = dead_man_->hold(*(*request)->hold);
      if (!held) return log_error(held.error().text());
      log_notice((*request)->hold->empty() ? "writes are accepted again"
                                           : "writes are refused: " + *(*request)->hold);
    }
    if (!(*request)->acknowledge) return;
    if (const Result<Done> done = dead_man_->acknowledge(); !done) log_error(done.error().text());
  }

  const Config config_;
  const std::optional<Error> unusable_;
  const std::string ready_file_;
  std::map<std::string, Attached> attached_;
  std::shared_ptr<DeadMan> dead_man_;
  std::unique_ptr<TimeKeeper> keeper_;
  std::shared_ptr<DeviceCalls> calls_;
  std::unique_ptr<AgentServer> server_;  // last: it calls the others until it is gone
  std::string reached_;                  // what was said of it
  bool may_serve_ = false;               // only its address was in the way, if anything
  bool is_ready_ = false;
};

}  // namespace

int run_daemon(const std::string& file, const std::string& ready) {
  const Descriptor signals = ending_signals();
  Result<Config> config = read_config(file, this_host());
  std::optional<Error> unusable;
  if (!config) {
    unusable = config.error();
    log_error(unusable->text());
    config = read_left_config(this_host());
    if (!config) return 1;
  }
  Result<AgentJournal> journal = AgentJournal::open(config->journal);
  if (!journal) {
    log_error(journal.error().text());
    return 1;
  }
  if (!unusable)
    if (const auto left = leave_config(config->journal, file); !left) log_error(left.error().text());
  Daemon daemon(*std::move(config), *std::move(journal), std::move(unusable), ready);
  const int code = daemon.run(signals);
  ::sd_notify(0, "STOPPING=1");
  return code;
}

}  // namespace lockstep::agent
