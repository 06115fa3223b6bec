#include "reconciler/cli/interrupt.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

namespace lockstep {
namespace {

void raise_event(int descriptor) {
  const std::uint64_t one = 1;
  // Can fail only when the counter would overflow (eventfd(2)); it is readable then all the same.
  [[maybe_unused]] const ssize_t written = write(descriptor, &one, sizeof one);
}

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Interrupt::Interrupt() : event_fd_(eventfd(0, EFD_CLOEXEC)), quit_fd_(eventfd(0, EFD_CLOEXEC)) {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
  thread_ = std::thread([this, signal_fd] { wait_for_signals(signal_fd); });
}

Interrupt::~Interrupt() {
  raise_event(quit_fd_);
  thread_.join();
  close(event_fd_);
  close(quit_fd_);
}

void Interrupt::wait_for_signals(int signal_fd) {
  bool asked_before = false;
  while (true) {
    std::array<pollfd, 2> waits{{{signal_fd, POLLIN, 0}, {quit_fd_, POLLIN, 0}}};
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) break;
    signalfd_siginfo signal{};
    if (read(signal_fd, &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) continue;
    if (asked_before) _exit(128 + static_cast<int>(signal.ssi_signo));
    asked_before = true;
    source_.request_stop();
    raise_event(event_fd_);
  }
  close(signal_fd);
}

}  // namespace lockstep
