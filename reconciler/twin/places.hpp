// Where the pieces of a twin are on this machine: one function of names, no I/O.
//
// Promises: the same answer whether the twin is up or not; no two devices of any two twins share a place;
// every unix socket path fits in sockaddr_un (108 bytes, unix(7)) for names that validate() passes.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

inline constexpr std::string_view kTwinsDir = "/run/lockstep/twin";

struct DevicePlaces {
  std::string netns;       // "ls-pod1-leaf0": what `ip netns` shows
  std::string netns_path;  // /run/netns/ls-pod1-leaf0
  // Sockets, pid files, logs and configuration of the device's daemons; a switch's is user frr's.
  std::string run_dir;
  std::string lldpd_socket;  // lldpcli -u
  std::string zserv_socket;  // zebra's client socket
  std::string frr_config;    // the integrated frr.conf: what is saved there is told to a daemon started again

  // A daemon's vty socket, its configuration file ("write" on the vty saves there, a restart reads it) and
  // log.
  std::string vty_socket(std::string_view daemon) const { return in_run_dir(daemon, ".vty"); }
  std::string config_file(std::string_view daemon) const { return in_run_dir(daemon, ".conf"); }
  std::string log_file(std::string_view daemon) const { return in_run_dir(daemon, ".log"); }

 private:
  std::string in_run_dir(std::string_view daemon, std::string_view suffix) const {
    return run_dir + "/" + std::string(daemon) + std::string(suffix);
  }
};

struct TwinPlaces {
  std::string run_dir;         // /run/lockstep/twin/pod1
  std::string supervisor_dir;  // .../.supervisor: what follows is in it; a device can't have that name
  std::string lock;
  std::string record;   // the layout and the supervisor's identity, written before anything is made
  std::string control;  // unix socket, JSON lines
  std::string log;
};

DevicePlaces places(std::string_view cluster, std::string_view device);
TwinPlaces twin_places(std::string_view cluster);

}  // namespace lockstep
