#include "reconciler/engine/route_locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "specs/model/mtu_lock.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kLocks =
    "temporary, until the MTUs of all hosts of the pool are changed: routes to the pool are locked to the "
    "smaller of the host's two MTUs";

// A host's port whose MTU changes.
struct Turn {
  std::int64_t was = 0;
  std::int64_t want = 0;
  bool grows() const { return want > was; }
  std::int64_t least() const { return std::min(was, want); }
};

std::optional<Turn> turn_of(Value was, Value want) {
  if (was.kind() != Value::Kind::integer || want.kind() != Value::Kind::integer) return std::nullopt;
  return Turn{was.as_integer(), want.as_integer()};
}

class RouteLocks {
 public:
  RouteLocks(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms)
      : input_(input), columns_(columns), rows_(columns.mtu_rows()), atoms_(atoms) {}

  void add() {
    if (!rows_.port || !rows_.lock || !rows_.address || !rows_.admin || !rows_.route || !rows_.rule) return;
    for (std::size_t d = 0; d < input_.devices.size(); ++d)
      if (input_.devices[d].role == "host") find_hosts(d);
    for (auto& [pool, one] : pools_) {
      one.sort();
      for (const Host& host : one.hosts) plan_for(one, host);
    }
  }

 private:
  struct Host {
    std::size_t device = 0;
    Path lock;
    OriginId origin = 0;
    std::vector<std::uint32_t> ports{};  // atoms
    std::int64_t least = kUnlimited;     // of its ports, before and after
    std::int64_t most = 0;               // after
    bool grows = false;
    bool shrinks = false;
    std::string shut{};  // a port of the pool
  };
  struct Pool {
    std::vector<Host> hosts{};
    std::size_t grow = 0;  // hosts
    std::size_t shrink = 0;
    std::size_t locked = 0;             // unchanged hosts, except for a lock
    std::vector<std::int64_t> sent{};   // the largest size sent by unchanged hosts without a lock
    std::vector<std::int64_t> taken{};  // the largest size accepted by all unchanged hosts
    std::string behind{};               // why a host keeps the smaller MTU; empty: none does
    std::string ahead{};                // why one keeps the larger one
    std::string undone{};               // why one keeps the smaller MTU, unless approval lifts its hold
    std::string unread{};               // a host, and why
    std::string not_asked{};            // a host

    void sort() {
      std::ranges::sort(sent);
      std::ranges::sort(taken);
    }
    // Requires sort(). Whether as many hosts as would change, and at least one, already send packets of this
    // size; or as many hosts accept none that are larger.
    bool is_sent(std::int64_t size) const {
      return sent.end() - std::ranges::lower_bound(sent, size) >=
             static_cast<std::ptrdiff_t>(std::max(grow + locked, std::size_t{1}));
    }
    bool is_taken(std::int64_t size) const {
      return std::ranges::upper_bound(taken, size) - taken.begin() >= static_cast<std::ptrdiff_t>(shrink);
    }
  };

  std::optional<Turn> turn_of_port(Path path, Value was, Value want) const {
    return path.row() == rows_.port ? turn_of(was, want) : std::nullopt;
  }

  void find_hosts(std::size_t d) {
    const DeviceInput& device = input_.devices[d];
    if (device.intent == nullptr) return;
    for (const Claim& claim : device.intent->claims) {
      if (claim.collection != rows_.lock || claim.keys.size() != 1) continue;
      if (const auto prefix = IpPrefix::parse(claim.keys.front()))
        find_host({.device = d, .lock = Path(*rows_.lock, {claim.keys.front()}), .origin = claim.origin},
                  *prefix, pools_[claim.keys.front()]);
    }
  }

  void find_host(Host host, const IpPrefix& prefix, Pool& pool) const {
    const DeviceInput& device = input_.devices[host.device];
    const std::set<std::string_view> ports = ports_in(prefix, *device.intent);
    bool stays = true;
    const auto keeps = [&](std::string& text, const Turn& turn, Path path, const std::string& why) {
      if (text.empty()) text = fmt::format("{} of {} stays {}: {}", path.text(), device.name, turn.was, why);
      stays = false;
    };
    for (std::uint32_t a = 0; a < atoms_[host.device].atoms.size(); ++a) {
      const Atom& atom = atoms_[host.device].atoms[a];
      const bool is_held = !atom.far_ends.empty() || !atom.refused.empty();
      for (const AtomChange& change : atom.changes) {
        const auto turn = turn_of_port(change.path, change.was, change.want);
        if (change.transient || !turn || !ports.contains(change.path.key(0))) continue;
        if (is_held) {
          keeps(turn->grows() ? pool.behind : pool.ahead, *turn, change.path, "its change is held");
          continue;
        }
        if (!atom.undone.empty())
          keeps(turn->grows() ? pool.undone : pool.ahead, *turn, change.path, "a gate rolled it back");
        host.ports.push_back(a);
        host.least = std::min(host.least, turn->least());
        host.most = std::max(host.most, turn->want);
        (turn->grows() ? host.grows : host.shrinks) = true;
      }
    }
    if (device.withheld != nullptr)
      for (const Change& change : *device.withheld)
        if (const auto turn = turn_of_port(change.path, change.was, change.want);
            turn && ports.contains(change.path.key(0)))
          keeps(turn->grows() ? pool.behind : pool.ahead, *turn, change.path, device.left_alone);
    if (device.observation != nullptr)
      note_ports(ports, stays && host.ports.empty(), host, pool);
    else if (!device.unread.empty() && device.maintenance.empty())
      pool.unread = device.name + " was not read: " + device.unread;
    else if (device.maintenance.empty())
      pool.not_asked = device.name;
    pool.grow += host.grows ? 1 : 0;
    pool.shrink += host.shrinks ? 1 : 0;
    pool.hosts.push_back(std::move(host));
  }

  // Adds the ports as they are now.
  void note_ports(const std::set<std::string_view>& ports, bool stays, Host& host, Pool& pool) const {
    const Tree& have = input_.devices[host.device].observation->have;
    std::int64_t most = 0;
    std::int64_t least = kUnlimited;
    for (const std::string_view port : ports) {
      if (have.value(Path(*rows_.admin, {port})) == Value::boolean(false)) host.shut = port;
      const Value mtu = have.value(Path(*rows_.port, {port}));
      if (mtu.kind() != Value::Kind::integer) continue;
      most = std::max(most, mtu.as_integer());
      least = std::min(least, mtu.as_integer());
    }
    // Its routes are locked on all ports of the pool, including those that keep a smaller MTU.
    if (host.ports.empty()) host.most = most;
    if (!host.ports.empty()) host.least = std::min(host.least, least);
    if (!stays || most == 0) return;
    pool.taken.push_back(least);
    if (mtu_limit(have.value(host.lock)) < most)
      ++pool.locked;
    else
      pool.sent.push_back(most);
  }

  // The ports that have an address of the pool.
  std::set<std::string_view> ports_in(const IpPrefix& pool, const Intent& intent) const {
    std::set<std::string_view> out;
    for (const Entry& one : intent.want.of_row(*rows_.address))
      if (const auto address = IpPrefix::parse(one.path.key(1)); address && pool.contains(address->address))
        out.insert(one.path.key(0));
    return out;
  }

  void plan_for(const Pool& pool, const Host& host) {
    DeviceAtoms& device = atoms_[host.device];
    std::optional<std::uint32_t> unlocks = change_of(host);
    if (host.ports.empty() && !unlocks) return;
    const bool is_new = !pool.is_sent(host.most);
    const bool grows = host.grows && is_new && (pool.grow > 1 || !pool.behind.empty());
    const bool shrinks = host.shrinks && pool.shrink > 1 && !pool.is_taken(host.least);
    const bool locks = (grows || shrinks) && !is_locked(host) && is_pool_read(pool, host) && can_write(host);
    if (locks) unlocks = lock(host, unlocks);
    const std::string& ahead = pool.ahead.empty() ? pool.unread : pool.ahead;
    if (host.shrinks && !ahead.empty()) note(host, "larger packets may come still: " + ahead);
    if (!unlocks) return;
    device.atoms[*unlocks].apart = true;
    // A route over a port that is shut down, or has no address, can't be changed.
    for (std::uint32_t a = 0; a < device.atoms.size(); ++a)
      if (a != *unlocks && opens_a_port(device.atoms[a])) device.order.emplace_back(a, *unlocks);
    // A leftover lock that is larger than a port's new MTU would let too large packets through. A port that
    // is opened gets its MTU first.
    const bool outlives =
        host.shrinks && !host.grows && !locks && is_above(host) &&
        std::ranges::none_of(device.atoms, [this](const Atom& atom) { return opens_a_port(atom); });
    for (const std::uint32_t port : host.ports)
      outlives ? device.order.emplace_back(*unlocks, port) : device.order.emplace_back(port, *unlocks);
    if (!is_new || outlives) return;
    std::string why = pool.behind;
    if (why.empty()) why = pool.unread;
    if (why.empty() && !pool.not_asked.empty()) why = pool.not_asked + " is not read in this run";
    constexpr const char* kStays = "its lock of routes stays, as larger packets may be lost: ";
    if (!why.empty())
      device.atoms[*unlocks].far_ends.push_back(kStays + why);
    else if (!pool.undone.empty())
      device.atoms[*unlocks].undone.push_back(kStays + pool.undone);
  }

  // If only a part of the pool is read, what the others send and accept is unknown. A rollback reads only
  // what was written, and locks all the same, as that is temporary.
  bool is_pool_read(const Pool& pool, const Host& host) {
    if (input_.undoes) return true;
    if (!pool.not_asked.empty())
      note(host, fmt::format("routes are not locked meanwhile: {} is not read in this run", pool.not_asked));
    return pool.not_asked.empty();
  }

  // Returns the atom that removes the lock again.
  std::uint32_t lock(const Host& host, std::optional<std::uint32_t> unlocks) {
    DeviceAtoms& device = atoms_[host.device];
    const Value wanted = mtu_lock(static_cast<std::uint32_t>(host.least));
    const Value now = input_.devices[host.device].observation->have.value(host.lock);
    if (unlocks)
      device.atoms[*unlocks].changes.front().was = wanted;
    else
      unlocks = add_atom(host, wanted, Value{});
    const std::uint32_t locks = add_atom(host, now, wanted);
    device.atoms[locks].notes.emplace_back(kLocks);
    device.atoms[locks].apart = true;
    device.read.emplace_back(host.lock, now);
    device.order.emplace_back(locks, *unlocks);
    for (const std::uint32_t port : host.ports) device.order.emplace_back(locks, port);
    return *unlocks;
  }

  void note(const Host& host, const std::string& text) {
    for (const std::uint32_t port : host.ports) {
      std::vector<std::string>& notes = atoms_[host.device].atoms[port].notes;
      if (std::ranges::find(notes, text) == notes.end()) notes.push_back(text);
    }
  }

  bool opens_a_port(const Atom& atom) const {
    return std::ranges::any_of(atom.changes, [this](const AtomChange& change) {
      return (change.path.row() == rows_.admin && change.want == Value::boolean(true)) ||
             (change.path.row() == rows_.address && change.want);
    });
  }

  // Whether its routes of ours exist, stay as they are, and can be written.
  bool can_write(const Host& host) {
    const DeviceInput& device = input_.devices[host.device];
    if (device.observation == nullptr || !device.carrier || device.carrier(*rows_.lock).empty()) return false;
    if (is_unread(device.observation->unread, host.lock)) {
      note(host, "routes are not locked meanwhile: they could not be read");
      return false;
    }
    if (device.observation->have.of_row(*rows_.route).empty()) return false;
    if (const auto why = why_refused(device, host)) {
      note(host, "routes are not locked meanwhile: " + *why);
      return false;
    }
    const bool change = std::ranges::any_of(atoms_[host.device].atoms, [this](const Atom& atom) {
      return std::ranges::any_of(atom.changes, [this](const AtomChange& one) {
        return one.path.row() == rows_.route || one.path.row() == rows_.rule;
      });
    });
    if (change || !host.shut.empty())
      note(host, change ? "routes are not locked meanwhile: they change with it"
                        : fmt::format("routes are not locked meanwhile: {} is administratively down, and "
                                      "routes over it can't be written",
                                      host.shut));
    return !change && host.shut.empty();
  }

  // By the device's own policy.
  std::optional<std::string> why_refused(const DeviceInput& device, const Host& host) const {
    const Permission* const permission =
        device.permission ? device.permission(device.carrier(*rows_.lock)) : nullptr;
    if (permission == nullptr) return std::nullopt;
    return permission->why_not({host.lock, device.observation->have.value(host.lock),
                                mtu_lock(static_cast<std::uint32_t>(host.least)), host.origin});
  }

  std::int64_t limit(const Host& host) const {
    const Observation* const seen = input_.devices[host.device].observation;
    return seen != nullptr ? mtu_limit(seen->have.value(host.lock)) : kUnlimited;
  }
  bool is_locked(const Host& host) const { return limit(host) <= host.least; }
  bool is_above(const Host& host) const { return limit(host) > host.least && limit(host) != kUnlimited; }

  // The atom that removes an existing lock.
  std::optional<std::uint32_t> change_of(const Host& host) const {
    const auto& all = atoms_[host.device].atoms;
    for (std::uint32_t a = 0; a < all.size(); ++a)
      if (all[a].changes.size() == 1 && all[a].remedy.empty() && all[a].changes.front().path == host.lock)
        return a;
    return std::nullopt;
  }

  std::uint32_t add_atom(const Host& host, Value was, Value want) {
    std::vector<Atom>& all = atoms_[host.device].atoms;
    Atom& atom = all.emplace_back();
    atom.driver = input_.devices[host.device].carrier(*rows_.lock);
    atom.disruption = columns_.row(*rows_.lock).disruption;
    atom.changes.push_back({.path = host.lock, .was = was, .want = want, .origin = host.origin});
    return static_cast<std::uint32_t>(all.size() - 1);
  }

  const PlanInput& input_;
  const Columns& columns_;
  const Columns::MtuRows& rows_;
  std::vector<DeviceAtoms>& atoms_;
  std::map<std::string, Pool> pools_;
};

}  // namespace

void add_route_locks(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms) {
  RouteLocks(input, columns, atoms).add();
}

}  // namespace lockstep
