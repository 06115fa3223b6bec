// FrrRemedy: remedies for a device that is configured as desired but does not behave so.
//
// reinstall-multipath: the kernel's next-hop group has lost a member that FRR reports as installed (FRR 8.4
// after a link flap, FRRouting/frr #15505): sets maximum-paths to 1, and back once zebra has followed;
// meanwhile traffic keeps to one path; done once for all prefixes. Any disturbed link may require it at both
// ends (stands_by). clear-session: for a neighbour that stays down, whose only route the kernel lost, or that
// runs with outdated timers. accept-routes: for a session that discards every route because of the RFC 8212
// guard. restart-daemon: for a daemon that is dead or hangs, if the target can start it. Promises:
// maximum-paths is restored even when the call ends early; a session that has agreed on the desired timers in
// the meantime is left alone; a neighbour is reset once, however many of its effects are open. An error is
// `refused` or `unsupported` only if nothing was changed. A prefix that FRR is still about to install, or has
// no second next hop for, is left alone: refused if there is no other prefix to handle. Refuses to remedy
// what is configured: a neighbour that is shut down.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "drivers/frr/driver.hpp"
#include "drivers/frr/map.hpp"

namespace lockstep::frr {

class FrrRemedy : public Remedy {
 public:
  // `seen` returns the last observation's; it may be empty. The target must outlive the remedy.
  FrrRemedy(const FrrTarget& target, std::function<SeenSessions()> seen)
      : target_(target), seen_(std::move(seen)) {}

  std::optional<Offer> offer(const Change& effect) const override;
  std::optional<Offer> stands_by(const Change& effect) const override;
  Result<Done> cure(const ChangeSet& effects, const Call& call) override;

 private:
  enum class Cure : std::uint8_t { none, reinstall, clear, accept, restart };
  Cure cure_for(const Change& effect) const;
  static Offer offer_of(Cure cure);
  Result<Done> reinstall(const std::set<std::string>& prefixes, const Call& call);
  Result<Done> clear_for(const Change& effect, std::set<std::string>& cleared, const Call& call);
  Result<Done> clear(const std::string& interface, const Call& call);
  Result<Done> restart(const std::string& daemon, const Call& call);
  Result<bool> runs_with_wanted_timers(const Change& effect, const Call& call);
  Result<Done> accept_routes(const std::string& interface, const Call& call);

  const FrrTarget& target_;
  std::function<SeenSessions()> seen_;
};

// FRR's own view of a prefix, from zebra: interfaces of the next hops that it reports as installed.
struct RouteView {
  std::string protocol;  // "bgp"; empty: FRR has no such route
  bool installed = false;
  std::int64_t group = 0;  // zebra's next-hop group; the kernel uses the same id
  std::vector<std::string> interfaces;
};
Result<RouteView> route_view_of(std::string_view json, const std::string& prefix);
Result<RouteView> read_route(const std::string& run_dir, const std::string& prefix, const Call& call);

}  // namespace lockstep::frr
