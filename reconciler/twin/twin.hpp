// A twin: a live copy of a layout on this machine. Up, status, down, a daemon started again, a command
// inside.
//
// Promises: up() returns when every daemon answers, or with an error and nothing left behind; a stop, or the
// caller's own death, before that undoes everything. up() of a twin that runs makes of it what is asked for:
// what is new or lost is made, what is not asked for any more is taken away, and what stays keeps its
// processes, interfaces and traffic; a daemon that has ended is the reconciler's to start. Where that fails
// or is stopped, the twin stays up with what was taken away gone and nothing new, and up() goes on from
// there. down() leaves nothing, whatever state the twin was in, and succeeds when there is none. Two clusters
// never touch each other, and no other user of this machine reaches a twin. Interfaces are made DOWN and
// bare: links, addresses, MTU, sysctls, queues and BGP are the reconciler's work. Refuses: to give a twin
// that runs LLDP or another FRR profile (conflict); folders that are links or belong to another user, which
// stay as they are. Needs root.
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
  // FRR's defaults: "datacenter" (BGP timers 3/9 s, connect retry 10 s, advertisement at once) or
  // "traditional".
  std::string frr_profile = "datacenter";
  std::chrono::milliseconds ready_within{60'000};
  std::string executable = "/proc/self/exe";  // becomes the supervisor: see kSupervisorWord
};

struct TwinProgress {
  // "namespaces", "cables", "daemons"; "taken away"; "cleaning": a dead twin's remains, `text` says which
  std::string step;
  std::size_t done = 0;
  std::size_t of = 0;
  std::string text;
};
using TwinProgressSink = std::function<void(const TwinProgress&)>;

struct TwinHandle {
  std::string cluster;
  bool was_up = false;  // it ran already
  pid_t supervisor = -1;
  std::chrono::milliseconds took{0};
  std::vector<std::string> cleaned{};  // what a dead twin had left and was taken away first
  // Of one that ran: what it was given and what was taken from it, as piece_text() has them.
  std::vector<std::string> made{};
  std::vector<std::string> gone{};
  std::uint64_t link_rate = 0;  // bit/s
  std::uint64_t link_rate_was = 0;

  bool changed() const { return !made.empty() || !gone.empty() || link_rate != link_rate_was; }
};

// Nothing was there: `was_up` false and `cleaned` empty.
struct TwinGone {
  bool was_up = false;
  bool killed = false;               // the supervisor did not answer and was killed
  std::vector<std::string> cleaned;  // remains that no supervisor was left to take away
};

Result<TwinHandle> up(const TwinLayout& layout, const TwinOptions& options, const TwinProgressSink& progress,
                      const std::stop_token& stop);
// A twin that is not there is `refused`; one whose supervisor has died is a report with alive = false.
Result<TwinReport> status(const std::string& cluster);
// As it was written down, whether the twin lives or not; none: there is no twin of this user's.
std::optional<TwinRecord> recorded_twin(const std::string& cluster);
// status() with the cables that a twin has lost: every device is entered.
Result<TwinReport> examine(const std::string& cluster);
// A supervisor that has not answered within `patience` (busy starting a daemon again, it may take 5 s) is
// killed.
Result<TwinGone> down(const std::string& cluster,
                      std::chrono::milliseconds patience = std::chrono::milliseconds(8000));

// Ends what is left of a daemon, which may be dead or hang, and starts it. Returns when it answers and has
// been told the saved configuration.
Result<Done> restart_daemon(const std::string& cluster, const std::string& device, const std::string& daemon);

// Becomes `argv` inside the device: its network, its host name, its own /sys, and its FRR run and
// configuration directories where vtysh looks for them. Returns only if that failed.
Error exec(const std::string& cluster, const std::string& device, const std::vector<std::string>& argv);

}  // namespace lockstep
