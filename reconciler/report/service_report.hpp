// What a service does, line by line: for its log, a terminal, and systemd's status.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/report/terminal.hpp"
#include "reconciler/service/service_event.hpp"
#include "reconciler/service/service_status.hpp"

namespace lockstep {

std::string serving_text(const std::string& source, const Terminal& terminal);
// "19:05:26  change kept       Revision/3f2a91c0  all SLOs hold", with a newline.
std::string service_event_text(const ServiceEvent& event, const Terminal& terminal);
// The same on one line of somebody else's: "ChangeKept Revision/3f2a91c0: all SLOs hold".
std::string service_event_message(const ServiceEvent& event);
// {"apiVersion", "kind": "Event", "reason", "at", "object", "message"}.
nlohmann::json service_event_json(const ServiceEvent& event);
// One line: what it does now, or what it waits for.
std::string service_status_line(const ServiceStatus& status);

}  // namespace lockstep
