// What a route of ours asks for beyond its next hops, its table and the MTU that it is locked to: nothing, as
// we write it; what another hand has added to it says where packets end (`hoplimit 1`), or which of them it
// takes.
//
// Promises: pure. In the words of ip-route(8), numbers as the kernel keeps them (times in its own units).
#pragma once

#include <cstdint>
#include <string>

#include "drivers/linux/kernel_state.hpp"

namespace lockstep {

// The metric that the kernel gives a route for which none is asked.
std::uint32_t usual_metric(const IpPrefix& destination);

// " tos 0x10"; empty: any.
std::string tos_text(std::uint8_t tos);

// What the route sets for what is sent over it, but its MTU: " hoplimit 1 window lock 2000".
std::string metric_words(const Route& route);

// Of the route as a whole, with its type where it is none to a host or network: " tos 0x10 hoplimit 1";
// empty: nothing.
std::string extras(const Route& route);
// Of one of its next hops: " weight 5".
std::string extras(const NextHop& hop);

}  // namespace lockstep
