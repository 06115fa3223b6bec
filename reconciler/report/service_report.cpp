#include "reconciler/report/service_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/watch_report.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/language/api_version.hpp"
#include "specs/language/said.hpp"

namespace lockstep {
namespace {

using Kind = ServiceEvent::Kind;

Ink ink_of(Kind kind) {
  if (weight_of(kind) == ServiceEvent::Weight::error) return Ink::red;
  if (weight_of(kind) == ServiceEvent::Weight::warning) return Ink::yellow;
  switch (kind) {
    case Kind::change_kept:
    case Kind::healed:
    case Kind::measured:
    case Kind::drift_cleared:
    case Kind::readable:
    case Kind::source_recovered: return Ink::green;
    case Kind::change_superseded:
    case Kind::suspended: return Ink::yellow;
    default: return Ink::plain;
  }
}

// A commit's hash as git shortens it.
std::string short_object(const std::string& object) {
  constexpr std::size_t kShort = 12;
  constexpr std::string_view kRevision = "Revision/";
  if (!object.starts_with(kRevision)) return object;
  const std::size_t hash =
      object.find("sha256:") == kRevision.size() ? kRevision.size() + 7 : kRevision.size();
  return std::string(kRevision) + object.substr(hash, kShort);
}

std::string short_revision(const RevisionId& id) { return short_object("Revision/" + id.source).substr(9); }

}  // namespace

std::string serving_text(const std::string& source, const Terminal& terminal) {
  return compose("serves the specs of {} until Ctrl-C\n", terminal.paint(Ink::bold, source));
}

std::string service_event_text(const ServiceEvent& event, const Terminal& terminal) {
  return clock_text(event.at, terminal) +
         compose("{}  {}{}\n", Shown(pad(terminal.paint(ink_of(event.kind), to_string(event.kind)), 16)),
                 short_object(event.object), event.message.empty() ? "" : "  " + event.message);
}

std::string service_event_message(const ServiceEvent& event) {
  return compose("{} {}{}", to_string(event.kind), short_object(event.object),
                 event.message.empty() ? "" : ": " + event.message);
}

nlohmann::json service_event_json(const ServiceEvent& event) {
  return {{"apiVersion", api_version}, {"kind", "Event"},        {"reason", to_string(event.kind)},
          {"at", utc_text(event.at)},  {"object", event.object}, {"message", printable(event.message)}};
}

std::string service_status_line(const ServiceStatus& status) {
  if (status.run)
    return fmt::format("changes to {}: wave {} of {}, {} of {} steps over, {}",
                       short_revision(status.run->revision), status.run->wave, status.run->waves,
                       status.run->over, status.run->steps, status.run->phase);
  if (status.suspended) return printable("suspended by " + status.suspended->who);
  if (!status.leads) return printable("does not lead: " + status.why_not_leads);
  if (!status.breaker.empty()) return printable("heals nothing by itself: " + status.breaker);
  for (const RevisionStatus& one : status.revisions)
    if (one.shown.state == RevisionState::waiting)
      return printable(short_revision(one.shown.revision) + " waits: " + one.shown.why);
  if (!status.why_not_run.empty()) return printable(status.why_not_run);
  if (status.source.trouble) return printable("the source is in trouble: " + status.source.why);
  if (status.invalid) return printable("invalid specs: " + status.invalid->why);
  return status.last_good ? "at " + short_revision(*status.last_good) : "no revision was kept yet";
}

}  // namespace lockstep
