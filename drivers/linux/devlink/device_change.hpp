// Changes of one port's devlink device, each made, read back and reported.
//
// Promises: a parameter is changed in the mode that takes effect soonest; parameters that take effect at a
// reload are set together and the device is reloaded once, also if several of its ports request the same. A
// reload, a change of mode and a change of the number of virtual functions can recreate ports: the change is
// complete when the device's previous ports exist again under their names, and what was lost with them is
// restored: their network state (port_network.hpp), virtual functions, the eswitch's mode, the virtual
// functions' rates; each regardless of the others. If a reload is refused the parameters are set back, as
// they would otherwise read as if they were in effect. Refuses a parameter that the device does not have
// (listing those that it has), and a rate that is not a whole number of bytes a second.
#pragma once

#include <span>

#include "drivers/linux/devlink/map.hpp"
#include "drivers/linux/devlink/port_network.hpp"
#include "drivers/linux/devlink/virtual_functions.hpp"

namespace lockstep::devlink_map {

class DeviceChange {
 public:
  DeviceChange(devlink::Client& client, const HostFiles& files, devlink::Handle device, const Call& call)
      : client_(client),
        device_(std::move(device)),
        functions_(files, device_.bus, device_.name),
        call_(call) {}

  // One outcome each.
  Answers set_parameters(std::span<const Change> changes);
  Result<Done> set_eswitch(const Change& change);
  Result<Done> set_max_rate(const Change& change);
  Result<Done> set_virtual_functions(std::uint32_t count);

 private:
  struct Kept {
    std::optional<std::uint32_t> functions;  // none: the device does not support it
    devlink::Eswitch eswitch;
    std::map<std::uint16_t, std::uint64_t> rates;  // by virtual function number
    std::vector<devlink::Port> ports;              // the device's own, those with a netdev
    PortNetwork network;
  };
  Result<Kept> keep();
  Result<Done> put_back(const Kept& kept);
  Result<Done> put_back_mode(const devlink::Eswitch& kept);
  Result<Done> put_back_rates(const std::map<std::uint16_t, std::uint64_t>& kept);
  // True: the ports were recreated.
  Result<bool> await(const std::vector<devlink::Port>& before);
  Result<std::vector<devlink::Port>> ports();
  Result<std::vector<devlink::Parameter>> parameters();
  Result<std::uint8_t> set_parameter(const Change& change, const std::vector<devlink::Parameter>& all);
  // None: the device does not report it.
  Value value_in(const std::vector<devlink::Parameter>& all, const Change& change) const;
  void reload(std::span<const Change> changes, const std::vector<std::size_t>& pending,
              const std::vector<devlink::Parameter>& before, Answers& out);
  Result<Done> set_rate(std::uint16_t function, std::uint64_t bytes_per_second);
  // Bytes/s by virtual function; unlimited ones are left out.
  Result<std::map<std::uint16_t, std::uint64_t>> rates();

  devlink::Client& client_;
  const devlink::Handle device_;
  const devlink::VirtualFunctions functions_;
  const Call& call_;
};

}  // namespace lockstep::devlink_map
