// What systemd's journal keeps of an event of a service, beside its message (systemd.journal-fields(7)).
//
// Promises: MESSAGE, PRIORITY (3, 4 or 6) and MESSAGE_ID; LOCKSTEP_EVENT is the kind's word. Where they are
// known: LOCKSTEP_CLUSTER, LOCKSTEP_REVISION (whole), LOCKSTEP_CHANGE (of the ledger), LOCKSTEP_DEVICE, one
// for each device that it is about. Ids of kinds never change; packaging/lockstep.catalog explains each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reconciler/service/service_event.hpp"

namespace lockstep {

// The journal refuses an entry of more than 1,024 fields (journald, ENTRY_FIELD_COUNT_MAX); it adds some 40.
// An event of more devices has no LOCKSTEP_DEVICE, so that nobody takes a part of them for all.
inline constexpr std::size_t kJournalDevicesMost = 900;

// "NAME=value"; a value has no control character.
std::vector<std::string> journal_fields(const ServiceEvent& event);

// 32 hexadecimal digits.
std::string_view journal_id_of(ServiceEvent::Kind kind);

}  // namespace lockstep
