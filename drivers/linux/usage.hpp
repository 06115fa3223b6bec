// LinuxUsage: what uses a traffic class of a port (the driver's own counters of its priorities), or the MTU
// of a port that sends RoCE (queue pairs that are connected: rdma/nldev.hpp).
//
// Promises: each call enters the namespace anew, and changes nothing. Refuses to tell of classes that are
// made by software, none of which is lossless, and, in a network namespace of this machine, of queue pairs,
// as RDMA is the machine's. `unsupported`: a class of a port whose driver counts no packets by priority, as
// mlx5, bnxt_en and mlxsw do; the MTU of a port that no RDMA device names as its own, where there are some.
#pragma once

#include <string>

#include "drivers/driver.hpp"
#include "drivers/linux/driver.hpp"

namespace lockstep {

class LinuxUsage : public Usage {
 public:
  explicit LinuxUsage(const LinuxTarget& target);

  bool knows(Path entry) const override;
  Result<Use> of(Path entry, const Call& call) override;

 private:
  const std::string netns_path_;
  const bool has_lossless_classes_;
  const bool sees_queue_pairs_;
};

}  // namespace lockstep
