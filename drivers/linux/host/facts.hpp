// A host's settings, as facts to print: every entry of host readiness that can be read, and the reason for
// those that can't.
//
// Promises: changes nothing. Entries that are only read by name (packages, services, firmware) are not
// included. Refuses nothing.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/driver.hpp"
#include "drivers/linux/host/files.hpp"

namespace lockstep {

struct HostFact {
  std::string what;     // "cpu/governor"; entries of one row with a key are one fact: "kernel/module[*]"
  std::string value;    // empty: not read
  std::string missing;  // the reason
};

std::vector<HostFact> host_facts(const LinuxTarget& target, const Call& call);

// How devices access memory (/sys/kernel/iommu_groups/*/type, Documentation/ABI/testing/
// sysfs-kernel-iommu_groups: identity is pass-through): "none", "identity (96 groups)".
std::string iommu_text(const HostFiles& files);

}  // namespace lockstep
