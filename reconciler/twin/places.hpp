// Paths and names of the pieces of a twin on this machine: pure functions of names, no I/O.
//
// Promises: the same answer whether the twin is up or not; no two devices of any two twins share a path;
// every unix socket path fits in sockaddr_un (108 bytes, unix(7)) for names that validate() passes.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

inline constexpr std::string_view kTwinsDir = "/run/lockstep/twin";

struct DevicePlaces {
  std::string netns;       // "ls-pod1-leaf0": what `ip netns` shows
  std::string netns_path;  // /run/netns/ls-pod1-leaf0
  // Sockets, pid files, logs and configuration of the device's daemons; a switch's belongs to user frr.
  std::string run_dir;
  std::string lldpd_socket;  // lldpcli -u
  std::string zserv_socket;  // zebra's client socket
  std::string frr_config;    // the integrated frr.conf, which is loaded into a restarted daemon
  std::string agent_dir;     // lockstep-agent's configuration, credentials and journal; root's alone

  // A daemon's vty socket, its configuration file (written by "write" on the vty, read on restart) and log.
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
  std::string supervisor_dir;  // .../.supervisor, which contains the files below; no device has that name
  std::string lock;
  std::string record;   // the layout and the supervisor's identity, written before anything is created
  std::string control;  // unix socket, JSON lines
  std::string log;
  std::string pki;  // the CA of the agents and the controller's credentials
};

DevicePlaces places(std::string_view cluster, std::string_view device);
TwinPlaces twin_places(std::string_view cluster);

}  // namespace lockstep
