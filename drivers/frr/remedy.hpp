// FrrRemedy: what cures a device that is configured as wanted and does not do it.
//
// reinstall-multipath: the kernel's next-hop group has lost a member that FRR calls installed (FRR 8.4 after
// a link flap, FRRouting/frr #15505): maximum-paths goes to 1, and back once zebra has followed; while it
// lasts traffic keeps to one path; once for all prefixes. It is what any disturbed link may call for at its
// two ends (stands_by). clear-session: a neighbour that stays down, whose only route the kernel
// lost, or that runs with timers of former times. accept-routes: a session that discards every route because
// the RFC 8212 guard is on. restart-daemon: one that is dead or hangs, where the target can start it.
// Promises: maximum-paths is put back even when the call ends early; a session that has agreed on the wanted
// timers meanwhile is left alone; a neighbour is reset once, however many of its effects are open. An error
// says `refused` or `unsupported` only where nothing was touched. A prefix that FRR is still about to
// install, or itself has no second next hop for, is left alone: refused where no other is to be served.
// Refuses to cure what it did not cause: a neighbour that is shut.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "drivers/frr/driver.hpp"
#include "drivers/frr/state.hpp"

namespace lockstep::frr {

class FrrRemedy : public Remedy {
 public:
  // `seen` is the last observation's state; it may be empty. The target must outlive the remedy.
  FrrRemedy(const FrrTarget& target, std::function<State()> seen) : target_(target), seen_(std::move(seen)) {}

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
  std::function<State()> seen_;
};

// FRR's own view of a prefix, from zebra: interfaces of the next hops that it calls installed.
struct RouteView {
  std::string protocol;  // "bgp"; empty: FRR has no such route
  bool installed = false;
  std::int64_t group = 0;  // zebra's next-hop group, the kernel's id of it too
  std::vector<std::string> interfaces;
};
Result<RouteView> route_view_of(std::string_view json, const std::string& prefix);
Result<RouteView> read_route(const std::string& run_dir, const std::string& prefix, const Call& call);

}  // namespace lockstep::frr
