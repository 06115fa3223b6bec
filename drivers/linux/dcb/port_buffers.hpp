// The intermediate buffers of one port between its actual and its desired set. No I/O.
//
// Promises: in between, priorities that are losing PFC have the buffers that they had, none smaller, and all
// others have the desired ones. Refuses if the port does not have enough buffers for both at once.
#pragma once

#include "drivers/linux/dcb/dcbnl.hpp"
#include "specs/model/result.hpp"

namespace lockstep::dcb {

struct BufferHalves {
  dcbnl_buffer between{};
  dcbnl_buffer after{};  // as desired, possibly with different buffer numbers
};

// `losing`: a bit mask of priorities.
Result<BufferHalves> halves_of(const dcbnl_buffer& have, const dcbnl_buffer& want, std::uint8_t losing);

}  // namespace lockstep::dcb
