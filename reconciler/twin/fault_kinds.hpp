// The functions behind the table of faults, by subsystem: faults_agent.cpp, faults_link.cpp,
// faults_queue.cpp, faults_routing.cpp, faults_sonic.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "drivers/linux/session.hpp"
#include "reconciler/twin/faults.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {

Result<FaultLines> break_agent_clock(const FaultOrder& order);
Result<FaultLines> break_agent_delay(const FaultOrder& order);
Result<FaultLines> break_agent_killed(const FaultOrder& order);
Result<FaultLines> break_agent_loss(const FaultOrder& order);
Result<FaultLines> break_agent_partition(const FaultOrder& order);
Result<FaultLines> break_agent_revoked(const FaultOrder& order);
Result<FaultLines> break_agent_stopped(const FaultOrder& order);
Result<FaultLines> break_mtu(const FaultOrder& order);
Result<FaultLines> break_address_removed(const FaultOrder& order);
Result<FaultLines> break_wrong_address(const FaultOrder& order);
Result<FaultLines> break_link_down(const FaultOrder& order);
Result<FaultLines> break_link_flap(const FaultOrder& order);
Result<FaultLines> break_offload(const FaultOrder& order);
Result<FaultLines> break_sysctl(const FaultOrder& order);
Result<FaultLines> break_hash_policy(const FaultOrder& order);
Result<FaultLines> break_miscabled(const FaultOrder& order);
Result<FaultLines> break_slow_link(const FaultOrder& order);
Result<FaultLines> break_packet_loss(const FaultOrder& order);
Result<FaultLines> break_bgp_neighbor_shutdown(const FaultOrder& order);
Result<FaultLines> break_ecmp_off(const FaultOrder& order);
Result<FaultLines> break_lost_nexthop(const FaultOrder& order);
Result<FaultLines> break_hung_daemon(const FaultOrder& order);
Result<FaultLines> break_resumed_daemon(const FaultOrder& order);
Result<FaultLines> break_killed_daemon(const FaultOrder& order);
Result<FaultLines> break_sonic_ignores_row(const FaultOrder& order);
Result<FaultLines> break_sonic_reports_up(const FaultOrder& order);
Result<FaultLines> break_sonic_stand_in_dies(const FaultOrder& order);

// A signal to a daemon of the order's device.
Result<FaultLines> signal_daemon(const FaultOrder& order, const std::string& daemon, int number,
                                 const char* name);
// A share of the packets that a port receives or sends is dropped; 0: none any more.
enum class Hook { ingress, egress };
struct Loss {
  Hook hook = Hook::ingress;
  std::uint32_t parts_per_million = 0;
};
Result<Done> set_loss(const Link& link, const Loss& loss, const Call& call);
// A share of packets: "10%". An error (invalid_spec) above 100%.
Result<Ratio> parse_loss(const std::string& word);

// Runs `body` in the order's namespace, with a session there.
Result<FaultLines> in_device(const FaultOrder& order,
                             const std::function<Result<FaultLines>(Session&)>& body);
// A port by its name in the spec; the error lists the existing ports.
Result<Link> port_of(const FaultOrder& order, const std::string& port);
// An interface by its kernel name.
Result<Link> link_of(const FaultOrder& order, const std::string& name);

}  // namespace lockstep
