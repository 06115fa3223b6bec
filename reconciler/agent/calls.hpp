// DeviceCalls: the calls of protocol 1 (docs/agents.md) on the device of this machine.
//
// Contract: bodies as in drivers/agent/wire.hpp, errors as error_reply() makes them of their kinds; a body
// that does not decode is `invalidSpec`, a driver that is not attached `unsupported`. `apply`, `settle` and
// `remedy` write; `hello`, `observe`, `usage`, `discover` and `healthz` read. Everything that touches the
// device goes through the DeadMan, but discovery, which needs no driver and so waits for no change. The epoch
// of an observation counts only if a controller asks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "drivers/linux/discover.hpp"
#include "reconciler/agent/dead_man.hpp"
#include "reconciler/agent/server.hpp"

namespace lockstep::agent {

class DeviceCalls final : public Calls {
 public:
  struct Identity {
    std::string cluster;
    std::string device;
    std::string version{};     // of the program
    std::string machine_id{};  // empty: machine-id(5)
  };
  using Discover = std::function<Result<DiscoveredHost>(const Call& call)>;
  // `drivers`: those of the DeadMan, by name; they outlive this. `discover`: of the device; null: it can't
  // be.
  DeviceCalls(Identity identity, std::shared_ptr<DeadMan> dead_man, std::map<std::string, Attached*> drivers,
              Discover discover = {});

  Reply handle(std::string_view name, const std::string& body, PeerRole by, const Call& call) override;
  Kind kind(std::string_view name) const override;
  // Of all drivers together; wakes when any of them does.
  Result<std::shared_ptr<Watcher>> watch() override;

 private:
  Result<std::string> answer(std::string_view name, const std::string& body, PeerRole by, const Call& call);
  Result<std::string> hello(const Call& call) const;

  const Identity identity_;
  const std::string boot_id_;
  const std::shared_ptr<DeadMan> dead_man_;
  const std::map<std::string, Attached*> drivers_;
  const Discover discover_;
};

}  // namespace lockstep::agent
