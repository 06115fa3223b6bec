#include "reconciler/twin/running_daemons.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often sockets of starting daemons are polled; a daemon takes 20-60 ms to start.
constexpr int kStartPollMs = 2;

}  // namespace

Result<Done> RunningDaemons::start(std::vector<DaemonPlan> plans, const GoOn& go_on,
                                   const std::function<void(std::size_t, std::size_t)>& told, int wake) {
  const std::size_t first = all_.size();
  for (DaemonPlan& plan : plans) {
    One one;
    one.state.device = plan.device;
    one.state.name = plan.name;
    one.state.since_unix_ms = unix_ms_now();
    one.plan = std::move(plan);
    all_.push_back(std::move(one));
  }
  const auto give_up = [&](Error why) {
    const auto fresh = [&](const One& one) { return &one >= all_.data() + first; };
    end_processes(fresh);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(first), all_.end());
    return why;
  };
  for (std::size_t ready = 0; ready < all_.size() - first;) {
    const Result<std::size_t> now = start_round(first);
    if (!now) return give_up(now.error());
    for (; ready < *now; ++ready) told(ready + 1, all_.size() - first);
    if (!go_on()) return give_up({ErrorKind::cancelled, "stopped while daemons were starting"});
    if (ready == all_.size() - first) break;
    pollfd woken{wake, POLLIN, 0};
    ::poll(&woken, 1, kStartPollMs);
  }
  return Done{};
}

// Starts the daemons that can start now; returns how many are ready.
Result<std::size_t> RunningDaemons::start_round(std::size_t first) {
  reap();
  std::size_t ready = 0;
  for (std::size_t i = first; i < all_.size(); ++i) {
    One& one = all_[i];
    if (one.state.life == DaemonLife::ended) {
      const std::string words = last_words(one.plan, cluster_);
      return Error{ErrorKind::refused,
                   fmt::format("{}: {} ended while starting: {}{}{}", one.plan.device, one.plan.name,
                               one.state.how, words.empty() ? "" : ": ", words)};
    }
    if (one.state.life == DaemonLife::starting && one.pid < 0) {
      const bool may = one.plan.after.empty() || std::any_of(all_.begin(), all_.end(), [&](const One& other) {
                         return other.plan.device == one.plan.device && other.plan.name == one.plan.after &&
                                other.state.life == DaemonLife::running;
                       });
      if (may) TRY_DONE(start_one(one));
    } else if (one.state.life == DaemonLife::starting && is_ready(one.plan)) {
      change(one.state, DaemonLife::running, "");
    }
    if (one.state.life != DaemonLife::starting) ++ready;
  }
  return ready;
}

Result<Done> RunningDaemons::start_one(One& one) {
  TRY(const Spawned spawned, spawn(one.plan, cluster_));
  one.pid = spawned.pid;
  one.state.pid = spawned.outer_pid;
  change(one.state, DaemonLife::starting, "");
  return Done{};
}

// Only on request: the reconciler's remedy for a daemon that is dead or hangs.
Result<Done> RunningDaemons::restart(const std::string& device, const std::string& name) {
  const auto asked = [&](const One& one) { return one.plan.device == device && one.plan.name == name; };
  const auto at = std::find_if(all_.begin(), all_.end(), asked);
  if (at == all_.end())
    return Error{ErrorKind::invalid_spec, "the twin has no daemon " + name + " on '" + device + "'"};
  end_processes(asked);
  TRY_DONE(start_one(*at));
  constexpr milliseconds kStartPatience{5000};  // 100 times what a start takes on an idle machine
  for (const auto until = steady_clock::now() + kStartPatience; steady_clock::now() < until;) {
    reap();
    if (at->state.life == DaemonLife::ended)
      return Error{ErrorKind::refused, fmt::format("{}: {} ended again: {}", device, name, at->state.how)};
    if (is_ready(at->plan)) {
      change(at->state, DaemonLife::running, "");
      return Done{};
    }
    ::poll(nullptr, 0, kStartPollMs);
  }
  return Error{ErrorKind::transient, device + ": " + name + " was started and does not answer"};
}

void RunningDaemons::end(const std::string& device) {
  const auto of_device = [&](const One& one) { return one.plan.device == device; };
  end_processes(of_device);
  std::erase_if(all_, of_device);
}

void RunningDaemons::end_all() {
  end_processes([](const One&) { return true; });
}

// Includes their own children, which are in their process groups and are reparented to this process: lldpd
// has one, which would keep the socket. A process that has not been waited for keeps its pid, so that no
// other process can be hit.
void RunningDaemons::end_processes(const std::function<bool(const One&)>& which) {
  for (const One& one : all_)
    if (which(one) && one.pid > 0) ::kill(-one.pid, SIGKILL);
  for (One& one : all_) {
    if (!which(one) || one.pid <= 0) continue;
    while (::waitpid(-one.pid, nullptr, 0) > 0 || errno == EINTR) continue;
    one.pid = one.state.pid = -1;
    change(one.state, DaemonLife::ended, "by the twin");
  }
}

void RunningDaemons::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid <= 0) return;
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const One& one) { return one.pid == pid; });
    if (at == all_.end()) continue;  // a reparented child of a daemon, or a child that did not get to exec
    const auto by = [](int number) { return fmt::format("signal {} ({})", number, ::strsignal(number)); };
    if (WIFSTOPPED(status)) {
      change(at->state, DaemonLife::stopped, "by " + by(WSTOPSIG(status)));
    } else if (WIFCONTINUED(status)) {
      change(at->state, DaemonLife::running, "");
    } else {
      at->pid = at->state.pid = -1;
      change(at->state, DaemonLife::ended,
             WIFSIGNALED(status) ? "killed by " + by(WTERMSIG(status))
                                 : fmt::format("exit status {}", WEXITSTATUS(status)));
    }
  }
}

std::vector<DaemonState> RunningDaemons::states() const {
  std::vector<DaemonState> out;
  for (const One& one : all_) out.push_back(one.state);
  return out;
}

void RunningDaemons::change(DaemonState& state, DaemonLife life, std::string how) {
  state.life = life;
  state.how = std::move(how);
  state.since_unix_ms = unix_ms_now();
  // Standard error is the twin's log.
  (void)::dprintf(2, "%lld %s %s %s %s\n", static_cast<long long>(state.since_unix_ms), state.device.c_str(),
                  state.name.c_str(), std::string(to_string(life)).c_str(), state.how.c_str());
}

}  // namespace lockstep
