// Qdiscs, HTB classes and u32 filters of a namespace, decoded from rtnetlink, and the requests that make
// them.
//
// Promises: rates are bytes a second and sizes bytes here, as in the kernel (map.cpp uses bit/s);
// 64-bit rates are read and written. Qdiscs of an unknown kind keep their kind, handle and place, so
// that they can be left alone. Formats: linux/pkt_sched.h, linux/pkt_cls.h, net/sched/sch_{tbf,htb}.c,
// cls_u32.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/ecn_red.hpp"
#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/queueing/class_qdiscs.hpp"

namespace lockstep {

struct Qdisc {
  std::uint32_t index = 0;  // interface
  std::uint32_t handle = 0;
  std::uint32_t parent = 0;
  std::string kind;
  bool offloaded = false;               // done by the port's hardware
  std::uint64_t tbf_rate = 0;           // kind tbf
  std::uint32_t htb_default_class = 0;  // kind htb: minor number
  std::optional<RedParameters> red;     // kind red
  std::optional<EtsParameters> ets;
  std::optional<MqprioParameters> mqprio;
};

struct HtbClass {
  std::uint32_t index = 0;
  std::uint32_t handle = 0;
  std::uint32_t parent = 0;
  std::uint64_t rate = 0;
  std::uint64_t ceil = 0;
  std::uint32_t priority = 0;
  bool operator==(const HtbClass&) const = default;
};

// A u32 filter that classifies one DSCP of IPv4 (ToS byte) or IPv6 (traffic class).
struct DscpFilter {
  std::uint32_t index = 0;
  std::uint32_t parent = 0;
  std::uint32_t handle = 0;
  std::uint16_t preference = 0;
  bool v6 = false;
  std::uint8_t dscp = 0;
  std::uint32_t flow = 0;  // class that packets are sent to
  bool plain = true;       // it has no other condition, and no other action
};

// The ECN marker on a port's clsact egress; its threshold is in the filter's name (lockstep-ecn:65536).
struct EcnMarker {
  std::uint32_t index = 0;
  std::uint64_t threshold = 0;
};

// Decoders; nullopt: of no interest.
Result<std::optional<EcnMarker>> decode_marker(netlink::Bytes payload);
Result<std::optional<Qdisc>> decode_qdisc(netlink::Bytes payload);
Result<std::optional<HtbClass>> decode_class(netlink::Bytes payload);
Result<std::optional<DscpFilter>> decode_filter(netlink::Bytes payload);

Result<std::vector<Qdisc>> read_qdiscs(netlink::Socket& socket, const Call& call);
Result<std::vector<HtbClass>> read_classes(netlink::Socket& socket, std::uint32_t index, const Call& call);
Result<std::vector<DscpFilter>> read_filters(netlink::Socket& socket, std::uint32_t index,
                                             std::uint32_t parent, const Call& call);

Result<std::vector<EcnMarker>> read_markers(netlink::Socket& socket, std::uint32_t index, const Call& call);

struct TbfShape {
  std::uint64_t rate = 0;
  std::uint32_t burst = 0;
  std::uint32_t limit = 0;
};
netlink::Request tbf_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent,
                             const TbfShape& shape);
netlink::Request htb_request(std::uint32_t index, std::uint32_t handle, std::uint32_t default_minor);
netlink::Request class_request(const HtbClass& wanted);  // creates or replaces
netlink::Request filter_request(const DscpFilter& wanted);
// `program`: a loaded tc program. An existing marker is replaced atomically.
netlink::Request marker_request(const EcnMarker& wanted, int program);
netlink::Request delete_marker_request(std::uint32_t index);
netlink::Request bare_qdisc_request(std::uint32_t index, std::uint32_t handle, std::string_view kind);
netlink::Request delete_root_request(std::uint32_t index);
netlink::Request delete_qdisc_request(std::uint32_t index, std::uint32_t handle, std::uint32_t parent);
netlink::Request delete_class_request(std::uint32_t index, std::uint32_t handle);
netlink::Request delete_filter_request(const DscpFilter& gone);

}  // namespace lockstep
