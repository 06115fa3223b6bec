#include "drivers/frr/speaker.hpp"

#include <algorithm>
#include <charconv>

#include "specs/model/printable.hpp"

namespace lockstep::frr {
namespace {

// BGP_DEFAULT_KEEPALIVE and _HOLDTIME of bgpd/bgpd.h, and the datacenter profile's of bgpd/bgp_vty.c.
constexpr Timers kTraditional{60, 180};
constexpr Timers kDatacenter{3, 9};
// MULTIPATH_NUM of configure.ac if --enable-multipath is not given.
constexpr std::int64_t kMultipathDefault = 16;

using Words = std::vector<std::string_view>;

std::optional<std::int64_t> number(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<Timers> timers_at(const Words& words, std::size_t first) {
  if (words.size() < first + 2) return std::nullopt;
  const auto keepalive = number(words[first]);
  const auto hold = number(words[first + 1]);
  if (!keepalive || !hold) return std::nullopt;
  return Timers{*keepalive, *hold};
}

bool has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Neighbours and peer groups while a router block is read: a member inherits what it does not set from its
// group.
class Neighbors {
 public:
  void take(const Words& words) {
    if (words.size() < 3) return;
    KnownLine& entry = at(words[1]);
    const std::string_view what = words[2];
    if (what == "interface") {
      entry.unnumbered = true;
      for (std::size_t i = 3; i + 1 < words.size(); ++i) {
        if (words[i] == "remote-as") entry.it.remote_as = words[i + 1];
        if (words[i] == "peer-group") entry.it.group = words[i + 1];
      }
    } else if (what == "remote-as" && words.size() > 3) {
      entry.it.remote_as = words[3];
    } else if (what == "peer-group" && words.size() > 3) {
      entry.it.group = words[3];
    } else if (what == "timers" && words.size() > 3 && words[3] != "connect") {
      entry.it.own_timers = timers_at(words, 3);
    } else if (what == "shutdown") {
      entry.it.shutdown = true;
    } else if (what == "bfd") {
      take_bfd(entry.it, words);
    }
  }

  void activate(std::string_view name, bool on) { at(name).activated = on; }

  std::vector<Neighbor> unnumbered(const Timers& default_timers, bool activated_by_default) {
    std::vector<Neighbor> out;
    for (const KnownLine& entry : entries_) {
      if (!entry.unnumbered) continue;
      Neighbor one = entry.it;
      const KnownLine* const group = find(one.group);
      if (one.remote_as.empty() && group != nullptr) one.remote_as = group->it.remote_as;
      if (!one.bfd && group != nullptr) one.bfd = group->it.bfd;
      if (group != nullptr && group->it.shutdown) one.shutdown = true;
      const auto inherited = group != nullptr ? group->it.own_timers : std::nullopt;
      one.usual_timers = inherited.value_or(default_timers);
      one.timers = one.own_timers.value_or(one.usual_timers);
      const auto group_active = group != nullptr ? group->activated : std::nullopt;
      one.activated = entry.activated ? *entry.activated : group_active.value_or(activated_by_default);
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  struct KnownLine {
    Neighbor it;
    bool unnumbered = false;
    std::optional<bool> activated;
  };

  // "neighbor X bfd", "neighbor X bfd profile P", "neighbor X bfd 3 300 300" (old form of the timers).
  static void take_bfd(Neighbor& one, const Words& words) {
    if (words.size() > 4 && words[3] == "profile")
      one.bfd = std::string(words[4]);
    else if (!one.bfd)
      one.bfd = std::string(kNoProfile);
  }

  const KnownLine* find(std::string_view name) const {
    for (const KnownLine& entry : entries_)
      if (entry.it.interface == name) return &entry;
    return nullptr;
  }
  KnownLine& at(std::string_view name) {
    for (KnownLine& entry : entries_)
      if (entry.it.interface == name) return entry;
    entries_.emplace_back();
    entries_.back().it.interface = name;
    return entries_.back();
  }
  std::vector<KnownLine> entries_;
};

void take_ipv4_unicast(const ConfigLine& block, Speaker& speaker, Neighbors& neighbors) {
  for (const ConfigLine& line : block.children) {
    const Words words = words_of(line.text);
    if (words.empty()) continue;
    if (words[0] == "neighbor" && words.size() == 3 && words[2] == "activate")
      neighbors.activate(words[1], true);
    else if (words[0] == "no" && words.size() == 4 && words[1] == "neighbor" && words[3] == "activate")
      neighbors.activate(words[2], false);
    else if (words[0] == "maximum-paths" && words.size() == 2)
      speaker.max_paths = number(words[1]).value_or(speaker.max_paths);
    else if (words[0] == "redistribute" && words.size() > 1)
      speaker.redistribute.emplace_back(words[1]);
  }
}

void take_aggregates(const ConfigLine& block, Speaker& speaker) {
  for (const ConfigLine& line : block.children) {
    const Words words = words_of(line.text);
    if (words.size() > 2 && words[0] == "aggregate-address" && has(words, "summary-only"))
      speaker.aggregates.emplace_back(words[1]);
  }
}

// A line of the router block itself. True: `no bgp default ipv4-unicast`.
void take_router_line(std::string_view line, Speaker& speaker, Neighbors& neighbors, bool& activated) {
  const Words words = words_of(line);
  if (words.size() > 1 && words[0] == "neighbor") {
    neighbors.take(words);
  } else if (line.starts_with("bgp router-id ")) {
    speaker.router_id = words.back();
  } else if (line == "bgp graceful-shutdown") {
    speaker.graceful_shutdown = true;
  } else if (begins_with_words(line, "bgp bestpath as-path multipath-relax")) {
    speaker.multipath_relax = true;
  } else if (line == "bgp ebgp-requires-policy") {
    speaker.requires_policy = true;
  } else if (line == "no bgp ebgp-requires-policy") {
    speaker.requires_policy = false;
  } else if (line == "no bgp default ipv4-unicast") {
    activated = false;
  } else if (line.starts_with("timers bgp ")) {
    speaker.default_timers = timers_at(words, 2).value_or(speaker.default_timers);
  }
}

}  // namespace

Timers agreed_alone(const Timers& proposed) {
  const std::int64_t longest = proposed.hold_s / 3;
  const bool shortened = proposed.keepalive_s == 0 || proposed.keepalive_s > longest;
  return {shortened ? longest : proposed.keepalive_s, proposed.hold_s};
}

const Neighbor* Speaker::neighbor(std::string_view interface) const {
  for (const Neighbor& one : neighbors)
    if (one.interface == interface) return &one;
  return nullptr;
}

std::int64_t max_paths_built_in(std::string_view show_version) {
  constexpr std::string_view kOption = "--enable-multipath=";
  const std::size_t at = show_version.find(kOption);
  if (at == show_version.npos) return kMultipathDefault;
  const std::string_view rest = show_version.substr(at + kOption.size());
  return number(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(kMultipathDefault);
}

std::string version_in(std::string_view show_version) {
  constexpr std::string_view kName = "FRRouting ";
  if (!show_version.starts_with(kName)) return {};
  constexpr std::size_t kMost = 40;  // a choice: theirs have some ten
  const std::string_view rest = show_version.substr(kName.size(), kMost);
  return printable(std::string(rest.substr(0, rest.find_first_of(" \n"))));
}

std::optional<Speaker> speaker_of(const RunningConfig& config, std::int64_t max_paths_default) {
  const bool datacenter = config.defaults == "datacenter";
  for (const ConfigLine& block : config.lines) {
    const Words header = words_of(block.text);
    if (header.size() != 3 || header[0] != "router" || header[1] != "bgp") continue;  // 5 words: another VRF
    Speaker speaker;
    speaker.asn = number(header[2]).value_or(0);
    speaker.header = block.text;
    speaker.requires_policy = !datacenter;
    speaker.max_paths = max_paths_default;
    speaker.default_timers = datacenter ? kDatacenter : kTraditional;
    bool activated = true;
    Neighbors neighbors;
    for (const ConfigLine& line : block.children) {
      if (line.text == "address-family ipv4 unicast") take_ipv4_unicast(line, speaker, neighbors);
      if (line.text.starts_with("address-family ")) take_aggregates(line, speaker);
      if (!line.text.starts_with("address-family "))
        take_router_line(line.text, speaker, neighbors, activated);
    }
    speaker.neighbors = neighbors.unnumbered(speaker.default_timers, activated);
    return speaker;
  }
  return std::nullopt;
}

std::vector<BfdProfile> bfd_profiles_of(const RunningConfig& config) {
  std::vector<BfdProfile> out;
  const ConfigLine* const bfd = config.find("bfd");
  if (bfd == nullptr) return out;
  for (const ConfigLine& block : bfd->children) {
    const Words header = words_of(block.text);
    if (header.size() != 2 || header[0] != "profile") continue;
    BfdProfile profile{.name = std::string(header[1])};
    for (const ConfigLine& line : block.children) {
      const Words words = words_of(line.text);
      if (words.size() != 2) continue;
      if (words[0] == "transmit-interval")
        profile.transmit_ms = number(words[1]).value_or(profile.transmit_ms);
      if (words[0] == "receive-interval") profile.receive_ms = number(words[1]).value_or(profile.receive_ms);
      if (words[0] == "detect-multiplier") profile.multiplier = number(words[1]).value_or(profile.multiplier);
    }
    out.push_back(std::move(profile));
  }
  return out;
}

}  // namespace lockstep::frr
