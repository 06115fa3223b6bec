#include "reconciler/twin/supervisor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "reconciler/twin/cables.hpp"
#include "reconciler/twin/channel.hpp"
#include "reconciler/twin/daemons.hpp"
#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/remains.hpp"
#include "reconciler/twin/state.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A client that connects and says nothing must not hold up the supervisor for longer than this.
constexpr milliseconds kClientPatience{1000};
// A launcher is there for nothing else.
constexpr milliseconds kLauncherPatience{10'000};
// How often sockets of starting daemons are tried; a daemon takes 20-60 ms to get there.
constexpr int kStartPollMs = 2;

Call within(milliseconds patience) { return Call{steady_clock::now() + patience, {}, -1}; }

class Supervisor {
 public:
  Supervisor(TwinRecord record, LineChannel launcher)
      : record_(std::move(record)), cluster_(record_.layout.cluster), launcher_(std::move(launcher)) {}

  int run() {
    Result<Done> built = prepare();
    if (built) built = build();
    if (built) built = hand_over();
    if (!built) {
      const Error why = built.error();
      take_away();
      (void)launcher_.write_line(
          nlohmann::json{{"error", why.text()}, {"kind", static_cast<int>(why.kind)}}.dump(
              -1, ' ', false, nlohmann::json::error_handler_t::replace),
          within(kClientPatience));
      return 1;
    }
    launcher_ = LineChannel();
    serve();
    return 0;
  }

 private:
  Result<Done> prepare();
  Result<Done> build();
  Result<Done> make_namespaces(std::map<std::string, MadeNetns>& made);
  Result<Done> make_cables(const std::map<std::string, MadeNetns>& made);
  Result<Done> start_daemons();
  Result<bool> start_round();
  Result<Done> start_one(std::size_t index);
  Result<Done> hand_over();
  void serve();
  void answer(LineChannel client);
  Result<Done> restart(const std::string& device, const std::string& name);
  void end_one(std::size_t index);
  TwinReport report() const;
  void reap();
  void change(DaemonState& state, DaemonLife life, std::string how);
  bool asked_to_stop();
  bool go_on();
  bool tell(const char* step, std::size_t done, std::size_t of);
  void take_away();

  TwinRecord record_;
  std::string cluster_;
  LineChannel launcher_;
  Descriptor signals_;
  Descriptor listener_;
  std::vector<DaemonPlan> plans_;
  std::vector<DaemonState> states_;  // one for each plan
  std::vector<pid_t> pids_;          // in our PID namespace, for waitpid; -1: not started or ended
  std::int64_t since_unix_ms_ = unix_ms_now();
  bool stop_ = false;
};

Result<Done> Supervisor::prepare() {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::sigaddset(&watched, one);
  // Blocked, so that they wait in the descriptor; process 1 would not get them by default action at all
  // (pid_namespaces(7)).
  ::sigprocmask(SIG_SETMASK, &watched, nullptr);
  signals_ = Descriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return errno_error("signalfd");
  TRY_DONE(record_supervisor(cluster_));
  // The record is there before anything that it describes.
  return replace_file(twin_places(cluster_).record, to_text(record_) + "\n", {.mode = 0600});
}

Result<Done> Supervisor::build() {
  {
    std::map<std::string, MadeNetns> made;
    TRY_DONE(make_namespaces(made));
    TRY_DONE(make_cables(made));
  }
  TRY_DONE(start_daemons());
  TRY(listener_, listen_on(twin_places(cluster_).control));
  return Done{};
}

Result<Done> Supervisor::make_namespaces(std::map<std::string, MadeNetns>& made) {
  const auto& devices = record_.layout.devices;
  for (const TwinDevice& device : devices) {
    TRY_DONE(prepare_run_dir(record_, device));
    TRY(MadeNetns one, create_netns(places(cluster_, device.name).netns, [this] { return go_on(); }));
    made.emplace(device.name, std::move(one));
    if (!tell("namespaces", made.size(), devices.size())) return Error{ErrorKind::cancelled, "stopped"};
  }
  return Done{};
}

Result<Done> Supervisor::make_cables(const std::map<std::string, MadeNetns>& made) {
  std::vector<CableEnds> wirings;
  for (const TwinCable& cable : record_.layout.cables)
    wirings.push_back({&cable, &made.at(cable.device_a), &made.at(cable.device_b)});
  return wire(wirings, [&](std::size_t done) { return tell("cables", done, wirings.size()); });
}

Result<Done> Supervisor::start_daemons() {
  plans_ = daemons_of(record_);
  pids_.assign(plans_.size(), -1);
  for (const DaemonPlan& plan : plans_) {
    DaemonState state;
    state.device = plan.device;
    state.name = plan.name;
    state.since_unix_ms = unix_ms_now();
    states_.push_back(std::move(state));
  }
  for (;;) {
    TRY(const bool all, start_round());
    if (all) return Done{};
    if (!go_on()) return Error{ErrorKind::cancelled, "stopped while daemons were starting"};
    pollfd wake{signals_.number(), POLLIN, 0};
    ::poll(&wake, 1, kStartPollMs);
  }
}

// Starts what can start now and notes what has become ready; true: all of them.
Result<bool> Supervisor::start_round() {
  reap();
  std::size_t running = 0;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const DaemonPlan& plan = plans_[i];
    DaemonState& state = states_[i];
    if (state.life == DaemonLife::ended) {
      const std::string words = last_words(plan, cluster_);
      return Error{ErrorKind::refused, fmt::format("{}: {} ended while starting: {}{}{}", plan.device,
                                                   plan.name, state.how, words.empty() ? "" : ": ", words)};
    }
    if (state.life != DaemonLife::starting) {
      ++running;
      continue;
    }
    if (pids_[i] < 0) {
      const bool may =
          plan.after.empty() || std::any_of(states_.begin(), states_.end(), [&](const DaemonState& other) {
            return other.device == plan.device && other.name == plan.after &&
                   other.life == DaemonLife::running;
          });
      if (may) TRY_DONE(start_one(i));
    } else if (is_ready(plan)) {
      change(state, DaemonLife::running, "");
      ++running;
      const auto started = std::count_if(states_.begin(), states_.end(),
                                         [](const auto& one) { return one.life == DaemonLife::running; });
      tell("daemons", static_cast<std::size_t>(started), plans_.size());
    }
  }
  return running == plans_.size();
}

Result<Done> Supervisor::start_one(std::size_t index) {
  TRY(const Spawned spawned, spawn(plans_[index], cluster_));
  pids_[index] = spawned.pid;
  states_[index].pid = spawned.outer_pid;
  change(states_[index], DaemonLife::starting, "");
  return Done{};
}

// Ready; the twin stays only if the launcher is still there to say so.
Result<Done> Supervisor::hand_over() {
  const nlohmann::json ready{{"ready", true}, {"supervisor", outer_pid_of_self()}};
  TRY_DONE(launcher_.write_line(ready.dump(), within(kLauncherPatience)));
  TRY(const std::string said, launcher_.read_line(within(kLauncherPatience)));
  if (said != "keep") return Error{ErrorKind::cancelled, "the launcher does not keep the twin"};
  return Done{};
}

void Supervisor::serve() {
  while (!stop_) {
    std::array<pollfd, 2> waits{{{signals_.number(), POLLIN, 0}, {listener_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if (asked_to_stop()) break;
    reap();
    if (auto client = accept_own(listener_)) answer(*std::move(client));
  }
  // A client that asked for the stop sees the end of the process, not an answer that comes too early.
  take_away();
}

void Supervisor::answer(LineChannel client) {
  auto line = client.read_line(within(kClientPatience));
  if (!line) return;
  const nlohmann::json asked = nlohmann::json::parse(*line, nullptr, false);
  const auto text = [&](const char* key) {
    const auto at = asked.is_object() ? asked.find(key) : asked.end();
    return asked.is_object() && at != asked.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  std::string reply;
  if (text("op") == "status") {
    reply = to_text(report());
  } else if (text("op") == "stop") {
    stop_ = true;
    reply = nlohmann::json{{"stopping", true}}.dump();
  } else if (text("op") == "restart") {
    const auto started = restart(text("device"), text("daemon"));
    reply = started ? nlohmann::json{{"started", true}}.dump()
                    : nlohmann::json{{"error", started.error().text()},
                                     {"kind", static_cast<int>(started.error().kind)}}
                          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } else {
    reply =
        nlohmann::json{{"error", "unknown op"}, {"kind", static_cast<int>(ErrorKind::unsupported)}}.dump();
  }
  (void)client.write_line(reply, within(kClientPatience));
}

// Only on request: the reconciler's remedy for a daemon that is dead or hangs.
Result<Done> Supervisor::restart(const std::string& device, const std::string& name) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (plans_[i].device != device || plans_[i].name != name) continue;
    end_one(i);
    TRY_DONE(start_one(i));
    constexpr milliseconds kStartPatience{5000};  // 100 times what a start takes on an idle machine
    for (const auto until = steady_clock::now() + kStartPatience; steady_clock::now() < until;) {
      reap();
      if (states_[i].life == DaemonLife::ended)
        return Error{ErrorKind::refused, fmt::format("{}: {} ended again: {}", device, name, states_[i].how)};
      if (is_ready(plans_[i])) {
        change(states_[i], DaemonLife::running, "");
        return Done{};
      }
      ::poll(nullptr, 0, kStartPollMs);
    }
    return Error{ErrorKind::transient, device + ": " + name + " was started and does not answer"};
  }
  return Error{ErrorKind::invalid_spec, "the twin has no daemon " + name + " on '" + device + "'"};
}

// With its own children, which are of its process group and become ours when it goes: lldpd has one, which
// would go on holding the socket.
void Supervisor::end_one(std::size_t index) {
  const pid_t pid = std::exchange(pids_[index], -1);
  if (pid <= 0) return;
  ::kill(-pid, SIGKILL);
  while (::waitpid(-pid, nullptr, 0) > 0 || errno == EINTR) continue;
  states_[index].pid = -1;
  change(states_[index], DaemonLife::ended, "to be started again");
}

TwinReport Supervisor::report() const {
  TwinReport out;
  out.cluster = cluster_;
  out.alive = true;
  out.digest = digest_of(record_);
  out.supervisor = outer_pid_of_self();
  out.since_unix_ms = since_unix_ms_;
  out.record = record_;
  out.daemons = states_;
  return out;
}

void Supervisor::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid <= 0) return;
    const auto at = std::find(pids_.begin(), pids_.end(), pid);
    if (at == pids_.end()) continue;  // an orphan of a daemon, or a child that did not get to exec
    DaemonState& state = states_[static_cast<std::size_t>(at - pids_.begin())];
    const auto by = [](int number) { return fmt::format("signal {} ({})", number, ::strsignal(number)); };
    if (WIFSTOPPED(status)) {
      change(state, DaemonLife::stopped, "by " + by(WSTOPSIG(status)));
    } else if (WIFCONTINUED(status)) {
      change(state, DaemonLife::running, "");
    } else {
      *at = -1;
      state.pid = -1;
      change(state, DaemonLife::ended,
             WIFSIGNALED(status) ? "killed by " + by(WTERMSIG(status))
                                 : fmt::format("exit status {}", WEXITSTATUS(status)));
    }
  }
}

void Supervisor::change(DaemonState& state, DaemonLife life, std::string how) {
  state.life = life;
  state.how = std::move(how);
  state.since_unix_ms = unix_ms_now();
  // Standard error is the twin's log.
  (void)::dprintf(2, "%lld %s %s %s %s\n", static_cast<long long>(state.since_unix_ms), state.device.c_str(),
                  state.name.c_str(), std::string(to_string(life)).c_str(), state.how.c_str());
}

bool Supervisor::asked_to_stop() {
  signalfd_siginfo one{};
  while (::read(signals_.number(), &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one)))
    if (one.ssi_signo != SIGCHLD) stop_ = true;
  return stop_;
}

// While building: nobody asked to stop and the launcher is still there.
bool Supervisor::go_on() {
  if (asked_to_stop()) return false;
  pollfd launcher{launcher_.descriptor(), POLLIN | POLLRDHUP, 0};
  // Before "ready" the launcher says nothing, so anything here is its end.
  return ::poll(&launcher, 1, 0) == 0;
}

bool Supervisor::tell(const char* step, std::size_t done, std::size_t of) {
  const nlohmann::json line{{"step", step}, {"done", done}, {"of", of}};
  (void)launcher_.write_line(line.dump(), within(kClientPatience));
  return go_on();
}

void Supervisor::take_away() {
  // Children that have not been waited for keep their pid, so this can't hit anything else. Their own
  // children, if any, die with this process, the first of their PID namespace.
  for (const pid_t pid : pids_)
    if (pid > 0) ::kill(pid, SIGKILL);
  for (pid_t& pid : pids_) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    pid = -1;
  }
  if (auto clean = clean_remains(cluster_, Leave::nothing); !clean)
    (void)::dprintf(2, "%s\n", clean.error().text().c_str());
}

// From the launcher, before anything else. One that ends first has made nothing but the lock.
Result<TwinRecord> read_record(LineChannel& launcher) {
  TRY(const std::string line, launcher.read_line(within(kLauncherPatience)));
  return from_text(line);
}

}  // namespace

int supervisor_main() {
  // Neither is for the daemons. Nothing else has these numbers in a program that has just begun.
  for (const int one : {kSupervisorLock, kSupervisorLauncher}) {
    if (::fcntl(one, F_SETFD, FD_CLOEXEC) == 0) continue;
    (void)::dprintf(2, "%s is no command for people: `lockstep twin up` starts it\n", kSupervisorWord);
    return 1;
  }
  (void)::chdir("/");
  ::umask(022);
  // The PID namespace is the next child's; this process ends at once, so that the supervisor is nobody's
  // child here. It has one thread, as it has just been executed.
  if (::unshare(CLONE_NEWPID) != 0) return 1;
  const pid_t child = ::fork();
  if (child != 0) ::_exit(child < 0 ? 1 : 0);
  LineChannel launcher{Descriptor(kSupervisorLauncher)};
  auto record = read_record(launcher);
  if (!record) ::_exit(1);
  ::_exit(Supervisor(*std::move(record), std::move(launcher)).run());
}

}  // namespace lockstep
