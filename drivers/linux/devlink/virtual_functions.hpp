// How many virtual functions (SR-IOV) a port's device has, by sriov_numvfs in its folder in sysfs.
//
// The folder is found by the device that rtnetlink names as the port's parent, never by the port's name: of a
// network namespace's ports sysfs tells another's. Promises: a count is read back. The kernel takes a change
// from one count to another only by way of none (EBUSY, drivers/pci/iov.c), so that all virtual functions go
// first; where the new count is refused the old one is put back. Refuses a count above sriov_totalvfs, where
// the device tells that. Source: Documentation/ABI/testing/sysfs-bus-pci.
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
  Result<std::optional<std::uint32_t>> most() const;  // none: not told
  Result<Done> set(std::uint32_t count) const;

 private:
  HostFiles files_;
  std::string folder_;
};

}  // namespace lockstep::devlink
