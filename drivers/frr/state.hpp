// State: the result of one observation of a device's FRR, before it is translated into entries.
//
// Promises: read() only queries, never writes; a daemon that does not answer leaves its part empty with the
// error beside it, and uses up only its own time limit, not the whole call's. Refuses nothing: what can't be
// read is reported, not guessed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drivers/frr/speaker.hpp"
#include "drivers/frr/vty.hpp"

namespace lockstep::frr {

struct BgpState {
  std::string version;  // of FRR: "8.4.4"; empty: it did not say
  RunningConfig config;
  std::int64_t max_paths_default = 0;
  std::optional<Speaker> speaker;
  std::map<std::string, std::string> sessions;  // by interface: "established", "idle", ...; kSessionNoPolicy
  std::map<std::string, Timers> in_use;  // by interface, of established sessions: the negotiated timers
};

struct BfdState {
  RunningConfig config;
  std::vector<BfdProfile> profiles;
  std::map<std::string, std::string> sessions;  // by interface: "up", "down", "init", "shutdown"

  const BfdProfile* profile(std::string_view name) const;
};

// RFC 8212: the session is up and every route on it is discarded, although the configuration is as desired.
inline constexpr std::string_view kSessionNoPolicy = "established, routes discarded: no policy";
// The neighbour is configured but IPv4 unicast is not activated on it.
inline constexpr std::string_view kSessionInactive = "not activated";
inline constexpr std::string_view kEstablished = "established";
inline constexpr std::string_view kBfdUp = "up";
inline constexpr std::string_view kBfdNone = "no session";

inline constexpr std::string_view kRunning = "running";

struct State {
  std::map<std::string, std::string> daemons;  // by name: kRunning, "bgpd does not run" or "... not answer"
  std::optional<Error> daemons_error;          // why some are missing: permission denied, or stopped
  std::optional<BgpState> bgp;
  std::optional<BfdState> bfd;
  std::optional<Error> bgp_error;
  std::optional<Error> bfd_error;
  std::optional<bool> saved;         // whether the next start loads what runs (saved.hpp)
  std::string unsaved;               // the difference between saved and running
  std::optional<Error> saved_error;  // why `saved` is unknown
};

struct Wanted {
  bool bgp = true;
  bool bfd = true;
  bool effects = true;  // session states too
  bool daemons = true;  // whether each daemon answers
  bool saved = true;    // whether what they run is saved
};

inline constexpr Wanted kNothing{
    .bgp = false, .bfd = false, .effects = false, .daemons = false, .saved = false};

State read(const std::string& run_dir, const Wanted& wanted, const Call& call);

// `show running-config` of one daemon, parsed.
Result<RunningConfig> read_config(Vty& vty, const Call& call);

// For tests and read(): the JSON of `show bgp summary json`, `show bgp neighbors json` and `show bfd peers
// json`.
Result<std::map<std::string, std::string>> bgp_sessions_of(std::string_view json);
Result<std::map<std::string, Timers>> bgp_timers_of(std::string_view json);
Result<std::map<std::string, std::string>> bfd_sessions_of(std::string_view json);

}  // namespace lockstep::frr
