#include "drivers/linux/rdma/map.hpp"

namespace lockstep::rdma_map {
namespace {

std::string ecn_folder(const Change& change) {
  return "/sys/class/net/" + std::string(change.path.key(0)) + "/ecn/";
}

}  // namespace

std::string cnp_dscp_words(const Change& change) {
  return "echo " + change.want.to_string() + " > " + ecn_folder(change) + "roce_np/cnp_dscp";
}

std::string cnp_priority_words(const Change& change) {
  return "echo " + change.want.to_string() + " > " + ecn_folder(change) + "roce_np/cnp_802p_prio";
}

std::string control_words(const Change& change) {
  const std::string on = change.want.to_string() == "none" ? "0" : "1";
  const std::string ecn = ecn_folder(change);
  return "echo " + on + " | tee " + ecn + "roce_np/enable/* " + ecn + "roce_rp/enable/*";
}

std::string dcqcn_words(const Change& change, const rdma::DcqcnParameter& one) {
  const bool on = change.want == Value::boolean(true);
  const std::string number = one.is_switch ? (on ? "1" : "0") : change.want.to_string();
  return "echo " + number + " > " + ecn_folder(change) + std::string(one.file.ofed);
}

std::string tos_words(const Change& change) {
  return "cma_roce_tos -t " + change.want.to_string() + " -d DEVICE  # that of " +
         std::string(change.path.key(0));
}

std::string lacking(const MapRow& one, const HostFiles& files, const rdma::RocePort& port) {
  if (port.link_layer == "InfiniBand")
    return rdma::name_of(port) + " is InfiniBand: RoCE's settings are not its";
  return one.lacking(files, port);
}

}  // namespace lockstep::rdma_map
