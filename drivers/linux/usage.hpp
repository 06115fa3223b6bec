// LinuxUsage: what uses a traffic class of a port (its scheduler's own count of bytes), or the MTU of a port
// that sends RoCE (queue pairs that are open: rdma/queue_pairs.hpp).
//
// Promises: each call enters the namespace anew, and changes nothing. Refuses to tell of the classes of ports
// with a speed of their own, whose counters differ by NIC, and, in a network namespace of this machine, of
// queue pairs, as RDMA is the machine's.
#pragma once

#include <string>

#include "drivers/driver.hpp"
#include "drivers/linux/driver.hpp"

namespace lockstep {

class LinuxUsage : public Usage {
 public:
  explicit LinuxUsage(const LinuxTarget& target);

  bool knows(Path entry) const override;
  Result<std::vector<Use>> of(const std::vector<Path>& entries, const Call& call) override;

 private:
  const std::string netns_path_;
  const bool counts_classes_;
  const bool sees_queue_pairs_;
};

}  // namespace lockstep
