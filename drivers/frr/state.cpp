#include "drivers/frr/state.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep::frr {
namespace {

using Json = nlohmann::json;

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<Json> parse_json(std::string_view text, const char* command) {
  // "% No BGP neighbors found in VRF default" may stand before the object.
  const std::size_t start = text.find_first_of("{[");
  Json json = start == text.npos ? Json::object()
                                 : Json::parse(text.substr(start), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{ErrorKind::transient, std::string(command) + ": not JSON"};
  return json;
}

std::string session_of(const Json& peer) {
  const std::string state = lower(text_at(peer, "state"));
  if (state == kEstablished && text_at(peer, "peerState") == "Policy") return std::string(kSessionNoPolicy);
  return state.empty() ? "unknown" : state.substr(0, state.find(' '));  // "idle (admin)"
}

Result<BgpState> read_bgp(const std::string& run_dir, bool effects, const Call& call) {
  TRY(Vty vty, Vty::connect(run_dir, "bgpd", call));
  BgpState out;
  TRY(out.config, read_config(vty, call));
  TRY(const std::string version, vty.ask("show version", call));
  out.max_paths_default = max_paths_built_in(version);
  out.speaker = speaker_of(out.config, out.max_paths_default);
  if (effects && out.speaker) {
    TRY(const std::string summary, vty.ask("show bgp summary json", call));
    TRY(out.sessions, bgp_sessions_of(summary));
    for (const Neighbor& one : out.speaker->neighbors)
      if (!one.activated) out.sessions[one.interface] = kSessionInactive;
  }
  return out;
}

Result<BfdState> read_bfd(const std::string& run_dir, bool effects, const Call& call) {
  TRY(Vty vty, Vty::connect(run_dir, "bfdd", call));
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
    if (have != kBfdUp) have = status;  // an old peer may linger beside the one that is up
  }
  return out;
}

Result<RunningConfig> read_config(Vty& vty, const Call& call) {
  TRY(const std::string text, vty.ask("show running-config", call));
  auto config = parse_running_config(text);
  if (!config) return wrap(std::string(vty.daemon()), std::move(config.error()));
  return config;
}

State read(const std::string& run_dir, const Wanted& wanted, const Call& call) {
  State state;
  if (wanted.bgp) {
    auto bgp = read_bgp(run_dir, wanted.effects, call);
    if (bgp)
      state.bgp = *std::move(bgp);
    else
      state.bgp_error = std::move(bgp.error());
  }
  if (wanted.bfd) {
    auto bfd = read_bfd(run_dir, wanted.effects, call);
    if (bfd)
      state.bfd = *std::move(bfd);
    else
      state.bfd_error = std::move(bfd.error());
  }
  return state;
}

}  // namespace lockstep::frr
