// A part of the linux driver: one subsystem of the kernel (DCB, devlink, RDMA, the host's own settings)
// behind the rows that it alone carries. Parts are listed in parts.cpp; each has a folder of its own here.
//
// Promises asked of every part: it is called in the target's network namespace, one call at a time; read
// never changes anything and says what it could not read; apply does what it is given in the order given and
// answers for each change; what is not asked for is left alone. A change that the kernel acknowledged and did
// not make is an error, not a success: where the kernel hides refusals (dcbnl), the part reads back.
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
  // What this machine or a port of it lacks of those of the rows that the scope wants (and perhaps of
  // others), in the kernel's own words. Asks, changes nothing. What could not be asked is left out, and the
  // rest is complete: read() says why.
  virtual std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>& ports,
                                           const Call& call) = 0;
  // The entries of the rows that the scope wants.
  virtual void read(const Scope& scope, const std::vector<Link>& ports, TreeBuilder& tree,
                    std::vector<Unread>& unread, const Call& call) = 0;
  // What the last read() saw of others that have a hand in it, in words.
  virtual std::vector<std::string> notes() const { return {}; }
  // Changes of this part's rows that follow each other in one apply. One answer each; none: done.
  virtual std::vector<std::optional<Error>> apply(const ChangeSet& changes, const std::vector<Link>& ports,
                                                  const Call& call) = 0;
  // What cures effects of this part; null: nothing does.
  virtual Remedy* remedy() { return nullptr; }
  // One change in words of the tool that a person would use ("dcb pfc set dev rail0 prio-pfc 3:on").
  virtual std::string native(const Change& change) const = 0;
};

// All parts, for one target.
using LinuxParts = std::vector<std::unique_ptr<LinuxPart>>;
LinuxParts linux_parts(const LinuxTarget& target);

}  // namespace lockstep
