// The agents of a twin: credentials from a CA of the twin's own, and the configuration of each.
#pragma once

#include "drivers/agent/tls.hpp"
#include "reconciler/twin/layout.hpp"

namespace lockstep {

// The CA and the controller's certificate, if there are none yet.
Result<Done> prepare_authority(const TwinRecord& record);
// A folder (DevicePlaces::agent_dir) with the device's certificate and agent.yaml. There must be none.
Result<Done> prepare_agent(const TwinRecord& record, const TwinDevice& device);

// The controller's: who has them may change every device of the twin. Root's alone.
TlsFiles controller_credentials(const std::string& cluster);

}  // namespace lockstep
