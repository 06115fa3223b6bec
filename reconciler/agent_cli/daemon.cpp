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

#include "drivers/posix/wake_descriptor.hpp"
#include "reconciler/agent/calls.hpp"
#include "reconciler/agent/dead_man.hpp"
#include "reconciler/agent/server.hpp"
#include "reconciler/agent_cli/requests.hpp"
#include "reconciler/local/local_drivers.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep::agent {
namespace {

// Also without an event, so that a request that inotify lost is found, and the watchdog is fed in time.
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
  Daemon(const Config& config, AgentJournal journal) : config_(config) {
    for (const DriverName name : config.drivers) {
      LocalDevice target{.device = config.device, .cluster = config.cluster};
      if (config.twin) target.twin = LocalDevice::InTwin{config.twin->id, config.twin->lldp};
      attached_.emplace(std::string(to_string(name)), attach_local(name, target));
    }
    std::map<std::string, Attached*> drivers;
    for (auto& [name, one] : attached_) drivers.emplace(name, &one);
    dead_man_ = std::make_shared<DeadMan>(std::move(journal), std::move(drivers), this_machine());
  }

  Result<Done> start() {
    dead_man_->recover();
    std::map<std::string, Attached*> drivers;
    for (auto& [name, one] : attached_) drivers.emplace(name, &one);
    calls_ = std::make_shared<DeviceCalls>(
        DeviceCalls::Identity{
            .cluster = config_.cluster, .device = config_.device, .version = LOCKSTEP_VERSION},
        dead_man_, std::move(drivers), discovery_of(config_));
    ServerOptions options;
    options.listen = config_.listen;
    options.cluster = config_.cluster;
    options.files = config_.tls;
    TRY(server_, AgentServer::start(std::move(options), calls_, log_notice));
    return Done{};
  }

  void loop(const Descriptor& signals) {
    const Descriptor changed = watch_of(config_.journal);
    std::array<pollfd, 2> waits{{{signals.number(), POLLIN, 0}, {changed.number(), POLLIN, 0}}};
    for (;;) {
      take_requests();
      dead_man_->keep_time();
      ::sd_notify(0, "WATCHDOG=1");
      ::poll(waits.data(), waits.size(), static_cast<int>(wait().count()));
      if (waits[0].revents != 0) return;
      empty(changed);
    }
  }

 private:
  std::chrono::milliseconds wait() const {
    const auto next = dead_man_->next_time();
    if (!next) return kLongestWait;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - this_machine().boot_time());
    return std::clamp(left, std::chrono::milliseconds{0}, kLongestWait);
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

  const Config& config_;
  std::map<std::string, Attached> attached_;
  std::shared_ptr<DeadMan> dead_man_;
  std::shared_ptr<DeviceCalls> calls_;
  std::unique_ptr<AgentServer> server_;  // last: it calls the others until it is gone
};

}  // namespace

int run_daemon(const Config& config, const std::string& ready) {
  const Descriptor signals = ending_signals();
  Result<AgentJournal> journal = AgentJournal::open(config.journal);
  if (!journal) {
    log_error(journal.error().text());
    return 1;
  }
  Daemon daemon(config, *std::move(journal));
  if (const Result<Done> started = daemon.start(); !started) {
    log_error(started.error().text());
    return 1;
  }
  log_notice("device " + config.device + " of " + config.cluster + ", listening on " + config.listen);
  if (!ready.empty())
    if (const Result<Done> made = replace_file(ready, "", {.mode = 0600}); !made)
      log_error(made.error().text());
  ::sd_notify(0, "READY=1");
  daemon.loop(signals);
  ::sd_notify(0, "STOPPING=1");
  return 0;
}

}  // namespace lockstep::agent
