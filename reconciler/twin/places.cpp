#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {
constexpr std::string_view kNetns = "/run/netns/";  // ip-netns(8)
}  // namespace

DevicePlaces places(std::string_view cluster, std::string_view device) {
  DevicePlaces out;
  out.netns = "ls-" + std::string(cluster) + "-" + std::string(device);
  out.netns_path = std::string(kNetns) + out.netns;
  out.run_dir = twin_places(cluster).run_dir + "/" + std::string(device);
  out.lldpd_socket = out.run_dir + "/lldpd.sock";
  out.frr_config = out.run_dir + "/frr.conf";
  out.zserv_socket = out.run_dir + "/zserv.api";
  out.agent_dir = twin_places(cluster).supervisor_dir + "/agents/" + std::string(device);
  return out;
}

TwinPlaces twin_places(std::string_view cluster) {
  TwinPlaces out;
  out.run_dir = std::string(kTwinsDir) + "/" + std::string(cluster);
  out.supervisor_dir = out.run_dir + "/.supervisor";
  out.lock = out.supervisor_dir + "/lock";
  out.record = out.supervisor_dir + "/record.json";
  out.control = out.supervisor_dir + "/control";
  out.log = out.supervisor_dir + "/log";
  out.pki = out.supervisor_dir + "/pki";
  return out;
}

}  // namespace lockstep
