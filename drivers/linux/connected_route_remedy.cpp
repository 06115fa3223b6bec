#include "drivers/linux/connected_route_remedy.hpp"

#include <algorithm>

#include "drivers/linux/kernel_address.hpp"
#include "drivers/linux/map.hpp"
#include "drivers/linux/session.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

// Arbitrary: if a route is removed more often than this, the cause requires manual action.
constexpr int kTries = 3;
constexpr std::chrono::seconds kWithin{300};

}  // namespace

void ConnectedRouteRemedy::remember(const NetworkState& network) {
  std::vector<Connected> now;
  for (const InterfaceAddress& one : network.addresses)
    if (const Link* const link = network.link(one.index);
        link != nullptr && link->admin_up && !is_link_local(one.prefix.address))
      now.push_back({link->name, one.prefix});
  keep(std::move(now));
}

void ConnectedRouteRemedy::remember(const Tree& have) {
  std::vector<Connected> now;
  for (const Entry& one : have.of_row(linux_map::kAddress)) {
    const std::string port(one.path.key(0));
    const auto prefix = IpPrefix::parse(one.path.key(1));
    const Entry* const admin = have.find(Path(linux_map::kAdmin, {port}));
    if (prefix && admin != nullptr && admin->value == Value::boolean(true) && !is_link_local(prefix->address))
      now.push_back({port, *prefix});
  }
  keep(std::move(now));
}

void ConnectedRouteRemedy::keep(std::vector<Connected> now) {
  const std::scoped_lock lock(mutex_);
  seen_ = std::move(now);
}

std::optional<ConnectedRouteRemedy::Connected> ConnectedRouteRemedy::of(const Change& effect) const {
  if (effect.path.row() != linux_map::kFib || effect.want.kind() != Value::Kind::list) return std::nullopt;
  const std::vector<std::string_view> ports = effect.want.as_list();
  const auto prefix = IpPrefix::parse(effect.path.key(0));
  if (ports.size() != 1 || !prefix || effect.was) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(seen_, [&](const Connected& one) {
    return one.port == ports.front() && one.address.length < one.address.address.width() &&
           one.address.network() == *prefix;
  });
  return found == seen_.end() ? std::nullopt : std::optional(*found);
}

std::optional<Remedy::Offer> ConnectedRouteRemedy::offer(const Change& effect) const {
  if (!of(effect)) return std::nullopt;
  return Offer{.name = "restore-connected-route",
               .what_it_does = "adds the route that the kernel makes with the address, and that is missing",
               .disruption = Disruption::none,
               .tries_max = kTries,
               .within = kWithin,
               .before_writes = true};
}

Result<Done> ConnectedRouteRemedy::cure(const ChangeSet& effects, const Call& call) {
  std::vector<Connected> all;
  for (const Change& effect : effects) {
    const auto one = of(effect);
    if (!one) return Error{ErrorKind::unsupported, effect.path.text() + ": there is no remedy for it here"};
    all.push_back(*one);
  }
  Result<Done> out = Done{};
  const auto add_all = [&]() -> Result<Done> {
    TRY(Session session, Session::open(call));
    std::optional<Error> failed;
    bool any = false;
    for (const Connected& one : all)
      if (Result<Done> added = session.add_connected_route(one.port, one.address); added)
        any = true;
      else if (!failed || added.error().kind == ErrorKind::unknown_outcome)
        failed = std::move(added.error());
    if (!failed) return Done{};
    if (any) failed->kind = ErrorKind::unknown_outcome;
    return *std::move(failed);
  };
  TRY_DONE(in_namespace(netns_path_, [&] { out = add_all(); }));
  return out;
}

}  // namespace lockstep
