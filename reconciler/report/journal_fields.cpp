#include "reconciler/report/journal_fields.hpp"

#include <syslog.h>

#include <array>

#include "reconciler/report/service_report.hpp"
#include "specs/language/said.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

// Made once (journalctl --new-id128), in the order of the kinds.
constexpr auto kIds = std::to_array<std::string_view>({
    "b99e7a8b241f4f25b8a1e30418dfba22",  // Leads
    "970de7ad5f96424dbef7c707432436cb",  // LeadershipLost
    "d7f337fc18604d4ba29d02db72d7196b",  // RevisionValid
    "90cd450e327848f5a7e53978d81f2a4a",  // RevisionInvalid
    "d6b727cddc2e45c6a75022a5266904be",  // SourceTrouble
    "c627f63375854470971265702f487b3b",  // SourceRecovered
    "8ce04cbfdc8a445b9fbeeb8b2f20f7a0",  // ApprovalNeeded
    "93c5af6afd3247728dc33a2bb8c79a53",  // Approved
    "71c450f99f064a05a606643b8bd98723",  // Rejected
    "5b816677990445839d5fe83d76780d23",  // ChangeBegan
    "92107f5e7a814817aa7452b0c1d63b29",  // ChangeKept
    "16ed81e1b393494d987d220e1b206da1",  // ChangeRefused
    "418ced4708844d6ca72a2df9a2402c3f",  // ChangeSuperseded
    "79826002056a4a6eb02233ad221cba63",  // ChangeFailed
    "a818f2cc5c4b4e32b55b736fe869a733",  // Drift
    "c52d845fb4344de8be1a78995422257d",  // DriftCleared
    "3c98080154fe4986875bf70ae3c64e99",  // Unreadable
    "ea7c2f05460f490dbfb0fe77be4ead7e",  // Readable
    "0d831dba584447cc84eb7d6f1d3a886d",  // Healed
    "938ea300b9134418b11497eb6f294955",  // HealFailed
    "88f58c155efd4478bb59a4f3f3724a29",  // BreakerOpened
    "ba8d12f55d5b4d3e91d395521291acfb",  // Suspended
    "2b13cab9b8b043238a2777d6b0c153ec",  // Resumed
    "e2b7437ca66240088e32d8cfe6c86111",  // Cordoned
    "edb4e6c2305349a29d17f302487b934e",  // Uncordoned
    "32383e421bb145f782b10e968712b804",  // RecordTrouble
    "915316e3d9774623a43598d4acf6894d",  // Measured
    "61d435624c5e4517ba24620b743d8ebd",  // SloBroken
    "de8c1b841f0e4078a1640ae964a2f267",  // NotMeasured
});
static_assert(kIds.size() == words(ServiceEvent::Kind{}).size(), "a kind has no id, or one too many");

int priority_of(ServiceEvent::Kind kind) {
  switch (weight_of(kind)) {
    case ServiceEvent::Weight::error: return LOG_ERR;
    case ServiceEvent::Weight::warning: return LOG_WARNING;
    case ServiceEvent::Weight::normal: break;
  }
  return LOG_INFO;
}

// "leaf0" of "Device/leaf0"; empty: it is of another kind.
std::string name_in(const std::string& object, std::string_view kind) {
  return object.starts_with(kind) ? object.substr(kind.size()) : "";
}

}  // namespace

std::string_view journal_id_of(ServiceEvent::Kind kind) { return kIds[static_cast<std::size_t>(kind)]; }

std::vector<std::string> journal_fields(const ServiceEvent& event) {
  std::vector<std::string> out;
  const auto add = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.push_back(std::string(name) + "=" + printable(value));
  };
  add("MESSAGE", service_event_message(event));
  add("PRIORITY", std::to_string(priority_of(event.kind)));
  add("MESSAGE_ID", std::string(journal_id_of(event.kind)));
  add("LOCKSTEP_EVENT", std::string(to_string(event.kind)));
  add("LOCKSTEP_CLUSTER", event.cluster);
  add("LOCKSTEP_REVISION", name_in(event.object, "Revision/"));
  add("LOCKSTEP_DEVICE", name_in(event.object, "Device/"));
  if (event.change != 0) add("LOCKSTEP_CHANGE", std::to_string(event.change));
  if (event.devices.size() > kJournalDevicesMost) return out;
  for (const std::string& device : event.devices) add("LOCKSTEP_DEVICE", device);
  return out;
}

}  // namespace lockstep
