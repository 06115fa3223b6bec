// LLDP (IEEE 802.1AB-2016): what a neighbour says about itself, as frames on the wire.
//
// Promises: decode() checks every length and stops at the end-of-frame TLV; unknown TLVs are skipped. The
// listener only receives: it changes nothing but the multicast membership of its own socket. An lldpd that
// hangs costs a question's patience, no more, and is told from one that is not there. Refuses: frames without
// the three mandatory TLVs in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "drivers/linux/netlink.hpp"
#include "drivers/posix/call.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {

struct LldpNeighbour {
  std::string chassis;           // chassis id as text
  std::string port_id;           // port id as text
  bool port_is_name = false;     // the port id is an interface's name or locally assigned (subtypes 5 and 7)
  std::string port_description;  // empty: not told
  std::string system_name;       // empty: not told
  std::chrono::seconds lifetime{0};

  // "device:port" as entries carry it, in printable ASCII: a neighbour may say any bytes, and what it says
  // goes to terminals, JSON and the journal; others become '?'. lldpd names a port by its MAC address and
  // puts the interface's name in the description, unless the port has an alias (lldpd(8), portidsubtype).
  std::string text() const;
};

inline constexpr std::uint16_t kLldpEtherType = 0x88CC;

// `frame` begins after the Ethernet header.
Result<LldpNeighbour> decode_lldp(netlink::Bytes frame);

// Hears neighbours on all interfaces of the calling thread's network namespace (as of open()).
class LldpListener {
 public:
  static Result<LldpListener> open(const Call& call);
  // What has come so far, without blocking; by interface index. A neighbour that says lifetime 0 is gone.
  Result<std::map<std::uint32_t, LldpNeighbour>> heard();
  // Listens until the call's deadline, which is not an error here.
  Result<std::map<std::uint32_t, LldpNeighbour>> listen(const Call& call);
  int descriptor() const { return descriptor_.number(); }

 private:
  explicit LldpListener(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
  std::map<std::uint32_t, LldpNeighbour> neighbours_;
};

// What an lldpd said, read over its control socket (liblldpctl).
struct LldpdAnswer {
  // unclear: nothing was learned of the agent itself (stopped, no time left, built without liblldpctl).
  enum class Agent : std::uint8_t { answers, absent, silent, unclear };
  Agent agent = Agent::unclear;
  std::optional<Error> why;                      // of anything but answers
  std::map<std::string, LldpNeighbour> heard{};  // by interface name; of several at a port the latest comer
};
LldpdAnswer read_lldpd(const std::string& socket_path, const Call& call);

}  // namespace lockstep
