#include "drivers/linux/rdma/map.hpp"

namespace lockstep::rdma_map {

std::string native(const Change& change) {
  const std::string port(change.path.key(0));
  const std::string want = change.want.to_string();
  const std::string ecn = "/sys/class/net/" + port + "/ecn/";
  if (change.path.row() == kRoceTos) return "cma_roce_tos -t " + want + " -d DEVICE  # that of " + port;
  if (change.path.row() == kCnpDscp) return "echo " + want + " > " + ecn + "roce_np/cnp_dscp";
  const std::string on = want == "none" ? "0" : "1";
  return "echo " + on + " | tee " + ecn + "roce_np/enable/* " + ecn + "roce_rp/enable/*";
}

}  // namespace lockstep::rdma_map
