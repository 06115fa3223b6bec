// Statuses for tests of the API: one that has something of everything, and small ones.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/service/service_status.hpp"
#include "reconciler/session/change_history.hpp"
#include "specs/model/path.hpp"

namespace lockstep::api {

inline WallTime at_second(int second) { return WallTime(std::chrono::seconds(1'795'000'000 + second)); }

inline DeviceStatus device_status(std::string name, bool reachable, std::size_t differences, int observed) {
  DeviceStatus out;
  out.device = std::move(name);
  out.observed = at_second(observed);
  out.reachable = reachable;
  out.complete = reachable;
  out.differences = differences;
  out.counts[static_cast<std::size_t>(DriftState::drifted)] = static_cast<std::uint32_t>(differences);
  if (!reachable) out.why_incomplete = "no answer within 2000 ms";
  return out;
}

// A null status: the device was not observed.
inline std::shared_ptr<const Snapshot> snapshot_of(
    const std::vector<std::pair<NamedDevice, std::optional<DeviceStatus>>>& devices) {
  auto out = std::make_shared<Snapshot>();
  std::vector<NamedDevice> named;
  for (const auto& [name, status] : devices) {
    named.push_back(name);
    out->devices.push_back(status ? std::make_shared<const DeviceStatus>(*status) : nullptr);
  }
  out->named = std::make_shared<const std::vector<NamedDevice>>(std::move(named));
  return out;
}

inline Plan sample_plan() {
  Plan plan;
  plan.origins.push_back({"fabric.yaml", 9, 8, "Fabric/backend", "mtu"});
  Step step;
  step.id = 1;
  step.device = "leaf0";
  step.driver = "linux";
  step.disruption = Disruption::traffic;
  step.changes.push_back(
      {*Path::parse("interface[swp1]/mtu"), Value::integer(1500), Value::integer(9216), 1, false});
  step.holds.push_back({Hold::Kind::approval, "the policy wants an approval for traffic"});
  plan.steps.push_back(step);
  step.id = 2;
  step.device = "gpu1";
  step.disruption = Disruption::none;
  step.holds.clear();
  plan.steps.push_back(step);
  return plan;
}

inline RevisionStatus revision_status(std::string source, std::string intents, RevisionState state) {
  RevisionStatus out{.shown = {.revision = {std::move(source), std::move(intents)}, .state = state}};
  out.shown.since = at_second(10);
  out.made_by.author = "Ada <ada@example.org>";
  out.made_by.subject = "MTU of the backend";
  out.made_by.made = "2026-11-17T00:00:00Z";
  return out;
}

inline ServiceStatus quiet_status() {
  ServiceStatus out;
  out.cluster = "pod1";
  out.state_name = "pod1";
  out.leads = true;
  out.source = {.title = "https://git.example.org/fabric.git branch main", .fetched = at_second(0)};
  out.revisions = {revision_status("3f2a41", "sha256:aa11", RevisionState::kept)};
  out.last_good = out.revisions[0].shown.revision;
  out.watched = out.last_good;
  out.in_force = true;
  out.devices = snapshot_of({{{"gpu1", "host", ""}, device_status("gpu1", true, 0, 5)},
                             {{"leaf0", "leaf", ""}, device_status("leaf0", true, 0, 5)}});
  return out;
}

// It differs in each of the ways that there are.
inline DeviceStatus drained_device() {
  DeviceStatus out = device_status("gpu2", true, 3, 5);
  out.maintenance = "until 2026-12-01: optics";
  out.boot_id = "8d3e0c6a-1f5b-4f0e-9a65-2f0c4f1f9a11";
  out.facts = {{"model", "DGXH100"}, {"serial", "1660523000031"}, {"kernel", "6.1.0-23-amd64"}};
  out.counts = {1, 2, 1, 0, 1, 0, 0};
  out.manual = 1;
  DriftEntry item;
  item.device = "gpu2";
  item.path = *Path::parse("interface[rail0]/mtu");
  item.want = Value::integer(9000);
  item.have = Value::integer(1500);
  item.disruption = Disruption::traffic;
  item.origin = {"fabric.yaml", 9, 8, "Fabric/backend", "mtu"};
  out.items.push_back(item);
  item.state = DriftState::effect;
  out.items.push_back(item);
  item.state = DriftState::not_applied;
  item.reason = "veth: dcbnl PFC get: Operation not supported";
  out.items.push_back(item);
  item.by_hand = true;
  out.items.push_back(item);
  item.by_hand = false;
  item.state = DriftState::overruled;
  item.reason = "overruled by HostProfile/training at hosts.yaml:7";
  out.items.push_back(item);
  ObjectDrift object{.object = "Fabric/backend", .counts = out.counts, .manual = 1};
  out.objects.push_back(object);
  return out;
}

inline ServiceStatus full_status() {
  ServiceStatus out = quiet_status();
  out.source.trouble = SourceTrouble::denied;
  out.source.why = "the server refused the credentials";
  out.invalid = Revisions::Invalid{"77bd", "fabric.yaml:9:3: LS1004: unknown field", at_second(20)};
  out.revisions.insert(out.revisions.begin(),
                       revision_status("9c01ff", "sha256:bb22", RevisionState::waiting));
  out.revisions.push_back(revision_status("3f2a41", "sha256:cc33dd44ee55ff66", RevisionState::superseded));
  const auto plan = std::make_shared<const GoalPlan>(sample_plan(), Deletion{}, true);
  out.revisions[0].shown.why = "1 of 2 steps waits for an approval";
  out.revisions[0].shown.waits = {plan->digests()[0]};
  out.revisions[0].shown.why_waits = "1 step needs approval";
  out.plan = PlanStatus{out.revisions[0].shown.revision, plan, at_second(30)};
  out.run = RunStatus{out.revisions[0].shown.revision, "apply", 1, 2, 5, 3, at_second(40)};
  out.why_not_run = "window opens at 22:00";
  out.suspended = SpokenBy{"operator ann", "power work", at_second(50)};
  out.cordoned["leaf0"] = SpokenBy{"operator bob", "optics are replaced", at_second(60)};
  out.breaker = "7 devices of 96 were to be healed within 10 min, and 4 is the most: leaf[1-7]";
  out.record_trouble = "journal.sqlite: disk full";
  out.why_not_leads = "another process leads";
  const DeviceStatus drained = drained_device();
  const NamedDevice labelled{"gpu1", "host", "", Conduct::converge, "hosts", "connectx-7", {{"pool", "lab"}}};
  out.devices = snapshot_of({{labelled, device_status("gpu1", true, 0, 5)},
                             {{"gpu2", "host", ""}, drained},
                             {{"gpu3", "host", "no credentials for gpu3"}, std::nullopt},
                             {{"leaf0", "leaf", ""}, device_status("leaf0", false, 0, 5)}});
  return out;
}

inline ShownChange sample_change() {
  ShownChange out;
  out.change.record = {.change = 17,
                       .begun = "2026-11-21T10:05:26Z",
                       .ended = "2026-11-21T10:06:00Z",
                       .outcome = "kept",
                       .author = "operator ann",
                       .reason = "lockstep serve",
                       .digest = "sha256:00ff"};
  out.change.touched = {.steps = 1, .devices = {"leaf0"}};
  RecordedTicket ticket;
  ticket.ticket.ticket = "17.1";
  ticket.ticket.step = 1;
  ticket.ticket.device = "leaf0";
  ticket.ticket.driver = "linux";
  ticket.ticket.changes.push_back(
      {*Path::parse("interface[swp1]/mtu"), Value::integer(1500), Value::integer(9216)});
  ticket.state = TicketState::kept;
  ticket.begun = "2026-11-21T10:05:27Z";
  out.tickets.push_back(ticket);
  return out;
}

inline RunHead sample_run() {
  return {.number = 4,
          .purpose = RunPurpose::after,
          .change = 17,
          .under = 17,
          .at = "2026-11-21T10:05:58Z",
          .command = "lockstep serve",
          .author = "operator ann",
          .verdict = "pass",
          .config_hash = "sha256:0a",
          .version = "0.2.0",
          .kernel = "6.1.0",
          .measured = 1,
          .kept = 1};
}

inline std::vector<RunFigure> sample_figures() {
  RunFigure out;
  out.suite = "slo";
  out.benchmark = "pairs";
  out.unit = "bit/s";
  out.transport = "tcp";
  out.from = "gpu1:rail0";
  out.to = "gpu2:rail0";
  out.seen.count = 12;
  out.seen.least = 9.1e8;
  out.seen.median = 9.4e8;
  out.seen.most = 9.5e8;
  out.nominal = 1e9;
  return {out};
}

// As quiet_status(), but for gpu1, which was observed then.
inline ServiceStatus drifted_status(std::size_t differences, int observed) {
  ServiceStatus status = quiet_status();
  status.devices = snapshot_of({{{"gpu1", "host", ""}, device_status("gpu1", true, differences, observed)},
                                {{"leaf0", "leaf", ""}, device_status("leaf0", true, 0, 5)}});
  return status;
}

}  // namespace lockstep::api
