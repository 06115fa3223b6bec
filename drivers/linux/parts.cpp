#include "drivers/linux/dcb/part.hpp"
#include "drivers/linux/devlink/part.hpp"
#include "drivers/linux/diversion/part.hpp"
#include "drivers/linux/ethtool/part.hpp"
#include "drivers/linux/host/host_part.hpp"
#include "drivers/linux/rdma/part.hpp"

namespace lockstep {

LinuxParts linux_parts(const LinuxTarget& target) {
  LinuxParts out;
  out.push_back(make_dcb_part(target.root, !target.software_rate));
  out.push_back(make_devlink_part(target));
  out.push_back(make_diversion_part(target));
  out.push_back(make_ethtool_part());
  out.push_back(make_rdma_part(target));
  out.push_back(host_part(target));
  return out;
}

}  // namespace lockstep
