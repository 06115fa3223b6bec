// What a device's conditions say, over the feed: what is proven, debounced, and what holds a correction.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drivers/sim/simulated_executor.hpp"
#include "feed_lab.hpp"
#include "sample_status.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

DeviceStatus observed_with(std::uint32_t drifted, std::uint32_t effects, std::uint32_t not_applied = 0) {
  DeviceStatus out = device_status("gpu1", true, drifted, 0);
  out.differences = drifted + effects;
  out.counts[static_cast<std::size_t>(DriftState::effect)] = effects;
  out.counts[static_cast<std::size_t>(DriftState::not_applied)] = not_applied;
  return out;
}
DeviceStatus unreachable() { return device_status("gpu1", false, 0, 0); }

class DeviceConditions : public FeedLab {
 protected:
  // Two observations, and the turns in which the feed looks at what the service does about them.
  void observe(const DeviceStatus& gpu1, ServiceStatus status = quiet_status()) {
    for (int i = 0; i < 2; ++i) observe_once(gpu1, status);
    turn(2);
    turn(2);
  }
  void observe_once(DeviceStatus gpu1, ServiceStatus status = quiet_status()) {
    gpu1.observed = at_second(clock());
    const NamedDevice named{"gpu1", "host", "", conduct_};
    status.devices = snapshot_of({{named, gpu1}});
    if (changing_) {
      auto snapshot = std::make_shared<Snapshot>(*status.devices);
      snapshot->change = ChangeUnderWay{.author = "lockstep serve", .devices = changing_};
      status.devices = std::move(snapshot);
    }
    desk_.set(status);
    turn(2);
  }
  std::string status_of(const std::string& type) { return said(type, "status"); }
  std::string reason_of(const std::string& type) { return said(type, "reason"); }
  std::string said(const std::string& type, const char* field) {
    const Json one = condition(Kind::device, "gpu1", type);
    return one.is_null() ? "absent" : one[field].get<std::string>();
  }

  Conduct conduct_ = Conduct::converge;
  DeviceNames changing_{};
};

TEST_F(DeviceConditions, TellConfigurationAndEffectsApart) {
  struct Case {
    DeviceStatus observed;
    std::string in_sync, healthy, ready;
  };
  for (const Case& one : {Case{observed_with(0, 0), "True", "True", "True"},
                          Case{observed_with(2, 0), "False", "True", "False"},
                          Case{observed_with(0, 1), "True", "False", "False"},
                          Case{observed_with(0, 0, 3), "True", "True", "True"}}) {
    observe(one.observed);
    EXPECT_EQ(status_of("InSync"), one.in_sync);
    EXPECT_EQ(status_of("Healthy"), one.healthy);
    EXPECT_EQ(status_of("Ready"), one.ready);
    EXPECT_EQ(status_of("Reachable"), "True");
    // What differs is either going to be corrected or needs somebody.
    EXPECT_EQ(status_of("Reconciling"), one.ready == "True" ? "absent" : "True");
    EXPECT_EQ(status_of("Stalled"), "absent");
  }
}

TEST_F(DeviceConditions, ShowTheFirstObservationAtOnceAndDebounceFromThenOn) {
  observe_once(observed_with(0, 0));
  EXPECT_EQ(status_of("InSync"), "True");
  observe_once(observed_with(1, 1));
  EXPECT_EQ(status_of("InSync"), "True");
  EXPECT_EQ(status_of("Healthy"), "True");
  observe_once(observed_with(0, 0));
  observe_once(observed_with(1, 0));
  for (int i = 0; i < 5; ++i) turn(2);  // one observation is one look, however often it is shown
  EXPECT_EQ(status_of("InSync"), "True");
  EXPECT_EQ(status_of("Reconciling"), "absent");
  observe_once(observed_with(1, 0));
  EXPECT_EQ(status_of("InSync"), "False");
}

TEST_F(DeviceConditions, AreNeverTrueWithoutALivingProof) {
  observe(observed_with(0, 0));
  observe_once(unreachable());
  EXPECT_EQ(status_of("InSync"), "True") << "one lost answer hides nothing";
  const std::string proof = said("InSync", "observedAt");
  observe_once(unreachable());
  EXPECT_EQ(status_of("InSync"), "Unknown");
  EXPECT_EQ(reason_of("InSync"), "Unreachable");
  EXPECT_EQ(status_of("Healthy"), "Unknown");
  EXPECT_EQ(status_of("Reachable"), "False");
  EXPECT_EQ(status_of("Ready"), "False");
  EXPECT_LT(proof, said("InSync", "observedAt"));
  observe(observed_with(0, 0));
  EXPECT_EQ(status_of("InSync"), "True");
  observe_once(unreachable());
  turn(1300);
  for (const char* const type : {"InSync", "Healthy", "Ready", "Reachable"})
    EXPECT_EQ(status_of(type), "Unknown") << type << ": the last proof is too old";
}

TEST_F(DeviceConditions, OfADeviceThatWasReadInPartAreUnknownUnlessItDiffers) {
  DeviceStatus part = observed_with(0, 0);
  part.complete = false;
  part.why_incomplete = "frr: no answer";
  observe(part);
  EXPECT_EQ(reason_of("InSync"), "Incomplete");
  EXPECT_EQ(status_of("InSync"), "Unknown");
  EXPECT_EQ(status_of("Healthy"), "Unknown");
  part.counts[0] = 1;
  observe(part);
  EXPECT_EQ(status_of("InSync"), "False");
}

TEST_F(DeviceConditions, OfOtherSpecsAreShownWithTheirFirstObservation) {
  observe(observed_with(0, 0));
  ServiceStatus next = quiet_status();
  next.watched = RevisionId{"9c01ff", "sha256:bb22"};
  observe_once(observed_with(3, 0), next);
  EXPECT_EQ(status_of("InSync"), "False") << "what was read before was compared with other specs";
  observe_once(observed_with(0, 0), next);
  EXPECT_EQ(status_of("InSync"), "False") << "from then on it is debounced";
}

TEST_F(DeviceConditions, AfterAChangeAreShownWithTheFirstObservation) {
  observe(observed_with(3, 0));
  ASSERT_EQ(status_of("InSync"), "False");
  ServiceStatus after = quiet_status();
  after.counts.changes = 1;
  observe_once(observed_with(0, 0), after);
  EXPECT_EQ(status_of("InSync"), "True") << "what was read before was the device before the change";
  observe_once(observed_with(3, 0), after);
  EXPECT_EQ(status_of("InSync"), "True") << "from then on it is debounced";
}

TEST_F(DeviceConditions, OfADeviceThatIsBeingCorrectedAreShownByTheObservationThatIsCorrected) {
  observe(observed_with(0, 0));
  changing_ = std::make_shared<const std::set<std::string>>(std::set<std::string>{"gpu1"});
  observe_once(observed_with(3, 0));
  turn(2);
  EXPECT_EQ(status_of("InSync"), "False") << "it is not read again until that is over";
  EXPECT_EQ(status_of("Reconciling"), "True");
  changing_ = nullptr;
  observe(observed_with(0, 0));
  EXPECT_EQ(status_of("InSync"), "True");
}

TEST_F(DeviceConditions, SayWhatHoldsACorrection) {
  using Change = std::function<void(ServiceStatus&, DeviceStatus&)>;
  const auto plan_with = [](Hold::Kind kind, bool waits) {
    return [kind, waits](ServiceStatus& status, DeviceStatus&) {
      Plan plan = sample_plan();
      plan.steps.resize(1);
      plan.steps[0].device = "gpu1";
      plan.steps[0].holds = {{kind, "the reason"}};
      const auto made = std::make_shared<const GoalPlan>(std::move(plan), Deletion{}, true);
      status.plan = PlanStatus{status.revisions[0].shown.revision, made, at_second(1)};
      if (waits) status.revisions[0].shown.waits = {made->digests()[0]};
    };
  };
  const std::vector<std::pair<std::string, Change>> cases{
      {"Cordoned",
       [](ServiceStatus& s, DeviceStatus&) {
         s.cordoned["gpu1"] = {"operator ann", "optics", {}};
       }},
      {"InMaintenance", [](ServiceStatus&, DeviceStatus& d) { d.maintenance = "until 2027-01-01: optics"; }},
      {"Suspended",
       [](ServiceStatus& s, DeviceStatus&) {
         s.suspended = SpokenBy{"operator ann", "power", {}};
       }},
      {"BreakerOpen", [](ServiceStatus& s, DeviceStatus&) { s.breaker = "7 devices"; }},
      {"NotLeading", [](ServiceStatus& s, DeviceStatus&) { s.leads = false; }},
      {"RecordTrouble", [](ServiceStatus& s, DeviceStatus&) { s.record_trouble = "disk full"; }},
      {"ApprovalNeeded", plan_with(Hold::Kind::approval, true)},
      {"WaitsForWindow", plan_with(Hold::Kind::window, false)},
      {"Held", plan_with(Hold::Kind::management, false)},
      {"absent", plan_with(Hold::Kind::approval, false)},  // it is approved
      {"NotCorrected", [](ServiceStatus& s, DeviceStatus&) { s.not_healed["gpu1"] = {"on hold: optics"}; }},
      {"WaitsForWindow",
       [](ServiceStatus& s, DeviceStatus&) {
         s.not_healed["gpu1"] = {"opens at 22:00", true};
       }},
      {"ApprovalNeeded",
       [](ServiceStatus& s, DeviceStatus&) {
         s.not_healed["gpu1"] = {"traffic", false, true};
       }},
      {"Refused",
       [](ServiceStatus&, DeviceStatus& d) {
         d.items.emplace_back().path = *Path::parse("interface[rail0]/mtu");
         d.items.back().reason = "the host policy does not allow it";
       }},
      {"ManualAction", [](ServiceStatus&, DeviceStatus& d) { d.manual = 1; }}};
  for (const auto& [reason, change] : cases) {
    ServiceStatus status = quiet_status();
    DeviceStatus device = observed_with(1, 0);
    change(status, device);
    observe(device, status);
    EXPECT_EQ(reason_of("Stalled"), reason);
    EXPECT_EQ(status_of("Reconciling"), reason == "absent" ? "True" : "absent") << reason;
    EXPECT_EQ(status_of("InSync"), "False");
    // The same of a device on which nothing differs.
    device = observed_with(0, 0);
    device.maintenance = reason == "InMaintenance" ? "until 2027-01-01: optics" : "";
    observe(device, status);
    EXPECT_EQ(status_of("Stalled"), "absent") << reason;
    EXPECT_EQ(status_of("Reconciling"), "absent") << reason;
  }
}

TEST_F(DeviceConditions, SayThatNothingIsCorrectedUnderModeObserve) {
  conduct_ = Conduct::observe;
  observe(observed_with(1, 0));
  EXPECT_EQ(reason_of("Stalled"), "ModeObserve");
  conduct_ = Conduct::suspended;
  observe(observed_with(1, 0));
  EXPECT_EQ(reason_of("Stalled"), "SpecsSuspend");
}

TEST_F(DeviceConditions, AreReconcilingWhileAChangeHasStepsForTheDevice) {
  const auto names = [](std::set<std::string> all) {
    return std::make_shared<const std::set<std::string>>(all);
  };
  ServiceStatus status = quiet_status();
  status.run = RunStatus{.revision = status.revisions[0].shown.revision, .devices = names({"leaf0"})};
  observe(observed_with(0, 0), status);
  EXPECT_EQ(status_of("Reconciling"), "absent");
  status.run->devices = names({"gpu1", "leaf0"});
  observe(observed_with(0, 0), status);
  EXPECT_EQ(reason_of("Reconciling"), "Changing");
  status.run.reset();
  changing_ = names({"gpu1"});
  observe(observed_with(1, 0), status);
  EXPECT_EQ(reason_of("Reconciling"), "Changing") << "a heal";
  EXPECT_EQ(status_of("Stalled"), "absent");
  changing_.reset();
  observe(observed_with(0, 0), status);
  EXPECT_EQ(status_of("Reconciling"), "absent");
}

// The board is what the drift report of the device says.
TEST(DeviceStatusOfReport, CountsWhatTheReportHas) {
  SimulatedExecutor executor(1);
  SnapshotBoard board(executor, {{.name = "gpu2", .role = "host", .why_unattached = ""}});
  DriftReport report;
  DeviceState state;
  state.device = "gpu2";
  state.reachable = true;
  state.observation.boot_id = "8d3e";
  const auto add = [&](DriftState kind, const std::string& object, bool by_hand = false) {
    DriftEntry& item = report.items.emplace_back();
    item.device = "gpu2";
    item.state = kind;
    item.by_hand = by_hand;
    item.origin.object = object;
  };
  for (int i = 0; i < 60; ++i) add(DriftState::not_applied, "RoceProfile/roce");
  for (int i = 0; i < 70; ++i)
    add(DriftState::drifted, i % 2 == 0 ? "Fabric/backend" : "HostProfile/training");
  add(DriftState::effect, "Fabric/backend");
  add(DriftState::not_applied, "RoceProfile/roce");
  add(DriftState::not_applied, "RoceProfile/roce", true);
  add(DriftState::overruled, "HostProfile/training");
  add(DriftState::allowed, "Fabric/backend");
  board.observed(0, state, report);
  executor.step();
  const auto snapshot = board.read();
  const DeviceStatus& device = *snapshot->devices[0];
  EXPECT_EQ(device.items.size(), kItemsKept);
  EXPECT_TRUE(std::ranges::all_of(device.items, &DriftEntry::differs)) << "those first";
  EXPECT_EQ(device.items_in_all(), report.items.size());
  EXPECT_EQ(device.differences, report.differences());
  EXPECT_EQ(device.boot_id, "8d3e");
  std::size_t differences = 0;
  for (const ObjectDrift& one : device.objects) {
    differences += one.differences();
    for (std::size_t kind = 0; kind < one.counts.size(); ++kind)
      EXPECT_EQ(one.counts[kind], std::ranges::count_if(report.items,
                                                        [&](const DriftEntry& item) {
                                                          return item.origin.object == one.object &&
                                                                 item.state == static_cast<DriftState>(kind);
                                                        }))
          << one.object;
  }
  EXPECT_EQ(differences, device.differences);
  ASSERT_EQ(device.objects.size(), 3U);
}

}  // namespace
}  // namespace lockstep::api
