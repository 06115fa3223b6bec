// The ToS byte of a port's RoCE packets, from all its sources: rdma_cm's default, its mode, and MLNX_OFED's
// traffic class. Texts and values, no I/O: settings.hpp describes the files.
//
// Promises: tos_value() and tos_of() are inverses for the ToS bytes on which all sources agree, and for every
// text that tos_value() makes. Refuses other texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "specs/model/value.hpp"

namespace lockstep::rdma {

struct RoceTos {
  std::int64_t tos = 0;
  std::string mode;                           // "RoCE v2", "IB/RoCE v1"
  std::optional<std::int64_t> traffic_class;  // none: the driver has no such file; kUnset: none is set
  bool operator==(const RoceTos&) const = default;
};

inline constexpr std::int64_t kUnset = -1;  // as accepted by MLNX_OFED ("tclass=-1")

Value tos_value(const RoceTos& tos);
// The desired state of all sources; a bare number means that all agree on it. `has_traffic_class`: the driver
// has the file.
std::optional<RoceTos> tos_of(const Value& value, bool has_traffic_class);

// "Global tclass=106", "106", "" (unset), depending on the version of MLNX_OFED.
std::optional<std::int64_t> traffic_class_in(std::string_view text);

}  // namespace lockstep::rdma
