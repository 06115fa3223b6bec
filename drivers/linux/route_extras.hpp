// Attributes of one of our routes beyond its next hops, its table and its locked MTU: none, as lockstep
// writes it; attributes added by another writer affect how far packets get (`hoplimit 1`), or which packets
// the route applies to.
//
// Promises: pure. In ip-route(8) syntax, numbers as the kernel keeps them (times in its own units).
#pragma once

#include <cstdint>
#include <string>

#include "drivers/linux/kernel_state.hpp"

namespace lockstep {

// The metric that the kernel assigns to a route without an explicit one.
std::uint32_t usual_metric(const IpPrefix& destination);

// " tos 0x10"; empty: any.
std::string tos_text(std::uint8_t tos);

// What the route sets for packets sent over it, except its MTU: " hoplimit 1 window lock 2000".
std::string metric_words(const Route& route);

// For the route as a whole, with its type if it is not unicast: " tos 0x10 hoplimit 1"; empty:
// nothing.
std::string extras(const Route& route);
// For one of its next hops: " weight 5".
std::string extras(const NextHop& hop);

}  // namespace lockstep
