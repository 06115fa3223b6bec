// Changes of one port's devlink device, each made, read back and answered for.
//
// Promises: a parameter is changed in the mode that holds soonest; parameters that take effect at a reload
// are set together and the device is reloaded once, also where several of its ports are asked for the same.
// A reload, a change of mode and a change of how many virtual functions there are can make ports anew: it is
// over when the ports that the device had are there again under their names, and what goes with them is put
// back: what they have of the network (port_network.hpp), virtual functions, the eswitch's mode, the virtual
// functions' rates; each whatever became of the others. Where a reload is refused the parameters are put
// back, as they would otherwise read as if they held. Refuses a parameter that the device lacks, with those
// that it has; a rate that is no whole number of bytes a second.
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

  // One answer each.
  Answers set_parameters(std::span<const Change> changes);
  Result<Done> set_eswitch(const Change& change);
  Result<Done> set_max_rate(const Change& change);
  Result<Done> set_virtual_functions(std::uint32_t count);

 private:
  struct Kept {
    std::optional<std::uint32_t> functions;  // none: the device has no such thing
    devlink::Eswitch eswitch;
    std::map<std::uint16_t, std::uint64_t> rates;  // of virtual functions, by number
    std::vector<devlink::Port> ports;              // the device's own, those with a netdev
    PortNetwork network;
  };
  Result<Kept> keep();
  Result<Done> put_back(const Kept& kept);
  Result<Done> put_back_mode(const devlink::Eswitch& kept);
  Result<Done> put_back_rates(const std::map<std::uint16_t, std::uint64_t>& kept);
  // True: they are other ports than they were.
  Result<bool> await(const std::vector<devlink::Port>& before);
  Result<std::vector<devlink::Port>> ports();
  Result<std::vector<devlink::Parameter>> parameters();
  Result<std::uint8_t> set_parameter(const Change& change, const std::vector<devlink::Parameter>& all);
  // None: the device does not tell it.
  Value value_in(const std::vector<devlink::Parameter>& all, const Change& change) const;
  void reload(std::span<const Change> changes, const std::vector<std::size_t>& pending,
              const std::vector<devlink::Parameter>& before, Answers& out);
  Result<Done> set_rate(std::uint16_t function, std::uint64_t bytes_per_second);
  // Bytes/s by virtual function; those without a bound are left out.
  Result<std::map<std::uint16_t, std::uint64_t>> rates();

  devlink::Client& client_;
  const devlink::Handle device_;
  const devlink::VirtualFunctions functions_;
  const Call& call_;
};

}  // namespace lockstep::devlink_map
