// The buffers of one port on their way from one set to another. No I/O.
//
// Promises: in between, priorities that are losing PFC have the buffers that they had, none smaller, and all
// others have those that are wanted. Refuses what the port has not enough buffers for at once.
#pragma once

#include "drivers/linux/dcb/dcbnl.hpp"
#include "specs/model/result.hpp"

namespace lockstep::dcb {

struct BufferHalves {
  dcbnl_buffer between{};
  dcbnl_buffer after{};  // as wanted, maybe with other numbers of buffers
};

// `losing`: the bits of the priorities.
Result<BufferHalves> halves_of(const dcbnl_buffer& have, const dcbnl_buffer& want, std::uint8_t losing);

}  // namespace lockstep::dcb
