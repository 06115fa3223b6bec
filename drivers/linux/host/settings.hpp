// All settings of a host, each made for one target. What each reads and writes is said in its own file.
#pragma once

#include <memory>

#include "drivers/linux/driver.hpp"
#include "drivers/linux/host/files.hpp"
#include "drivers/linux/host/pci.hpp"
#include "drivers/linux/host/setting.hpp"

namespace lockstep {

using OneSetting = std::unique_ptr<HostSetting>;
using SharedPci = std::shared_ptr<PciScan>;

OneSetting governor_setting(HostFiles files);
OneSetting irq_affinity_setting(HostFiles files, SharedPci pci);
OneSetting pcie_setting(HostFiles files, SharedPci pci);
OneSetting memlock_setting(HostFiles files);
OneSetting nccl_setting(HostFiles files);
OneSetting kernel_setting(HostFiles files);
OneSetting packages_setting(HostFiles files);
OneSetting services_setting(HostFiles files);
OneSetting firmware_setting(HostFiles files, SharedPci pci);
OneSetting gpu_setting(const LinuxTarget& target, SharedPci pci);

}  // namespace lockstep
