// The spec of a large cluster as text: hosts x 8 rails, a leaf switch for each rail and group of 64 hosts,
// spine switches in eight planes, one for each rail.
//
// 4,096 hosts give 512 leaf and 128 spine switches, 32,768 host links and as many uplinks in a non-blocking
// fabric of 128-port leaf switches. Rails are separate planes of the fabric (GPUs reach other rails over
// NVLink, as NCCL's PXN does).
#pragma once

#include <string>

namespace lockstep::perf {

struct FleetShape {
  unsigned hosts = 4096;
  bool roce = true;
  bool one_plane = false;  // every leaf switch has a link to every spine switch: rails are not separate
  unsigned groups() const { return (hosts + 63) / 64; }
  unsigned leaves() const { return groups() * 8; }
  unsigned spines() const { return leaves() / 4 < 8 ? 8 : leaves() / 4; }
};

std::string fleet_spec(const FleetShape& shape);

}  // namespace lockstep::perf
