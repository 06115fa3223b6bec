// A twin: a live copy of a layout on this machine. Bring it up, show its status, take it down, restart a
// daemon, run a command inside.
//
// Promises: up() returns when every daemon answers, or with an error and nothing left behind; a stop, or the
// caller's own death, before that undoes everything. up() of a running twin changes it to the requested
// layout: new or lost parts are created, parts that are no longer requested are removed, and the others keep
// their processes, interfaces and traffic; starting a daemon that has ended is the reconciler's work. If that
// fails or is stopped, the twin stays up without the removed parts and without new ones, and up() continues
// from there. down() leaves nothing, whatever state the twin was in, and succeeds if there is none. Two
// clusters never interfere, and no other user of this machine has access to a twin. Interfaces are created
// DOWN and bare: links, addresses, MTU, sysctls, queues and BGP are the reconciler's work. Refuses: to change
// LLDP or the FRR profile of a running twin (conflict); folders that are links or belong to another user,
// which are left unchanged. Needs root.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "reconciler/twin/layout.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/state.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct TwinOptions {
  std::string name{};  // see TwinRecord
  std::string folder{};
  std::uint64_t link_rate = kTwinLinkRate;
  bool lldp = true;
  bool agents = false;  // see TwinRecord
  // FRR's defaults: "datacenter" (BGP timers 3/9 s, connect retry 10 s, advertisement at once) or
  // "traditional".
  std::string frr_profile = "datacenter";
  std::chrono::milliseconds ready_within{60'000};
  std::string executable = "/proc/self/exe";  // runs as the supervisor: see kSupervisorWord
};

struct TwinProgress {
  // "namespaces", "cables", "daemons"; "taken away"; "cleaning": remains of a dead twin, listed in `text`
  std::string step;
  std::size_t done = 0;
  std::size_t of = 0;
  std::string text;
};
using TwinProgressSink = std::function<void(const TwinProgress&)>;

struct TwinHandle {
  std::string cluster;
  bool was_up = false;  // it was already running
  pid_t supervisor = -1;
  std::chrono::milliseconds took{0};
  std::vector<std::string> cleaned{};  // remains of a dead twin that were removed first
  // For a running twin: the parts that were created and removed, as piece_text() shows them.
  std::vector<std::string> made{};
  std::vector<std::string> gone{};
  std::uint64_t link_rate = 0;  // bit/s
  std::uint64_t link_rate_was = 0;

  bool changed() const { return !made.empty() || !gone.empty() || link_rate != link_rate_was; }
};

// If there was nothing: `was_up` is false and `cleaned` empty.
struct TwinGone {
  bool was_up = false;
  bool killed = false;               // the supervisor did not answer and was killed
  std::vector<std::string> cleaned;  // remains that were removed without a supervisor
};

Result<TwinHandle> up(const TwinLayout& layout, const TwinOptions& options, const TwinProgressSink& progress,
                      const std::stop_token& stop);
// A twin that does not exist is `refused`; one whose supervisor has died is a report with alive = false.
Result<TwinReport> status(const std::string& cluster);
// As recorded, whether the twin runs or not; none: this user has no such twin.
std::optional<TwinRecord> recorded_twin(const std::string& cluster);
// status() with the twin's lost cables: enters every device.
Result<TwinReport> examine(const std::string& cluster);
// A supervisor that does not answer within `patience` (restarting a daemon can take 5 s) is killed.
Result<TwinGone> down(const std::string& cluster,
                      std::chrono::milliseconds patience = std::chrono::milliseconds(8000));

// Ends what is left of a daemon, which may be dead or hang, and starts it. Returns when it answers and has
// loaded the saved configuration.
Result<Done> restart_daemon(const std::string& cluster, const std::string& device, const std::string& daemon);

// Delays the management path of a device with an agent, each way; zero: as it was.
Result<Done> set_management_delay(const std::string& cluster, const std::string& device,
                                  std::chrono::milliseconds delay);

// Becomes `argv` inside the device: its network, its host name, its own /sys, and its FRR run and
// configuration directories where vtysh looks for them. Returns only if that failed.
Error exec(const std::string& cluster, const std::string& device, const std::vector<std::string>& argv);

}  // namespace lockstep
