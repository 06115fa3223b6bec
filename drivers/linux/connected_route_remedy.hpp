// ConnectedRouteRemedy: restores the connected route of a port's address, which the kernel creates with the
// address and which was removed since (`ip route flush table main`). Until then no next hop on that network
// is valid, so routes through it can't be written.
//
// Promises: the route is written as the kernel writes it (proto kernel, scope link, with the address as its
// source), so that it is removed with the address; the address stays, and no traffic is disturbed. All are
// attempted: if one can't be written, the outcome is unknown if another was. Refuses an effect that is not
// about the network of an address that the last observation found at that port.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/kernel_state.hpp"

namespace lockstep {

class ConnectedRouteRemedy : public Remedy {
 public:
  // Empty: this machine's own network namespace.
  explicit ConnectedRouteRemedy(std::string netns_path) : netns_path_(std::move(netns_path)) {}

  // From an observation that read addresses.
  void remember(const NetworkState& network);
  // The same by the entries of an observation of addresses and admin states.
  void remember(const Tree& have);

  std::optional<Offer> offer(const Change& effect) const override;
  Result<Done> cure(const ChangeSet& effects, const Call& call) override;

 private:
  struct Connected {
    std::string port;
    IpPrefix address;
  };
  std::optional<Connected> of(const Change& effect) const;
  void keep(std::vector<Connected> now);

  const std::string netns_path_;
  mutable std::mutex mutex_;
  std::vector<Connected> seen_;
};

}  // namespace lockstep
