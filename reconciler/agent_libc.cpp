// What the sources and libstdc++ call of glibc 2.36, and glibc 2.35 (Ubuntu 22.04) lacks: defined here, so
// that lockstep-agent starts there. The kernel has had these system calls since 5.3.
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

extern "C" {

int pidfd_open(pid_t pid, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, flags));
}

int pidfd_send_signal(int pidfd, int signal, siginfo_t* info, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, signal, info, flags));
}

std::uint32_t arc4random() noexcept {
  std::uint32_t out = 0;
  // Up to 256 bytes come whole, or the random pool is not seeded yet and it waits (getrandom(2)).
  if (::getrandom(&out, sizeof(out), 0) != sizeof(out)) std::abort();
  return out;
}

}  // extern "C"
