// TwinReport: the current state of a twin, and its form on the control socket (one line of JSON).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/twin/layout.hpp"

namespace lockstep {

enum class DaemonLife : std::uint8_t { starting, running, stopped, ended };
std::string_view to_string(DaemonLife life);

struct DaemonState {
  std::string device;
  std::string name;
  pid_t pid = -1;  // as `ps` on this machine shows it; -1 once it has ended
  DaemonLife life = DaemonLife::starting;
  std::string how;  // ended: "killed by signal 9 (Killed)", "exit status 1"; stopped: by which signal
  std::int64_t since_unix_ms = 0;  // since when `life` holds
};

struct TwinReport {
  std::string cluster;
  bool alive = false;  // false: no supervisor; `left_behind` lists what remains
  std::string digest;
  pid_t supervisor = -1;
  std::int64_t since_unix_ms = 0;
  TwinRecord record;
  std::vector<DaemonState> daemons;
  std::vector<std::string> lost_cables;  // as examine() finds them
  std::vector<std::string> left_behind;

  // True if alive, with every daemon running and every cable present.
  bool sound() const;
};

std::string to_text(const TwinReport& report);
Result<TwinReport> report_from_text(std::string_view text);

std::int64_t unix_ms_now();

}  // namespace lockstep
