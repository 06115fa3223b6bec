// Which of the driver's rows a device does not support, and what implements its traffic classes, as last
// reported by the kernel.
//
// Determining this takes many requests (walking links and PCI takes milliseconds; NVML wakes idle GPUs,
// seconds each: docs.nvidia.com/deploy/driver-persistence), and the answers rarely change. Promises: each row
// is probed once, and again when the device has booted, its ports or the scope's names have changed, or kKept
// has passed; probing takes at most half of a call's remaining time, and a row without an answer by then is
// reported as unknown (so it is not mistaken for a supported one) and is probed again. Thread-safe, as an
// abandoned call may still be running.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "drivers/linux/part.hpp"
#include "drivers/linux/queueing/scheduler.hpp"

namespace lockstep {

struct Lacks {
  std::vector<Incapable> known;
  std::vector<RowId> unknown;  // no answer yet, because of a deadline or a stop
};

class KnownLacks {
 public:
  // An arbitrary limit: changes without a boot or a new port (a module, a daemon that takes over DCB) are
  // detected by then.
  static constexpr std::chrono::minutes kKept{10};

  // The arguments must outlive it. `rows`: those that the driver reads.
  KnownLacks(const LinuxTarget& target, const LinuxParts& parts, const std::vector<RowId>& rows)
      : target_(target), parts_(parts), rows_(rows) {}

  // For the rows in scope, in the target's network namespace, whose ports are `ports`.
  Lacks of(const Scope& scope, const std::string& boot_id, const std::vector<Link>& ports, const Call& call);

  // What implements the traffic classes of ports whose speed is enforced by software; an error: unknown.
  Result<Carrier> software_carrier() const;
  bool is_carried_by_mqprio(std::string_view port) const;

 private:
  struct Answer {
    std::vector<Incapable> lacks;
    std::set<std::string, std::less<>> mqprio;  // ports whose classes mqprio implements
  };
  struct Known {
    std::string ground;  // this boot, these ports and names
    Time since{};
    std::set<RowId> rows;  // that were probed
    Answer answer;
  };
  Scope not_probed(const Scope& scope, const std::string& ground, Time now);
  Answer find(const Scope& missing, const std::vector<Link>& ports, const Call& call);
  void find_mqprio(const Scope& missing, const std::vector<Link>& ports, const Call& call, Answer& out) const;
  bool keep(const std::string& ground, const Scope& probed, const Answer& answer);

  const LinuxTarget& target_;
  const LinuxParts& parts_;
  const std::vector<RowId>& rows_;
  mutable std::mutex mutex_;  // guards what follows
  Known known_;
  Result<Carrier> carrier_ = Error{ErrorKind::transient, "the device has not been observed"};
};

}  // namespace lockstep
