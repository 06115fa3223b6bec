#include <fmt/format.h>

#include <csignal>

#include "reconciler/twin/agents.hpp"
#include "reconciler/twin/fault_kinds.hpp"
#include "reconciler/twin/management.hpp"
#include "reconciler/twin/twin.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kOff = "off";

// By the last argument: "on", which is the default, or "off".
Result<bool> is_on(const FaultOrder& order) {
  const std::string word = order.argument(0, "on");
  if (word != "on" && word != kOff)
    return Error{ErrorKind::invalid_spec, "'" + word + "' is neither on nor off"};
  return word == "on";
}

// In the namespace with the bridge that the device's management cable leads to.
FaultOrder at_the_bridge(const FaultOrder& order) {
  FaultOrder out = order;
  out.device = kController;
  out.at = places(order.twin.cluster, kController);
  return out;
}

}  // namespace

Result<FaultLines> break_agent_clock(const FaultOrder& order) {
  const std::string word = order.argument(0, "behind");
  AuthorityDates dates = AuthorityDates::as_made;
  const char* what = "as its CA was made";
  if (word == "behind") {
    dates = AuthorityDates::not_yet_valid;
    what = "not valid before tomorrow";
  } else if (word == "ahead") {
    dates = AuthorityDates::expired;
    what = "expired since yesterday";
  } else if (word != kOff) {
    return Error{ErrorKind::invalid_spec, "'" + word + "' is not behind, ahead or off"};
  }
  TRY_DONE(set_authority_dates(order.twin.cluster, order.device, dates));
  return FaultLines{fmt::format("{}: {}/{} is {}", order.device, order.at.agent_dir, "ca.crt", what)};
}

Result<FaultLines> break_agent_delay(const FaultOrder& order) {
  constexpr std::chrono::seconds kLongest{60};  // chosen: beyond what any call through an agent waits
  const std::string word = order.argument(0, "500ms");
  std::chrono::milliseconds delay{0};
  if (word != kOff) {
    TRY(const Duration given, parse_duration(word));
    delay = std::chrono::duration_cast<std::chrono::milliseconds>(given);
    if (delay < std::chrono::milliseconds(1) || delay > kLongest)
      return Error{ErrorKind::invalid_spec, "'" + word + "' is not 1ms to 60s, or off"};
  }
  TRY_DONE(set_management_delay(order.twin.cluster, order.device, delay));
  const std::string port = management_bridge_port(order.device);
  if (delay == std::chrono::milliseconds::zero())
    return FaultLines{fmt::format("{}: {} is in the bridge again", kController, port)};
  return FaultLines{fmt::format("{}: a relay between the bridge and {} delays each frame by {} ms, both ways",
                                kController, port, delay.count())};
}

Result<FaultLines> break_agent_killed(const FaultOrder& order) {
  TRY(const bool on, is_on(order));
  if (on) return signal_daemon(order, "agent", SIGKILL, "KILL");
  TRY_DONE(restart_daemon(order.twin.cluster, order.device, "agent"));
  return FaultLines{order.device + ": the agent is started again"};
}

Result<FaultLines> break_agent_loss(const FaultOrder& order) {
  const std::string word = order.argument(0, "10%");
  Ratio share;
  if (word != kOff) {
    TRY(share, parse_loss(word));
  }
  const FaultOrder bridge = at_the_bridge(order);
  TRY(const Link link, link_of(bridge, management_bridge_port(order.device)));
  return in_device(bridge, [&](Session&) -> Result<FaultLines> {
    for (const Hook hook : {Hook::ingress, Hook::egress})
      TRY_DONE(set_loss(link, {hook, share.parts_per_million}, order.call));
    if (share.parts_per_million == 0) return FaultLines{"the loss on " + link.name + " is taken away"};
    return FaultLines{
        fmt::format("{} drops {} of 1000000 packets, both ways", link.name, share.parts_per_million)};
  });
}

Result<FaultLines> break_agent_partition(const FaultOrder& order) {
  TRY(const bool on, is_on(order));
  const std::string port = management_bridge_port(order.device);
  return in_device(at_the_bridge(order), [&](Session& session) -> Result<FaultLines> {
    TRY_DONE(session.set_admin(port, !on));
    return FaultLines{fmt::format("ip link set {} {}", port, on ? "down" : "up")};
  });
}

Result<FaultLines> break_agent_revoked(const FaultOrder& order) {
  TRY(const bool on, is_on(order));
  if (on) {
    TRY_DONE(revoke_agent_certificate(order.twin.cluster, order.device));
    return FaultLines{order.device + ": the agent's certificate is on the revocation list of the twin's CA"};
  }
  TRY_DONE(issue_agent_certificate(order.twin.cluster, order.device));
  return FaultLines{order.device + ": the agent has a new certificate"};
}

Result<FaultLines> break_agent_stopped(const FaultOrder& order) {
  TRY(const bool on, is_on(order));
  return on ? signal_daemon(order, "agent", SIGSTOP, "STOP") : signal_daemon(order, "agent", SIGCONT, "CONT");
}

}  // namespace lockstep
