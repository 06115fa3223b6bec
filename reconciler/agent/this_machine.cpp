// The machine that a dead man is on: its clock and its boot.
#include <time.h>

#include "reconciler/agent/dead_man.hpp"
#include "specs/files/read_file.hpp"

namespace lockstep::agent {

Machine this_machine() {
  Machine out;
  out.boot_time = [] {
    timespec now{};
    (void)::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  constexpr std::size_t kUuid = 36;  // RFC 4122 section 3, and a newline
  if (const FileText text = read_named("/proc/sys/kernel/random/boot_id", kUuid + 1))
    out.boot_id = text.text.substr(0, text.text.find('\n'));
  return out;
}

}  // namespace lockstep::agent
