// Traffic: which devices and ports have traffic now, as far as the devices' own trees show.
//
// Members of collections whose removal would disturb traffic (addresses, neighbours, routes) mean that a port
// or a device has traffic. For a port or device with none of them in its tree (it only switches frames), the
// other ends of its cables decide.
//
// Promises: what could not be read may have traffic. The input must outlive this object.
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
  // The index of a device in PlanInput::devices; none: the input has no such device.
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
  std::vector<std::optional<Told>> told_;  // by device, computed on first use
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::unordered_map<std::string_view, std::vector<const PortName*>> ends_at_;  // the far ends of its cables
};

}  // namespace lockstep
