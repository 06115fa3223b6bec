#include "drivers/frr/state.hpp"

#include <algorithm>

#include "drivers/frr/json_at.hpp"
#include "specs/model/bounded_json.hpp"

namespace lockstep::frr {
namespace {

using Json = nlohmann::json;

// A daemon answers in 1 to 3 ms (README.md); one that has not answered in this time is reported as not
// answering. Arbitrary: even three hanging daemons stay below an observation's usual 10 s; watchfrr(8) waits
// 10 s for each.
constexpr std::chrono::milliseconds kPatience{3000};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::optional<std::int64_t> seconds_at(const Json& object, const char* milliseconds) {
  const auto found = integer_at(object, milliseconds);
  return found ? std::optional(*found / 1000) : std::nullopt;
}

Result<Json> parse_json(std::string_view text, const char* command) {
  // "% No BGP neighbors found in VRF default" may precede the object.
  const std::size_t start = text.find_first_of("{[");
  if (start == text.npos) return Json(Json::object());
  Result<Json> json = parse_bounded_json(text.substr(start));
  if (!json) return Error{ErrorKind::transient, std::string(command) + ": " + json.error().what};
  return json;
}

std::string session_of(const Json& peer) {
  const std::string state = lower(text_at(peer, "state"));
  if (state == kEstablished && text_at(peer, "peerState") == "Policy") return std::string(kSessionNoPolicy);
  return state.empty() ? "unknown" : state.substr(0, state.find(' '));  // "idle (admin)"
}

Result<BgpState> read_bgp(Vty& vty, bool effects, const Call& call) {
  BgpState out;
  TRY(out.config, read_config(vty, call));
  TRY(const std::string version, vty.ask("show version", call));
  out.version = version_in(version);
  out.max_paths_default = max_paths_built_in(version);
  out.speaker = speaker_of(out.config, out.max_paths_default);
  if (effects && out.speaker) {
    TRY(const std::string summary, vty.ask("show bgp summary json", call));
    TRY(out.sessions, bgp_sessions_of(summary));
    TRY(const std::string neighbors, vty.ask("show bgp neighbors json", call));
    TRY(out.in_use, bgp_timers_of(neighbors));
    for (const Neighbor& one : out.speaker->neighbors)
      if (!one.activated) out.sessions[one.interface] = kSessionInactive;
  }
  return out;
}

Result<BfdState> read_bfd(Vty& vty, bool effects, const Call& call) {
  BfdState out;
  TRY(out.config, read_config(vty, call));
  out.profiles = bfd_profiles_of(out.config);
  if (effects) {
    TRY(const std::string peers, vty.ask("show bfd peers json", call));
    TRY(out.sessions, bfd_sessions_of(peers));
  }
  return out;
}

}  // namespace

const BfdProfile* BfdState::profile(std::string_view name) const {
  const auto found =
      std::find_if(profiles.begin(), profiles.end(), [&](const auto& p) { return p.name == name; });
  return found == profiles.end() ? nullptr : &*found;
}

Result<std::map<std::string, std::string>> bgp_sessions_of(std::string_view json) {
  TRY(const Json summary, parse_json(json, "show bgp summary json"));
  std::map<std::string, std::string> out;
  if (!summary.is_object()) return out;
  const auto family = summary.find("ipv4Unicast");
  if (family == summary.end() || !family->is_object()) return out;
  const auto peers = family->find("peers");
  if (peers == family->end() || !peers->is_object()) return out;
  for (const auto& [name, peer] : peers->items())
    if (peer.is_object()) out[name] = session_of(peer);
  return out;
}

Result<std::map<std::string, Timers>> bgp_timers_of(std::string_view json) {
  TRY(const Json neighbors, parse_json(json, "show bgp neighbors json"));
  std::map<std::string, Timers> out;
  if (!neighbors.is_object()) return out;
  for (const auto& [name, peer] : neighbors.items()) {
    if (!peer.is_object() || lower(text_at(peer, "bgpState")) != kEstablished) continue;
    const auto keepalive = seconds_at(peer, "bgpTimerKeepAliveIntervalMsecs");
    const auto hold = seconds_at(peer, "bgpTimerHoldTimeMsecs");
    if (keepalive && hold) out[name] = Timers{*keepalive, *hold};
  }
  return out;
}

Result<std::map<std::string, std::string>> bfd_sessions_of(std::string_view json) {
  TRY(const Json peers, parse_json(json, "show bfd peers json"));
  std::map<std::string, std::string> out;
  if (!peers.is_array()) return out;
  for (const Json& peer : peers) {
    if (!peer.is_object()) continue;
    const std::string interface = text_at(peer, "interface");
    if (interface.empty()) continue;  // multihop: not of an unnumbered neighbour
    const std::string status = text_at(peer, "status");
    std::string& have = out[interface];
    if (have != kBfdUp) have = status;  // a stale peer may remain beside the one that is up
  }
  return out;
}

Result<RunningConfig> read_config(Vty& vty, const Call& call) {
  TRY(const std::string text, vty.ask("show running-config", call));
  auto config = parse_running_config(text);
  if (!config) return wrap(std::string(vty.daemon()), std::move(config.error()));
  return config;
}

namespace {

// Reads one daemon after the other, each as far as wanted.
class StateReading {
 public:
  StateReading(const std::string& run_dir, const Wanted& wanted, const Call& call)
      : run_dir_(run_dir), wanted_(wanted), call_(call) {}

  State take() {
    if (auto bgpd = reach("bgpd", wanted_.bgp, state_.bgp_error))
      keep(read_bgp(*bgpd, wanted_.effects, call_), state_.bgp, state_.bgp_error);
    if (auto bfdd = reach("bfdd", wanted_.bfd, state_.bfd_error))
      keep(read_bfd(*bfdd, wanted_.effects, call_), state_.bfd, state_.bfd_error);
    std::optional<Error> told_by_its_life;
    (void)reach("zebra", false, told_by_its_life);
    return std::move(state_);
  }

 private:
  // Connects to the daemon if something is to be read from it and it answers.
  std::optional<Vty> reach(const char* daemon, bool read, std::optional<Error>& error) {
    if (!read && !wanted_.daemons) return std::nullopt;
    Call own = call_;
    own.deadline = std::min(call_.deadline, std::chrono::steady_clock::now() + kPatience);
    auto vty = Vty::connect(run_dir_, daemon, own);
    if (wanted_.daemons) note_life(daemon, vty);
    if (vty) return read ? std::optional(*std::move(vty)) : std::nullopt;
    if (read) error = std::move(vty.error());
    return std::nullopt;
  }

  void note_life(const std::string& daemon, const Result<Vty>& vty) {
    if (vty)
      state_.daemons[daemon] = kRunning;
    else if (vty.error().kind == ErrorKind::transient)
      state_.daemons[daemon] =
          daemon + (Vty::is_held(run_dir_, daemon) ? " does not answer" : " does not run");
    else
      state_.daemons_error = vty.error();
  }

  template <class T>
  static void keep(Result<T> read, std::optional<T>& place, std::optional<Error>& error) {
    if (read)
      place = *std::move(read);
    else
      error = std::move(read.error());
  }

  const std::string& run_dir_;
  const Wanted& wanted_;
  const Call& call_;
  State state_;
};

}  // namespace

State read(const std::string& run_dir, const Wanted& wanted, const Call& call) {
  return StateReading(run_dir, wanted, call).take();
}

}  // namespace lockstep::frr
