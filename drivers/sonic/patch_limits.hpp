// What `config apply-patch` refuses whatever else is so, as data: SONiC's allow-list of operations
// (sonic-utilities 691b1bbc, generic_config_updater/gcu_field_operation_validators.conf.json,
// field_operation_validators.py, and validate_field_operation of gu_common.py).
//
// Promises: an operation that is refused here is refused by every ASIC and image of that list. The list also
// depends on ASIC and image, has had some 70 versions, and an ASIC that it does not have may change nothing
// of what it guards: that is for the switch's own dry run to refuse.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sonic/config_patch.hpp"

namespace lockstep::sonic {

// What of an operation's place a limit is about.
enum class PatchPlace : std::uint8_t { table, row, field };

struct PatchLimit {
  std::string_view table;
  PatchPlace place;
  std::string_view field;  // of a field
  bool add;
  bool replace;
  bool remove;
};

// STATE_DB PORT_TABLE, supported_speeds and supported_fecs of each port; none: the switch does not say.
struct PatchPort {
  std::optional<std::vector<std::string>> speeds{};
  std::optional<std::vector<std::string>> fecs{};
};
using PatchPorts = std::map<std::string, PatchPort, std::less<>>;

struct PatchRefusal {
  std::size_t operation;
  std::string why;  // "BUFFER_POOL|ingress_lossless_pool: config apply-patch refuses ..."
};
// `is_chassis`: such a switch's ports are not held to what STATE_DB says.
std::vector<PatchRefusal> refused_operations(const std::vector<PatchOperation>& patch,
                                             const PatchPorts& ports, bool is_chassis);
// Whether DEVICE_METADATA leaves it possible (sonic-buildimage 086b03bd, sonic_py_common/device_info.py,
// is_chassis, which also looks at files).
bool may_be_chassis(const ConfigDb& config);

}  // namespace lockstep::sonic
