#include "reconciler/cli/interrupt.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace lockstep {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Descriptor signals(signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals) throw std::system_error(errno, std::generic_category(), "signalfd");
  thread_ = std::thread([this, signals = std::move(signals)] { wait_for_signals(signals); });
}

Interrupt::~Interrupt() {
  quit_.signal();
  thread_.join();
}

void Interrupt::wait_for_signals(const Descriptor& signals) {
  bool asked_before = false;
  while (true) {
    std::array<pollfd, 2> waits{{{signals.number(), POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) break;
    signalfd_siginfo signal{};
    if (read(signals.number(), &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) continue;
    if (asked_before) _exit(128 + static_cast<int>(signal.ssi_signo));
    asked_before = true;
    source_.request_stop();
    asked_.signal();
  }
}

}  // namespace lockstep
