#include "reconciler/api/kinds.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::api {
namespace {

constexpr std::array<KindRow, index_of(Kind::spec)> kOwn{
    {{Kind::cluster,
      "Cluster",
      "clusters",
      "The cluster that this service serves, and how the service is doing.",
      {"status.leads"}},
     {Kind::revision,
      "Revision",
      "revisions",
      "A revision of the specs: how far it got, and which of its steps wait for an approval.",
      {"status.state"}},
     {Kind::device,
      "Device",
      "devices",
      "A device of the cluster, as of its last observation.",
      {"status.reachable", "status.inSync", "status.differences", "spec.cordoned"}},
     {Kind::change,
      "Change",
      "changes",
      "What was changed on the cluster, by whom, why, and what became of it.",
      {"status.outcome", "spec.author"},
      true},
     {Kind::benchmark_run,
      "BenchmarkRun",
      "benchmarkruns",
      "What was measured on the cluster.",
      {"status.verdict", "spec.purpose"},
      true},
     {Kind::finding,
      "Finding",
      "findings",
      "What is wrong on devices, with the differences that it explains.",
      {"status.kind"}},
     {Kind::event,
      "Event",
      "events",
      "Something that the service did or found, since it was started.",
      {"involvedObject.kind", "involvedObject.name", "reason", "type"}}}};

// Of the kinds of the specs.
constexpr std::array<std::string_view, 4> kSpecFields{"status.origin.file", "status.devices.drifted",
                                                      "status.devices.unreachable", "status.revision"};

constexpr std::array kActions{
    ActionRow{Verb::approve, Kind::revision, "approve", Role::operator_, true, false,
              "Approves steps of the revision that wait; without `steps`, all that wait now."},
    ActionRow{Verb::reject, Kind::revision, "reject", Role::operator_, false, true,
              "Rejects the revision: the service goes for the one before it."},
    ActionRow{Verb::suspend, Kind::cluster, "suspend", Role::operator_, false, true,
              "Stops all writes until somebody resumes. Running steps finish or are rolled back."},
    // It may set a service going again that had stopped by itself.
    ActionRow{Verb::resume, Kind::cluster, "resume", Role::admin, false, false,
              "Ends a suspension, closes the circuit breaker, and corrects what differs."},
    ActionRow{Verb::reconcile, Kind::cluster, "reconcile", Role::operator_, false, false,
              "Fetches the specs and observes the whole cluster now."},
    ActionRow{Verb::cordon, Kind::device, "cordon", Role::operator_, false, true,
              "Stops all writes to the device until it is uncordoned."},
    ActionRow{Verb::uncordon, Kind::device, "uncordon", Role::operator_, false, false,
              "Allows writes to the device again."},
};

}  // namespace

std::span<const KindRow> kinds() {
  static const std::vector<KindRow> all = [] {
    std::vector<KindRow> out(kOwn.begin(), kOwn.end());
    for (const lockstep::KindRow& one : kind_rows())
      if (!one.written_by_reconciler && std::ranges::find(kOwn, one.name, &KindRow::name) == kOwn.end())
        out.push_back(
            {static_cast<Kind>(out.size()), one.name, one.plural, one.doc, kSpecFields, false, &one});
    return out;
  }();
  return all;
}

const KindRow& row_of(Kind kind) { return kinds()[index_of(kind)]; }

const KindRow* find_kind(std::string_view plural) {
  const auto found = std::ranges::find(kinds(), plural, &KindRow::plural);
  return found == kinds().end() ? nullptr : &*found;
}

Kind kind_of(const lockstep::KindRow& spec) {
  return std::ranges::find(kinds(), &spec, &KindRow::spec)->kind;
}

std::span<const ActionRow> actions() { return kActions; }

const ActionRow& row_of(Verb verb) { return *std::ranges::find(kActions, verb, &ActionRow::verb); }

const ActionRow* find_action(Kind kind, std::string_view word) {
  const auto found = std::ranges::find_if(
      kActions, [&](const ActionRow& one) { return one.kind == kind && one.word == word; });
  return found == kActions.end() ? nullptr : &*found;
}

}  // namespace lockstep::api
