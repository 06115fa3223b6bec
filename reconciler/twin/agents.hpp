// The agents of a twin: credentials from a CA of the twin's own, and the configuration of each.
#pragma once

#include <cstdint>
#include <string>

#include "drivers/agent/tls.hpp"
#include "reconciler/twin/layout.hpp"

namespace lockstep {

// The CA and the controller's certificate, if there are none yet.
Result<Done> prepare_authority(const TwinRecord& record);
// A folder (DevicePlaces::agent_dir) with the device's certificate, its copy of the CA's, agent.yaml, and the
// ids that the agent reads as its machine's. Of a device that is made anew, as a machine that starts again
// has them: another boot id; the machine id and the journal stay.
Result<Done> prepare_agent(const TwinRecord& record, const TwinDevice& device);

// Files in that folder, which the agent sees in the place of the machine's own (daemons.cpp).
inline constexpr const char* kBootIdFile = "boot_id";
inline constexpr const char* kMachineIdFile = "machine-id";

// A new one in the place of the former, which the agent uses from the next connection on.
Result<Done> issue_agent_certificate(const std::string& cluster, const std::string& device);
Result<Done> revoke_agent_certificate(const std::string& cluster, const std::string& device);

// What this agent finds the twin's CA certificate to be, as if its clock were off: CLOCK_REALTIME has no
// namespace (time_namespaces(7)).
enum class AuthorityDates : std::uint8_t { as_made, not_yet_valid, expired };
Result<Done> set_authority_dates(const std::string& cluster, const std::string& device, AuthorityDates dates);

// The controller's: who has them may change every device of the twin. Root's alone.
TlsFiles controller_credentials(const std::string& cluster);

}  // namespace lockstep
