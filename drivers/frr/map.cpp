#include "drivers/frr/map.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "drivers/mapped/map_table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::frr {
namespace {

constexpr RowId kBfdState = row("bgp/neighbor[*]/bfd-state");
constexpr RowId kSession = row("bgp/neighbor[*]/session");
constexpr RowId kSpeaker = row("bgp");
constexpr RowId kNeighbor = row("bgp/neighbor[*]");
constexpr RowId kShutdown = row("bgp/neighbor[*]/shutdown");
constexpr RowId kHoldInUse = row("bgp/neighbor[*]/hold-in-use");
constexpr RowId kKeepaliveInUse = row("bgp/neighbor[*]/keepalive-in-use");
constexpr RowId kDaemon = row("routing-daemon[*]");
constexpr RowId kSaved = row("routing-config/saved");
constexpr RowId kForwarding = row("fib[*]");
constexpr RowId kForwardingCount = row("fib[*]/paths");

bool is_word(std::string_view text) {
  if (text.empty() || text.size() > 255) return false;
  for (const char c : text)
    if (c <= ' ' || c > '~' || c == '?' || c == '!')
      return false;  // ? requests completion, ! begins a comment
  return true;
}

// FRR masks a prefix's host bits and then shows a different prefix from the requested one.
bool is_network(std::string_view prefix) {
  const std::size_t slash = prefix.find('/');
  if (slash == prefix.npos) return false;
  const std::string address(prefix.substr(0, slash));
  const std::string_view length_text = prefix.substr(slash + 1);
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(family, address.c_str(), bytes.data()) != 1) return false;
  unsigned length = 0;
  const auto [end, error] =
      std::from_chars(length_text.data(), length_text.data() + length_text.size(), length);
  const unsigned bits = family == AF_INET ? 32 : 128;
  if (error != std::errc() || end != length_text.data() + length_text.size() || length > bits) return false;
  for (unsigned bit = length; bit < bits; ++bit)
    if ((bytes[bit / 8] & (0x80U >> (bit % 8))) != 0) return false;
  return true;
}

template <Value (*value)(const BfdProfile&)>
void of_profiles(RowId id, const State& state, TreeBuilder& tree) {
  if (!state.bfd) return;
  for (const BfdProfile& one : state.bfd->profiles) tree.add(Path(id, {one.name}), value(one));
}

Value made(const BfdProfile&) { return Value::present(); }
Value multiplier(const BfdProfile& one) { return Value::integer(one.multiplier); }
Value receive(const BfdProfile& one) { return Value::integer(one.receive_ms); }
Value transmit(const BfdProfile& one) { return Value::integer(one.transmit_ms); }

const Speaker* speaker_in(const State& state) {
  return state.bgp && state.bgp->speaker ? &*state.bgp->speaker : nullptr;
}

template <Value (*value)(const Speaker&)>
void of_speaker(RowId id, const State& state, TreeBuilder& tree) {
  if (const Speaker* const speaker = speaker_in(state))
    if (const Value have = value(*speaker)) tree.add(Path(id, {}), have);
}

Value speaks(const Speaker&) { return Value::present(); }
Value asn(const Speaker& one) { return Value::integer(one.asn); }
Value graceful_shutdown(const Speaker& one) { return Value::boolean(one.graceful_shutdown); }
Value max_paths(const Speaker& one) { return Value::integer(one.max_paths); }
Value multipath_relax(const Speaker& one) { return Value::boolean(one.multipath_relax); }
Value router_id(const Speaker& one) { return one.router_id.empty() ? Value{} : Value::text(one.router_id); }

template <auto members>
void of_members(RowId id, const State& state, TreeBuilder& tree) {
  if (const Speaker* const speaker = speaker_in(state))
    for (const std::string& key : speaker->*members) tree.add(Path(id, {key}), Value::present());
}

template <Value (*value)(const Neighbor&)>
void of_neighbors(RowId id, const State& state, TreeBuilder& tree) {
  if (const Speaker* const speaker = speaker_in(state))
    for (const Neighbor& one : speaker->neighbors)
      if (const Value have = value(one)) tree.add(Path(id, {one.interface}), have);
}

Value is_neighbor(const Neighbor&) { return Value::present(); }
Value bfd(const Neighbor& one) { return one.bfd ? Value::text(*one.bfd) : Value{}; }
Value hold(const Neighbor& one) { return Value::integer(one.timers.hold_s); }
Value keepalive(const Neighbor& one) { return Value::integer(one.timers.keepalive_s); }
Value remote_as(const Neighbor& one) { return one.remote_as.empty() ? Value{} : Value::text(one.remote_as); }
Value is_shut(const Neighbor& one) { return Value::boolean(one.shutdown); }

// A session that is not up will run with the timers that it proposes, unless the other end proposes less.
template <std::int64_t Timers::*timer>
void of_timers_in_use(RowId id, const State& state, TreeBuilder& tree) {
  const Speaker* const speaker = speaker_in(state);
  if (speaker == nullptr) return;
  for (const Neighbor& one : speaker->neighbors) {
    const auto agreed = state.bgp->in_use.find(one.interface);
    const Timers timers = agreed != state.bgp->in_use.end() ? agreed->second : agreed_alone(one.timers);
    tree.add(Path(id, {one.interface}), Value::integer(timers.*timer));
  }
}

void of_sessions(RowId id, const State& state, TreeBuilder& tree) {
  const Speaker* const speaker = speaker_in(state);
  if (speaker == nullptr) return;
  for (const Neighbor& one : speaker->neighbors) {
    const auto session = state.bgp->sessions.find(one.interface);
    if (session != state.bgp->sessions.end())
      tree.add(Path(id, {one.interface}), Value::text(session->second));
  }
}

void of_bfd_sessions(RowId id, const State& state, TreeBuilder& tree) {
  const Speaker* const speaker = speaker_in(state);
  if (speaker == nullptr || !state.bfd) return;
  for (const Neighbor& one : speaker->neighbors) {
    if (!one.bfd) continue;
    const auto session = state.bfd->sessions.find(one.interface);
    tree.add(
        Path(id, {one.interface}),
        Value::text(session == state.bfd->sessions.end() ? kBfdNone : std::string_view(session->second)));
  }
}

struct DaemonKey {
  std::string_view key;
  std::string_view daemon;
};
constexpr std::array kDaemonKeys{DaemonKey{"bfd", "bfdd"}, DaemonKey{"bgp", "bgpd"},
                                 DaemonKey{"rib", "zebra"}};

void of_daemons(RowId id, const State& state, TreeBuilder& tree) {
  for (const DaemonKey& one : kDaemonKeys)
    if (const auto life = state.daemons.find(std::string(one.daemon)); life != state.daemons.end())
      tree.add(Path(id, {one.key}), Value::text(life->second));
}

void of_saved(RowId id, const State& state, TreeBuilder& tree) {
  if (state.saved.value_or(false)) tree.add(Path(id, {}), Value::present());
}

constexpr Wanted kBgp{.bgp = true, .bfd = false, .effects = false, .daemons = false, .saved = false};
constexpr Wanted kBfd{.bgp = false, .bfd = true, .effects = false, .daemons = false, .saved = false};
constexpr Wanted kBgpEffects{.bgp = true, .bfd = false, .effects = true, .daemons = false, .saved = false};
constexpr Wanted kBfdEffects{.bgp = true, .bfd = true, .effects = true, .daemons = false, .saved = false};
constexpr Wanted kDaemons{.bgp = false, .bfd = false, .effects = false, .daemons = true, .saved = false};
constexpr Wanted kAllConfig{.bgp = true, .bfd = true, .effects = false, .daemons = false, .saved = true};

struct MapRow {
  RowId row;
  Wanted needs;  // what has to be read for it
  void (*read)(RowId, const State&, TreeBuilder&);
  std::optional<Field> write = std::nullopt;  // the field for which script_of() writes lines
};
constexpr MapRow kRows[] = {
    {row("bfd-profile[*]"), kBfd, of_profiles<made>, Field::profile},
    {row("bfd-profile[*]/multiplier"), kBfd, of_profiles<multiplier>, Field::profile_multiplier},
    {row("bfd-profile[*]/receive-interval"), kBfd, of_profiles<receive>, Field::profile_receive},
    {row("bfd-profile[*]/transmit-interval"), kBfd, of_profiles<transmit>, Field::profile_transmit},
    {kSpeaker, kBgp, of_speaker<speaks>, Field::speaker},
    {row("bgp/aggregate[*]"), kBgp, of_members<&Speaker::aggregates>, Field::aggregate},
    {row("bgp/asn"), kBgp, of_speaker<asn>, Field::asn},
    {row("bgp/graceful-shutdown"), kBgp, of_speaker<graceful_shutdown>, Field::graceful_shutdown},
    {row("bgp/max-paths"), kBgp, of_speaker<max_paths>, Field::max_paths},
    {row("bgp/multipath-relax"), kBgp, of_speaker<multipath_relax>, Field::multipath_relax},
    {kNeighbor, kBgp, of_neighbors<is_neighbor>, Field::neighbor},
    {row("bgp/neighbor[*]/bfd"), kBgp, of_neighbors<bfd>, Field::neighbor_bfd},
    {row("bgp/neighbor[*]/hold"), kBgp, of_neighbors<hold>, Field::neighbor_hold},
    {row("bgp/neighbor[*]/keepalive"), kBgp, of_neighbors<keepalive>, Field::neighbor_keepalive},
    {row("bgp/neighbor[*]/remote-as"), kBgp, of_neighbors<remote_as>, Field::neighbor_remote_as},
    {kShutdown, kBgp, of_neighbors<is_shut>, Field::neighbor_shutdown},
    {row("bgp/redistribute[*]"), kBgp, of_members<&Speaker::redistribute>, Field::redistribute},
    {row("bgp/router-id"), kBgp, of_speaker<router_id>, Field::router_id},
    {kBfdState, kBfdEffects, of_bfd_sessions},
    {kSession, kBgpEffects, of_sessions},
    {kHoldInUse, kBgpEffects, of_timers_in_use<&Timers::hold_s>},
    {kKeepaliveInUse, kBgpEffects, of_timers_in_use<&Timers::keepalive_s>},
    {kSaved, kAllConfig, of_saved, Field::saved},
    {kDaemon, kDaemons, of_daemons},
};
static_assert(has_each_row_once(kRows));

}  // namespace

std::vector<RowId> rows_written() { return written_rows_of(kRows); }
std::vector<RowId> rows_read() { return rows_of(kRows); }

Wanted needs_of(RowId id) {
  const MapRow* const one = find_row(kRows, id);
  return one == nullptr ? kNothing : one->needs;
}

bool is_saving(RowId id) { return id == kSaved; }
bool SeenSessions::are_in(const Scope& scope) {
  return std::ranges::all_of(std::array{kSpeaker, kNeighbor, kShutdown, kSession},
                             [&scope](RowId id) { return scope.wants(id); });
}

SeenSessions SeenSessions::of(const Tree& have) {
  SeenSessions out;
  out.speaks = !have.of_row(kSpeaker).empty();
  for (const Entry& one : have.of_row(kNeighbor)) out.is_shut[std::string(one.path.key(0))] = false;
  for (const Entry& one : have.of_row(kShutdown))
    out.is_shut[std::string(one.path.key(0))] = one.value.as_boolean();
  for (const Entry& one : have.of_row(kSession))
    out.sessions[std::string(one.path.key(0))] = one.value.as_text();
  return out;
}

bool is_session(RowId id) { return id == kSession; }
bool is_bfd_session(RowId id) { return id == kBfdState; }
bool is_timer_in_use(RowId id) { return id == kHoldInUse || id == kKeepaliveInUse; }
bool is_forwarding(RowId id) { return id == kForwarding; }
bool is_forwarding_count(RowId id) { return id == kForwardingCount; }

std::string daemon_of(Path path) {
  if (path.row() != kDaemon) return "";
  for (const DaemonKey& one : kDaemonKeys)
    if (one.key == path.key(0)) return std::string(one.daemon);
  return "";
}

Result<Edit> edit_of(const Change& change, std::size_t index) {
  const auto refuse = [&change](const std::string& why) {
    return Error{ErrorKind::invalid_spec, change.path.text() + ": " + why};
  };
  const MapRow* const one = find_row(kRows, change.path.row());
  if (one == nullptr || !one->write)
    return Error{ErrorKind::unsupported, change.path.text() + ": not written by frr"};
  Edit edit{.field = *one->write, .remove = !change.want, .change = index};
  if (change.path.key_count() > 0) {
    edit.key = change.path.key(0);
    if (!is_word(edit.key)) return refuse("the key is not one word of an FRR command");
  }
  if (edit.field == Field::saved && edit.remove)
    return Error{ErrorKind::unsupported, change.path.text() + ": what is saved can't be unsaved"};
  if (edit.field == Field::aggregate && !is_network(edit.key)) return refuse("not a network prefix");
  if (edit.remove) return edit;
  switch (change.want.kind()) {
    case Value::Kind::present: edit.on = true; break;
    case Value::Kind::boolean: edit.on = change.want.as_boolean(); break;
    case Value::Kind::integer:
      edit.number = change.want.as_integer();
      edit.word = std::to_string(edit.number);
      break;
    case Value::Kind::text: edit.word = change.want.as_text(); break;
    default: return refuse("a value of this type has no meaning in FRR");
  }
  const EntryType type = schema_row(one->row).type;
  const bool wordy = type == EntryType::integer || type == EntryType::text;
  if (wordy && edit.word != kNoProfile && !is_word(edit.word))
    return refuse("the value '" + change.want.to_string() + "' is not one word of an FRR command");
  return edit;
}

void entries_of(const State& state, const Scope& scope, TreeBuilder& tree) {
  for (const MapRow& one : kRows)
    if (scope.wants(one.row)) one.read(one.row, state, tree);
}

std::vector<Unread> unread_of(const State& state, const Scope& scope) {
  std::vector<Unread> out;
  for (const MapRow& one : kRows) {
    if (!scope.wants(one.row)) continue;
    if (one.needs.saved) {
      if (state.saved_error) out.push_back({one.row, {}, *state.saved_error});
    } else if (state.bgp_error && one.needs.bgp) {
      out.push_back({one.row, {}, *state.bgp_error});
    } else if (state.bfd_error && one.needs.bfd) {
      out.push_back({one.row, {}, *state.bfd_error});
    } else if (state.daemons_error && one.needs.daemons) {
      out.push_back({one.row, {}, *state.daemons_error});
    }
  }
  return out;
}

}  // namespace lockstep::frr
