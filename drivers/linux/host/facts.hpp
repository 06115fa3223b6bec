// What a host is set to, as facts to print: every entry of host readiness that can be read, and why the
// others can't.
//
// Promises: changes nothing. What is only looked for by name (packages, services, firmware) is not among
// them. Refuses nothing.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/driver.hpp"
#include "drivers/linux/host/files.hpp"

namespace lockstep {

struct HostFact {
  std::string what;     // "cpu/governor"; entries of one row with a key are one fact: "kernel/module[*]"
  std::string value;    // empty: not read
  std::string missing;  // why
};

std::vector<HostFact> host_facts(const LinuxTarget& target, const Call& call);

// How devices reach memory (/sys/kernel/iommu_groups/*/type, Documentation/ABI/testing/
// sysfs-kernel-iommu_groups: identity is pass-through): "none", "identity (96 groups)".
std::string iommu_text(const HostFiles& files);

}  // namespace lockstep
