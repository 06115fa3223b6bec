// LLDP (IEEE 802.1AB-2016): what neighbours announce about themselves, decoded from frames on the wire.
//
// Promises: decode_lldp() checks every length and stops at the end-of-frame TLV; unknown TLVs are skipped.
// The listener only receives: it changes nothing but the multicast membership of its own socket. An lldpd
// that hangs costs one query's time limit, no more, and is distinguished from one that is not running.
// Refuses: frames without the three mandatory TLVs in order.
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
  std::string port_description;  // empty: not announced
  std::string system_name;       // empty: not announced
  std::chrono::seconds lifetime{0};

  // "device:port" as in entries, in printable ASCII: a neighbour may send any bytes, and the text is written
  // to terminals, JSON and the journal; other bytes become '?'. lldpd names a port by its MAC address and
  // puts the interface's name in the description, unless the port has an alias (lldpd(8), portidsubtype).
  std::string text() const;
};

inline constexpr std::uint16_t kLldpEtherType = 0x88CC;

// `frame` begins after the Ethernet header.
Result<LldpNeighbour> decode_lldp(netlink::Bytes frame);

// Receives from neighbours on all interfaces of the calling thread's network namespace (as of open()).
class LldpListener {
 public:
  static Result<LldpListener> open(const Call& call);
  // The neighbours received so far, without blocking; by interface index. A neighbour that sends lifetime 0
  // is removed.
  Result<std::map<std::uint32_t, LldpNeighbour>> heard();
  // Listens until the call's deadline, which is not an error here.
  Result<std::map<std::uint32_t, LldpNeighbour>> listen(const Call& call);
  int descriptor() const { return descriptor_.number(); }

 private:
  explicit LldpListener(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
  std::map<std::uint32_t, LldpNeighbour> neighbours_;
};

// What lldpd reports, read over its control socket (liblldpctl).
struct LldpdAnswer {
  // unclear: the agent's state is unknown (stopped, no time left, no liblldpctl here).
  enum class Agent : std::uint8_t { answers, absent, silent, unclear };
  Agent agent = Agent::unclear;
  std::optional<Error> why;                      // set unless the agent answers
  std::map<std::string, LldpNeighbour> heard{};  // by interface name; with several at a port the most recent
};
LldpdAnswer read_lldpd(const std::string& socket_path, const Call& call);

}  // namespace lockstep
