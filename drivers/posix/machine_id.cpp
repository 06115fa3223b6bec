#include "drivers/posix/machine_id.hpp"

#include <fstream>

namespace lockstep {

std::string machine_id() {
  for (const char* const file : {"/etc/machine-id", "/proc/sys/kernel/random/boot_id"}) {
    std::ifstream in(file);
    std::string id;
    // A machine that was never booted has an empty file, or "uninitialized" (machine-id(5)).
    if (std::getline(in, id) && !id.empty() && id != "uninitialized") return id;
  }
  return "unknown";
}

}  // namespace lockstep
