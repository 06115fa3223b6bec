// The number of virtual functions (SR-IOV) of a port's device, from sriov_numvfs in its folder in sysfs.
//
// The folder is found through the device that rtnetlink names as the port's parent, never by the port's name:
// sysfs may show another network namespace's port of that name. Promises: a count is read back. The kernel
// accepts a change from one nonzero count to another only via zero (EBUSY, drivers/pci/iov.c), so all virtual
// functions are removed first; if the new count is refused the old one is restored. Refuses a count above
// sriov_totalvfs, if the device reports that. Source: Documentation/ABI/testing/sysfs-bus-pci.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drivers/linux/host/files.hpp"

namespace lockstep::devlink {

class VirtualFunctions {
 public:
  VirtualFunctions(HostFiles files, const std::string& bus, const std::string& device);

  bool exist() const { return files_.exists(folder_ + "/sriov_numvfs"); }
  Result<std::uint32_t> count() const;
  Result<std::optional<std::uint32_t>> most() const;  // none: not reported
  Result<Done> set(std::uint32_t count) const;

 private:
  HostFiles files_;
  std::string folder_;
};

}  // namespace lockstep::devlink
