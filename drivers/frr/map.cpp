#include "drivers/frr/map.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>

#include "specs/model/schema_rows.hpp"

namespace lockstep::frr {
namespace {

enum class Carrier : std::uint8_t { bgpd, bfdd, both };

struct MapField {
  RowId row;
  Field field;
  Carrier carrier;
};

constexpr std::array kConfig{
    MapField{row("bfd-profile[*]"), Field::profile, Carrier::bfdd},
    MapField{row("bfd-profile[*]/multiplier"), Field::profile_multiplier, Carrier::bfdd},
    MapField{row("bfd-profile[*]/receive-interval"), Field::profile_receive, Carrier::bfdd},
    MapField{row("bfd-profile[*]/transmit-interval"), Field::profile_transmit, Carrier::bfdd},
    MapField{row("bgp"), Field::speaker, Carrier::bgpd},
    MapField{row("bgp/aggregate[*]"), Field::aggregate, Carrier::bgpd},
    MapField{row("bgp/asn"), Field::asn, Carrier::bgpd},
    MapField{row("bgp/graceful-shutdown"), Field::graceful_shutdown, Carrier::bgpd},
    MapField{row("bgp/max-paths"), Field::max_paths, Carrier::bgpd},
    MapField{row("bgp/multipath-relax"), Field::multipath_relax, Carrier::bgpd},
    MapField{row("bgp/neighbor[*]"), Field::neighbor, Carrier::bgpd},
    MapField{row("bgp/neighbor[*]/bfd"), Field::neighbor_bfd, Carrier::bgpd},
    MapField{row("bgp/neighbor[*]/hold"), Field::neighbor_hold, Carrier::bgpd},
    MapField{row("bgp/neighbor[*]/keepalive"), Field::neighbor_keepalive, Carrier::bgpd},
    MapField{row("bgp/neighbor[*]/remote-as"), Field::neighbor_remote_as, Carrier::bgpd},
    MapField{row("bgp/neighbor[*]/shutdown"), Field::neighbor_shutdown, Carrier::bgpd},
    MapField{row("bgp/redistribute[*]"), Field::redistribute, Carrier::bgpd},
    MapField{row("bgp/router-id"), Field::router_id, Carrier::bgpd},
};
constexpr RowId kBfdState = row("bgp/neighbor[*]/bfd-state");
constexpr RowId kSession = row("bgp/neighbor[*]/session");
constexpr RowId kHoldInUse = row("bgp/neighbor[*]/hold-in-use");
constexpr RowId kKeepaliveInUse = row("bgp/neighbor[*]/keepalive-in-use");
constexpr RowId kDaemon = row("routing-daemon[*]");
constexpr RowId kForwarding = row("fib[*]");
constexpr RowId kForwardingCount = row("fib[*]/paths");

constexpr RowId row_of(Field field) {
  for (const MapField& entry : kConfig)
    if (entry.field == field) return entry.row;
  return kSession;
}

const MapField* entry_of(RowId id) {
  for (const MapField& entry : kConfig)
    if (entry.row == id) return &entry;
  return nullptr;
}

bool is_word(std::string_view text) {
  if (text.empty() || text.size() > 255) return false;
  for (const char c : text)
    if (c <= ' ' || c > '~' || c == '?' || c == '!')
      return false;  // ? asks for completion, ! begins a comment
  return true;
}

// FRR masks the host bits of a prefix away and then shows another prefix than the one asked for.
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

void profile_entries(const BfdProfile& profile, TreeBuilder& tree) {
  tree.add(Path(row_of(Field::profile), {profile.name}), Value::present());
  tree.add(Path(row_of(Field::profile_multiplier), {profile.name}), Value::integer(profile.multiplier));
  tree.add(Path(row_of(Field::profile_receive), {profile.name}), Value::integer(profile.receive_ms));
  tree.add(Path(row_of(Field::profile_transmit), {profile.name}), Value::integer(profile.transmit_ms));
}

void neighbor_entries(const Neighbor& one, TreeBuilder& tree) {
  const std::string& key = one.interface;
  tree.add(Path(row_of(Field::neighbor), {key}), Value::present());
  if (one.bfd) tree.add(Path(row_of(Field::neighbor_bfd), {key}), Value::text(*one.bfd));
  tree.add(Path(row_of(Field::neighbor_hold), {key}), Value::integer(one.timers.hold_s));
  tree.add(Path(row_of(Field::neighbor_keepalive), {key}), Value::integer(one.timers.keepalive_s));
  if (!one.remote_as.empty())
    tree.add(Path(row_of(Field::neighbor_remote_as), {key}), Value::text(one.remote_as));
  tree.add(Path(row_of(Field::neighbor_shutdown), {key}), Value::boolean(one.shutdown));
}

void speaker_entries(const Speaker& speaker, TreeBuilder& tree) {
  tree.add(Path(row_of(Field::speaker), {}), Value::present());
  tree.add(Path(row_of(Field::asn), {}), Value::integer(speaker.asn));
  tree.add(Path(row_of(Field::graceful_shutdown), {}), Value::boolean(speaker.graceful_shutdown));
  tree.add(Path(row_of(Field::max_paths), {}), Value::integer(speaker.max_paths));
  tree.add(Path(row_of(Field::multipath_relax), {}), Value::boolean(speaker.multipath_relax));
  if (!speaker.router_id.empty())
    tree.add(Path(row_of(Field::router_id), {}), Value::text(speaker.router_id));
  for (const std::string& prefix : speaker.aggregates)
    tree.add(Path(row_of(Field::aggregate), {prefix}), Value::present());
  for (const std::string& source : speaker.redistribute)
    tree.add(Path(row_of(Field::redistribute), {source}), Value::present());
  for (const Neighbor& one : speaker.neighbors) neighbor_entries(one, tree);
}

struct DaemonKey {
  std::string_view key;
  std::string_view daemon;
};
constexpr std::array kDaemonKeys{DaemonKey{"bfd", "bfdd"}, DaemonKey{"bgp", "bgpd"},
                                 DaemonKey{"rib", "zebra"}};

// A session that is not up will run with what it proposes, unless the other end proposes less.
void timer_entries(const BgpState& bgp, const Neighbor& one, TreeBuilder& tree) {
  const auto agreed = bgp.in_use.find(one.interface);
  const Timers timers = agreed != bgp.in_use.end() ? agreed->second : agreed_alone(one.timers);
  tree.add(Path(kHoldInUse, {one.interface}), Value::integer(timers.hold_s));
  tree.add(Path(kKeepaliveInUse, {one.interface}), Value::integer(timers.keepalive_s));
}

void session_entries(const State& state, TreeBuilder& tree) {
  if (!state.bgp || !state.bgp->speaker) return;
  for (const Neighbor& one : state.bgp->speaker->neighbors) {
    timer_entries(*state.bgp, one, tree);
    const auto session = state.bgp->sessions.find(one.interface);
    if (session != state.bgp->sessions.end())
      tree.add(Path(kSession, {one.interface}), Value::text(session->second));
    if (!state.bfd || !one.bfd) continue;
    const auto bfd = state.bfd->sessions.find(one.interface);
    tree.add(Path(kBfdState, {one.interface}),
             Value::text(bfd == state.bfd->sessions.end() ? kBfdNone : std::string_view(bfd->second)));
  }
}

}  // namespace

std::vector<RowId> rows_written() {
  std::vector<RowId> rows;
  for (const MapField& entry : kConfig) rows.push_back(entry.row);
  return rows;
}

std::vector<RowId> rows_read() {
  std::vector<RowId> rows = rows_written();
  rows.insert(rows.end(), {kBfdState, kSession, kHoldInUse, kKeepaliveInUse, kDaemon});
  return rows;
}

bool needs_bgp(RowId id) {
  const MapField* const entry = entry_of(id);
  return id == kSession || id == kBfdState || is_timer_in_use(id) ||
         (entry != nullptr && entry->carrier == Carrier::bgpd);
}

bool needs_bfd(RowId id) {
  const MapField* const entry = entry_of(id);
  return id == kBfdState || (entry != nullptr && entry->carrier == Carrier::bfdd);
}

bool needs_daemons(RowId id) { return id == kDaemon; }
bool is_effect(RowId id) { return id == kSession || id == kBfdState || is_timer_in_use(id); }
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
  const MapField* const entry = entry_of(change.path.row());
  if (entry == nullptr) return Error{ErrorKind::unsupported, change.path.text() + ": not written by frr"};
  Edit edit{.field = entry->field, .remove = !change.want, .change = index};
  if (change.path.key_count() > 0) {
    edit.key = change.path.key(0);
    if (!is_word(edit.key)) return refuse("the key is not one word of an FRR command");
  }
  if (entry->field == Field::aggregate && !is_network(edit.key)) return refuse("not a network prefix");
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
  const EntryType type = schema_row(entry->row).type;
  const bool wordy = type == EntryType::integer || type == EntryType::text;
  if (wordy && edit.word != kNoProfile && !is_word(edit.word))
    return refuse("the value '" + change.want.to_string() + "' is not one word of an FRR command");
  return edit;
}

void entries_of(const State& state, const Scope& scope, TreeBuilder& out) {
  TreeBuilder all;
  if (state.bfd)
    for (const BfdProfile& profile : state.bfd->profiles) profile_entries(profile, all);
  if (state.bgp && state.bgp->speaker) speaker_entries(*state.bgp->speaker, all);
  session_entries(state, all);
  for (const DaemonKey& one : kDaemonKeys)
    if (const auto life = state.daemons.find(std::string(one.daemon)); life != state.daemons.end())
      all.add(Path(kDaemon, {one.key}), Value::text(life->second));
  const Tree tree = all.build();
  for (const Entry& entry : tree.entries())
    if (scope.wants(entry.path.row())) out.add(entry.path, entry.value);
}

std::vector<Unread> unread_of(const State& state, const Scope& scope) {
  std::vector<Unread> out;
  for (const RowId id : rows_read()) {
    if (!scope.wants(id)) continue;
    if (state.bgp_error && needs_bgp(id))
      out.push_back({id, {}, *state.bgp_error});
    else if (state.bfd_error && needs_bfd(id))
      out.push_back({id, {}, *state.bfd_error});
    else if (state.daemons_error && needs_daemons(id))
      out.push_back({id, {}, *state.daemons_error});
  }
  return out;
}

}  // namespace lockstep::frr
