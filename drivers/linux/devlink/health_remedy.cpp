#include "drivers/linux/devlink/health_remedy.hpp"

#include <algorithm>

#include "drivers/linux/devlink/map.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

// Arbitrary: a NIC with more frequent errors requires manual action.
constexpr int kRecoveries = 2;
constexpr std::chrono::seconds kSpan{600};

Result<Done> recover(const Change& effect, const Call& call) {
  TRY(auto client, devlink::Client::open(call));
  TRY(const auto ports, client.ports(call));
  const auto port = std::ranges::find(ports, effect.path.key(0), &devlink::Port::netdev_name);
  if (port == ports.end())
    return Error{ErrorKind::unsupported, effect.path.text() + ": no devlink device here has this port"};
  TRY(const auto reporters, client.reporters(call));
  for (const devlink::Reporter& one : devlink_map::in_error(reporters, *port))
    TRY_DONE(client.recover(one, call));
  return Done{};
}

}  // namespace

std::optional<Remedy::Offer> HealthRemedy::offer(const Change& effect) const {
  if (effect.path.row() != devlink_map::kHealth) return std::nullopt;
  return Offer{"recover-nic-health", "has the NIC's health reporters that are in error recover",
               Disruption::reset, kRecoveries, kSpan};
}

Result<Done> HealthRemedy::cure(const ChangeSet& effects, const Call& call) {
  for (const Change& effect : effects) {
    if (!offer(effect))
      return Error{ErrorKind::unsupported, effect.path.text() + ": there is no remedy for it here"};
    Result<Done> out = Done{};
    TRY_DONE(in_namespace(netns_path_, [&] { out = recover(effect, call); }));
    TRY_DONE(out);
  }
  return Done{};
}

}  // namespace lockstep
