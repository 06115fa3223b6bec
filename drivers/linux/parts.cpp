#include "drivers/linux/dcb/part.hpp"

namespace lockstep {

std::vector<std::unique_ptr<LinuxPart>> linux_parts(const LinuxTarget& target) {
  std::vector<std::unique_ptr<LinuxPart>> out;
  out.push_back(make_dcb_part(target.root));
  return out;
}

}  // namespace lockstep
