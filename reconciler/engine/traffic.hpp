// Traffic: which devices and ports carry any now, as far as the devices' own trees tell.
//
// Members of collections whose removal would disturb traffic (addresses, neighbours, routes) are what makes a
// port or a device carry any. Of a port or a device that has none of them in its tree (it only switches
// frames), the other ends of its cables tell.
//
// Promises: what could not be read may carry traffic. The input must outlive it.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reconciler/engine/columns.hpp"
#include "reconciler/engine/plan.hpp"

namespace lockstep {

class Traffic {
 public:
  Traffic(const PlanInput& input, const Columns& columns);
  // The place of a device among PlanInput::devices; none: the input has no such device.
  std::optional<std::uint32_t> find(std::string_view device) const;
  // `device`: into PlanInput::devices.
  bool at(std::uint32_t device);
  bool at(std::uint32_t device, std::string_view port);

 private:
  struct Told {
    bool device = false;
    std::set<std::string_view> ports;  // first keys
    bool device_told = false;
    std::set<std::string_view> ports_told;
  };
  Told tell(const DeviceInput& device) const;
  const Told& told(std::uint32_t device);
  bool at_end(const PortName& end);

  const PlanInput& input_;
  const Columns& columns_;
  std::vector<std::optional<Told>> told_;  // by device, once asked for
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::unordered_map<std::string_view, std::vector<const PortName*>> ends_at_;  // the far ends of its cables
};

}  // namespace lockstep
