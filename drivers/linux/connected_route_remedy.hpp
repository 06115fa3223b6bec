// ConnectedRouteRemedy: gives an address of a port its connected route back, which the kernel makes with the
// address and somebody took out (`ip route flush table main`). Until then no next hop on that network is
// valid, so that routes through it can't be written.
//
// Promises: the route is written as the kernel writes it (proto kernel, of link scope, with the address as
// its source), so that it goes with the address; the address stays, and no traffic is disturbed. All are
// tried: where one can't be written, the outcome is unknown if another was. Refuses an effect that is not of
// the network of an address that the last observation found at that port.
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

  // Of an observation that read addresses.
  void remember(const NetworkState& network);

  std::optional<Offer> offer(const Change& effect) const override;
  Result<Done> cure(const ChangeSet& effects, const Call& call) override;

 private:
  struct Connected {
    std::string port;
    IpPrefix address;
  };
  std::optional<Connected> of(const Change& effect) const;

  const std::string netns_path_;
  mutable std::mutex mutex_;
  std::vector<Connected> seen_;
};

}  // namespace lockstep
