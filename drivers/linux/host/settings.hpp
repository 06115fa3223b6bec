// All settings of a host, each made for one target, and the native commands for those that are written. What
// each reads and writes is documented in its own file.
#pragma once

#include <memory>
#include <string>

#include "drivers/linux/driver.hpp"
#include "drivers/linux/host/files.hpp"
#include "drivers/linux/host/pci.hpp"
#include "drivers/linux/host/setting.hpp"

namespace lockstep {

using OneSetting = std::unique_ptr<HostSetting>;
using SharedPci = std::shared_ptr<PciScan>;

OneSetting governor_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting irq_affinity_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting pcie_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting memlock_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting nccl_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting kernel_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting packages_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting services_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting firmware_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting gpu_direct_setting(const LinuxTarget& target, const SharedPci& pci);
OneSetting gpu_setting(const LinuxTarget& target, const SharedPci& pci);

std::string governor_words(const Change& change);
std::string irq_affinity_words(const Change& change);
std::string acs_words(const Change& change);
std::string max_read_request_words(const Change& change);
std::string memlock_words(const Change& change);
std::string nccl_words(const Change& change);
std::string module_words(const Change& change);
std::string service_words(const Change& change);
std::string ecc_words(const Change& change);
std::string persistence_words(const Change& change);

}  // namespace lockstep
