// A part of the linux driver: one subsystem of the kernel (DCB, devlink, RDMA, the host's own settings) and
// the rows that it alone implements. Parts are listed in parts.cpp; each has a folder of its own here.
//
// Contract of every part: it is called in the target's network namespace, one call at a time; read never
// changes anything and reports what it could not read; apply makes the given changes in the given order and
// returns an outcome for each; what is not requested is left alone. A change that the kernel acknowledged and
// did not make is an error, not a success: where the kernel hides refusals (dcbnl), the part reads back.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/driver.hpp"
#include "drivers/linux/kernel_state.hpp"

namespace lockstep {

class LinuxPart {
 public:
  virtual ~LinuxPart() = default;
  virtual std::vector<RowId> reads() const = 0;
  virtual std::vector<RowId> writes() const = 0;  // a subset of reads()
  // What this machine or one of its ports does not support of the rows that the scope wants (and perhaps of
  // others), in the kernel's own words. Only queries. What could not be determined is left out, and the rest
  // is complete: read() reports why.
  virtual std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>& ports,
                                           const Call& call) = 0;
  // The entries of the rows that the scope wants.
  virtual void read(const Scope& scope, const std::vector<Link>& ports, TreeBuilder& tree,
                    std::vector<Unread>& unread, const Call& call) = 0;
  // Describes other agents involved in the part's settings, as seen by the last read().
  virtual std::vector<std::string> notes() const { return {}; }
  // Changes of this part's rows that follow each other in one apply. One outcome each; none: done.
  virtual std::vector<std::optional<Error>> apply(const ChangeSet& changes, const std::vector<Link>& ports,
                                                  const Call& call) = 0;
  // Remedies for effects of this part; null: there are none.
  virtual Remedy* remedy() { return nullptr; }
  // One change as a command of the usual tool ("dcb pfc set dev rail0 prio-pfc 3:on").
  virtual std::string native(const Change& change) const = 0;
};

// All parts, for one target.
using LinuxParts = std::vector<std::unique_ptr<LinuxPart>>;
LinuxParts linux_parts(const LinuxTarget& target);

}  // namespace lockstep
