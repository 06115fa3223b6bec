#include "killed_at_write.hpp"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <stdexcept>

namespace lockstep {
namespace {

bool changes_files(std::uint64_t call) {
  constexpr std::array kCalls{SYS_write,  SYS_pwrite64,  SYS_ftruncate, SYS_fsync,    SYS_fdatasync,
                              SYS_rename, SYS_renameat,  SYS_unlink,    SYS_unlinkat, SYS_link,
                              SYS_fchmod, SYS_fallocate, SYS_mkdir,     SYS_fchown,   SYS_renameat2};
  return std::any_of(kCalls.begin(), kCalls.end(),
                     [call](long one) { return static_cast<std::uint64_t>(one) == call; });
}

int wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid");
  return status;
}

[[noreturn]] void run_traced(const std::function<void()>& body) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
  raise(SIGSTOP);
  body();
  _exit(0);
}

// Checks the entry of a system call. An open() counts if it may create a file.
bool enters_a_write(pid_t child) {
  __ptrace_syscall_info info{};
  if (ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), child, sizeof info, &info) <= 0)
    throw std::runtime_error("PTRACE_GET_SYSCALL_INFO");
  if (info.op != PTRACE_SYSCALL_INFO_ENTRY) return false;
  const bool makes_file = info.entry.nr == SYS_openat && (info.entry.args[2] & O_CREAT) != 0;
  return makes_file || changes_files(info.entry.nr);
}

}  // namespace

bool killed_at_write(int nth, const std::function<void()>& body) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) run_traced(body);
  int status = wait_for(child);
  if (!WIFSTOPPED(status)) throw std::runtime_error("a child can't be traced here");
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  for (int writes = 0, signal = 0;;) {
    ptrace(PTRACE_SYSCALL, child, nullptr, signal);
    status = wait_for(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
    if (!WIFSTOPPED(status)) throw std::runtime_error("the child failed");
    const bool at_call = WSTOPSIG(status) == (SIGTRAP | 0x80);  // PTRACE_O_TRACESYSGOOD
    signal = at_call ? 0 : WSTOPSIG(status);
    if (!at_call || !enters_a_write(child) || ++writes < nth) continue;
    kill(child, SIGKILL);
    wait_for(child);
    return true;
  }
}

}  // namespace lockstep
