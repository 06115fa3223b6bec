#include "reconciler/cli/owed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

std::vector<std::string> devices_of(const std::vector<LedgerTicket>& tickets) {
  std::set<std::string> devices;
  for (const LedgerTicket& ticket : tickets) devices.insert(ticket.device);
  return {devices.begin(), devices.end()};
}

void tell(const Console& console, std::string_view title, const std::string& text) {
  if (console.is_text())
    std::fputs((console.progress().paint(Ink::yellow, title) + ": " + text + "\n").c_str(), stderr);
}

}  // namespace

std::string owed_sentence(const OwedChange& owed) {
  return fmt::format("change {} (begun {} by {}) on {}", owed.change, owed.begun, owed.author,
                     fold_hostlist(devices_of(owed.tickets)));
}

nlohmann::json owed_json(const std::vector<OwedChange>& owed) {
  nlohmann::json out = nlohmann::json::array();
  for (const OwedChange& one : owed)
    out.push_back({{"change", one.change},
                   {"begun", one.begun},
                   {"author", one.author},
                   {"devices", devices_of(one.tickets)}});
  return out;
}

Result<Unjudged> unjudged(const std::string& directory, const Journal& journal) {
  Unjudged out;
  out.writer = writer_of(directory).value_or("");
  std::set<std::uint64_t> begun;
  if (!out.writer.empty()) {
    TRY(const std::vector<InFlight> in_flight, journal.in_flight());
    for (const InFlight& one : in_flight) begun.insert(one.change);
  }
  TRY(std::vector<OwedChange> owed, journal.owed());
  for (OwedChange& one : owed)
    (begun.contains(one.change) ? out.under_way : out.left).push_back(std::move(one));
  return out;
}

std::string unjudged_text(const Unjudged& all, const Terminal& terminal) {
  std::string text;
  if (!all.writer.empty()) {
    text += terminal.paint(Ink::yellow, "being changed") + " by " + all.writer;
    for (const OwedChange& one : all.under_way) text += ": " + owed_sentence(one) + ", not judged yet";
    text += "; this is how it is meanwhile\n";
  }
  for (const OwedChange& one : all.left)
    text += terminal.paint(Ink::yellow, "never measured") + ": " + owed_sentence(one) +
            "; the next apply measures what it can have touched, and keeps or undoes it\n";
  return text;
}

Result<Done> tell_in_flight(Journal& journal, const Console& console) {
  TRY(const std::vector<InFlight> begun, journal.in_flight());
  for (const InFlight& one : begun) {
    tell(console, "in flight",
         fmt::format(
             "change {} (begun {} by {}) was cut off: {} writes kept, {} may have happened{}; observing "
             "and going on from there",
             one.change, one.begun, one.author, one.kept.size(), one.unsettled.size(),
             one.unsettled.empty() ? "" : " on " + fold_hostlist(devices_of(one.unsettled))));
    for (const LedgerTicket& ticket : one.unsettled)
      TRY_DONE(journal.receipt(ticket.ticket, TicketState::failed,
                               "cut off; settled by the next run's observation"));
    TRY_DONE(journal.end(one.change, "interrupted"));
  }
  return Done{};
}

Result<std::vector<OwedChange>> take_owed(const OpenedCluster& cluster, Journal& journal,
                                          const OwedChoice& choice, const Console& console) {
  TRY(std::vector<OwedChange> owed, journal.owed());
  std::vector<OwedChange> taken;
  for (OwedChange& one : owed) {
    const std::vector<std::string> devices = devices_of(one.tickets);
    const bool all_chosen =
        choice.only.empty() ||
        std::all_of(devices.begin(), devices.end(), [&choice](const std::string& device) {
          return std::find(choice.only.begin(), choice.only.end(), device) != choice.only.end();
        });
    if (cluster.catalog.validation_suites.empty()) {
      tell(console, "never measured", owed_sentence(one) + "; no ValidationSuite is there to judge it: kept");
      TRY_DONE(journal.gate(one.change, GateState::settled));
    } else if (!choice.measures || !all_chosen) {
      tell(console, "never measured",
           owed_sentence(one) + "; it stays so, as this run " +
               (choice.measures ? "is for other devices" : "does not measure"));
    } else {
      tell(console, "never measured",
           owed_sentence(one) + "; this run measures what it can have touched, and keeps or undoes it");
      taken.push_back(std::move(one));
    }
  }
  return taken;
}

}  // namespace lockstep
