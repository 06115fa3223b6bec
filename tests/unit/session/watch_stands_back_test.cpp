// A watch that heals while other runs apply, each in its own session over the same devices.
#include <set>

#include "lab.hpp"
#include "reconciler/session/cluster_watch.hpp"

namespace lockstep {
namespace {

constexpr const char* kWatched = "sysctl[net.ipv4.tcp_mtu_probing]";

class WatchStandsBack : public Lab {
 protected:
  WatchStandsBack() { probing(0); }
  void probing(int value) {
    std::string text = kProfile;
    const std::string before = "tcp_mtu_probing: 0";
    text.replace(text.find(before), before.size(), "tcp_mtu_probing: " + std::to_string(value));
    folder.write("specs/hosts.yaml", text);
  }
  // Starts a watch over the current specs, in its own session.
  void begin_watch() {
    open();
    watching = std::move(session);
    watch = watching->make_watch(
        {.command = "lockstep watch --converge",
         .author = "lockstep watch",
         .converge = true,
         .admits = std::move(admits),
         .event = {},
         .healed = [this](const Healing& healing) { healings.push_back(healing); },
         .stands_back = [this](const std::vector<std::string>& devices) { stood_back.push_back(devices); }});
    watch->start([this](const ClusterWatch::Answer&) { ended = true; });
    run_for(std::chrono::seconds(2));
  }
  void end_watch() {
    watch->stop();
    while (!ended && executor.step()) {
    }
    watch.reset();
    watching.reset();
  }
  // A manual change on the device.
  void change(const std::string& device, const char* path, Value value) {
    devices.at(device)->set(*Path::parse(path), value);
  }

  decltype(WatchRequest::admits) admits;
  std::unique_ptr<ClusterSession> watching;
  std::unique_ptr<ClusterWatch> watch;
  std::vector<Healing> healings;
  std::vector<std::vector<std::string>> stood_back;
  bool ended = false;
};

TEST_F(WatchStandsBack, FromDevicesThatAnotherRunChangedToOtherSpecs) {
  apply(open());
  begin_watch();
  probing(2);
  EXPECT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
  session.reset();  // releases its lock
  run_for(std::chrono::minutes(20));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("2")) << "the watch has put it back";
  std::multiset<std::string> reported;
  for (const std::vector<std::string>& devices : stood_back) reported.insert(devices.begin(), devices.end());
  EXPECT_EQ(reported, (std::multiset<std::string>{"gpu1", "gpu2"})) << "each once";
  EXPECT_TRUE(healings.empty());
  end_watch();
}

// What is known to be configured as desired lacks effects alone; of what could not be read nothing is known.
TEST_F(WatchStandsBack, SaysWhichDevicesLackOnlyEffects) {
  apply(open());
  session.reset();
  std::map<std::string, std::set<bool>> only_effects;
  admits = [&](const std::vector<std::size_t>& all, const std::set<std::size_t>& only) {
    for (const std::size_t device : all)
      only_effects[watching->fleet()[device].name].insert(only.contains(device));
    return std::vector<std::size_t>();
  };
  begin_watch();
  devices.at("leaf0")->effects = {};
  for (const Entry& entry : intents.at("leaf0").want.entries())
    if (schema_row(entry.path.row()).facet == Facet::effect) {
      devices.at("leaf0")->set(entry.path, Value::text("lost"));
      break;
    }
  change("gpu1", kWatched, Value::text("2"));
  change("gpu2", kWatched, Value::text("2"));
  run_for(std::chrono::minutes(2));
  devices.at("gpu1")->unreachable = true;
  devices.at("gpu2")->faults.unread = 1;
  run_for(std::chrono::minutes(30));
  EXPECT_EQ(only_effects.at("leaf0"), std::set<bool>{true});
  EXPECT_EQ(only_effects.at("gpu1"), std::set<bool>{false});
  EXPECT_EQ(only_effects.at("gpu2"), std::set<bool>{false});
  end_watch();
}

TEST_F(WatchStandsBack, ButHealsOtherDevices) {
  apply(open());
  begin_watch();
  probing(2);
  ASSERT_TRUE(open().choose({"gpu1"}));
  apply(*session);
  session.reset();
  run_for(std::chrono::minutes(1));
  change("gpu2", kWatched, Value::text("1"));
  run_for(std::chrono::minutes(1));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("2"));
  EXPECT_EQ(at("gpu2", kWatched), Value::text("0")) << "nobody has brought it to other specs";
  end_watch();
}

TEST_F(WatchStandsBack, UntilAnApplyOfItsSpecs) {
  apply(open());
  probing(2);
  apply(open());
  session.reset();
  probing(0);
  begin_watch();
  run_for(std::chrono::minutes(1));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("2")) << "nobody has applied it";
  apply(open());
  session.reset();
  change("gpu1", kWatched, Value::text("1"));
  run_for(std::chrono::minutes(6));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("0"));
  EXPECT_EQ(healings.size(), 1U);
  end_watch();
}

TEST_F(WatchStandsBack, FromAChangeThatAGateRolledBack) {
  apply(open());
  probing(2);
  begin_watch();
  measurer.verdict = GateVerdict::fail;
  EXPECT_EQ(apply(open()).report.verdict, ApplyVerdict::undone);
  session.reset();
  run_for(std::chrono::minutes(20));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("0")) << "the watch has done again what the gate had undone";
  end_watch();
}

// The old specs are the accepted ones again, and their watch continues.
TEST_F(WatchStandsBack, NotWhenTheGateRolledBackTheOtherSpecs) {
  apply(open());
  begin_watch();
  probing(2);
  measurer.verdict = GateVerdict::fail;
  EXPECT_EQ(apply(open()).report.verdict, ApplyVerdict::undone);
  session.reset();
  change("gpu1", kWatched, Value::text("1"));
  run_for(std::chrono::minutes(6));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("0"));
  end_watch();
}

TEST_F(WatchStandsBack, FromAPartialApply) {
  apply(open());
  begin_watch();
  probing(2);
  devices.at("gpu2")->refuses = {Path::parse(kWatched)->row()};
  EXPECT_EQ(apply(open()).report.verdict, ApplyVerdict::partly);
  session.reset();
  EXPECT_EQ(at("gpu1", kWatched), Value::text("2"));
  devices.at("gpu2")->refuses.clear();
  run_for(std::chrono::minutes(20));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("2")) << "an apply that failed elsewhere has brought it there";
  end_watch();
}

TEST_F(WatchStandsBack, FromADeviceRemovedByTheAppliedSpecs) {
  apply(open());
  begin_watch();
  std::string one_host = kDevices;
  for (const auto& [from, to] : std::map<std::string, std::string>{{"names: gpu[1-2]", "names: gpu1"},
                                                                   {"gpu[1-2]:rail0", "gpu1:rail0"},
                                                                   {"leaf0:swp[1-2]", "leaf0:swp1"}})
    one_host.replace(one_host.find(from), from.size(), to);
  folder.write("specs/devices.yaml", one_host);
  apply(open());
  session.reset();
  change("gpu2", kWatched, Value::text("1"));
  run_for(std::chrono::minutes(6));
  EXPECT_EQ(at("gpu2", kWatched), Value::text("1"));
  end_watch();
}

// It was not tried while unreachable, and is healed as soon as it is back.
TEST_F(WatchStandsBack, NotFromADeviceThatWasUnreachable) {
  apply(open());
  session.reset();
  begin_watch();
  SimulatedDevice& gpu1 = *devices.at("gpu1");
  bool goes = true;
  gpu1.seen = [&](const SimulatedCall& call) {  // once its drift was observed
    if (goes && call.observed != nullptr && at("gpu1", kWatched) == Value::text("1")) gpu1.unreachable = true;
  };
  change("gpu1", kWatched, Value::text("1"));
  run_for(std::chrono::seconds(520));
  EXPECT_TRUE(gpu1.unreachable);
  EXPECT_EQ(at("gpu1", kWatched), Value::text("1"));
  goes = false;
  gpu1.unreachable = false;
  run_for(std::chrono::seconds(35));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("0"));
  end_watch();
}

TEST_F(WatchStandsBack, NotBeforeTheFirstApply) {
  begin_watch();
  run_for(std::chrono::minutes(2));
  EXPECT_EQ(at("gpu1", kWatched), Value::text("0"));
  EXPECT_TRUE(stood_back.empty());
  end_watch();
}

}  // namespace
}  // namespace lockstep
