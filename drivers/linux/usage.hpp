// LinuxUsage: what uses a traffic class of a port (the driver's own per-priority counters), or the MTU of a
// port that sends RoCE (connected queue pairs: rdma/nldev.hpp).
//
// Promises: each call enters the namespace anew, and changes nothing. Does not know classes that are
// implemented in software, none of which is lossless, nor, in a network namespace of this machine, queue
// pairs, as RDMA belongs to the machine. `unsupported`: a class of a port whose driver, unlike mlx5, bnxt_en
// and mlxsw, does not count packets by priority; the MTU of a port that no RDMA device names as its own, if
// there are RDMA devices.
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
