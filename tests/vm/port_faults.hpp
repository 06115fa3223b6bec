// What a test does to a port, in a network namespace (empty: this one): another MTU, down, packets lost, a
// queue that marks. A kernel that refuses is a failure of the test.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// In the calling thread's namespace.
std::uint32_t index_of(const std::string& port);
void set_mtu(const std::string& netns, const std::string& port, std::uint32_t mtu);
void set_admin(const std::string& netns, const std::string& port, bool up);
// netem(8) at the root of a port of this namespace: this share of its packets is dropped.
void lose(const std::string& port, double share);
// A port of this namespace: 40 Mb/s (TBF), and RED behind it that marks from 8 KB on.
void mark_behind_40mbps(const std::string& port);

}  // namespace lockstep
