// What a machine says of itself: its kernel and distribution, its maker's names for it, and the version of
// its GPUs' driver.
//
// Sources: os-release(5); /sys/class/dmi/id (Documentation/ABI/testing/sysfs-firmware-dmi-tables; the serial
// number is for root alone); /proc/sys/kernel/osrelease; /sys/module/MODULE/version. Promises: a handful of
// small files, and no GPU is woken; what can't be read is left out, and what is said is bounded and
// printable.
#pragma once

#include "drivers/linux/host/files.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

// "kernel", "os", "vendor", "model", "serial", "firmware", "gpuDriver".
// `shared`: the device is a part of the machine (a network namespace), which is not the maker's.
Facts machine_facts(const HostFiles& files, bool shared);

}  // namespace lockstep
