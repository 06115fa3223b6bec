// Faults of a port in a network namespace (empty: this one): another MTU, down, packet loss, a queue that
// marks. A refusal of the kernel is a test failure.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// The index of a port in the namespace of the calling thread.
std::uint32_t index_of(const std::string& port);
void set_mtu(const std::string& netns, const std::string& port, std::uint32_t mtu);
void set_admin(const std::string& netns, const std::string& port, bool up);
// Drops this share of the packets of a port of this namespace, with netem(8) at its root.
void lose(const std::string& port, double share);
// Limits a port of this namespace to 40 Mb/s (TBF), with RED behind it that marks from 8 KB on.
void mark_behind_40mbps(const std::string& port);

}  // namespace lockstep
