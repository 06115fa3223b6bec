// An end of a cable that a run must not change, from the specs and --only to the state of the devices: its
// MTU is not changed at the other end alone.
#include <algorithm>
#include <filesystem>

#include "lab.hpp"
#include "reconciler/session/cluster_watch.hpp"

namespace lockstep {
namespace {

constexpr const char* kFewer = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: careful}
spec: {selector: {names: gpu2}, sysctl: {net.core.rmem_max: 4096}, MODE}
)yaml";

class EndsLeftAlone : public Lab {
 protected:
  static constexpr const char* kHost = "interface[rail0]/mtu";
  // Everything is in sync, then host links get a new MTU.
  void want_another_mtu() {
    apply(open());
    std::string fabric = kDevices;
    fabric.replace(fabric.find("host: 9000"), 10, "host: 4000");
    folder.write("specs/devices.yaml", fabric);
  }
  void profile(const std::string& mode) {
    std::string text = kFewer;
    text.replace(text.find("MODE"), 4, mode);
    folder.write("specs/careful.yaml", text);
  }
  std::string mtus() {
    std::string out;
    for (const auto& [device, port] :
         {std::pair{"gpu1", "rail0"}, {"leaf0", "swp1"}, {"gpu2", "rail0"}, {"leaf0", "swp2"}})
      out += (out.empty() ? "" : " ") + at(device, "interface[" + std::string(port) + "]/mtu").to_string();
    return out;
  }
  void heal_once() {
    std::unique_ptr<ClusterWatch> watch;
    bool over = false;
    watch = open().make_watch({.command = "test",
                               .author = "ann",
                               .converge = true,
                               .event = {},
                               .healed = [&watch](const Healing& healing) {
                                 EXPECT_FALSE(healing.no_plan || healing.locked);
                                 watch->stop();
                               }});
    watch->start([&over](const ClusterWatch::Answer&) { over = true; });
    while (!over) executor.step();
  }
  std::string holds(const Plan& plan) {
    std::string out;
    for (const Step& step : plan.steps)
      for (const Hold& hold : step.holds) out += step.device + ": " + hold.reason + "\n";
    return out;
  }
};

TEST_F(EndsLeftAlone, ObservedOrSuspendedHostHoldsItsLeafSwitchPort) {
  for (const auto& [mode, why] :
       {std::pair{"mode: observe",
                  "gpu2 is only observed (`mode: observe` in its specs): put it under `mode: "
                  "converge` first"},
        {"suspend: true", "gpu2 is suspended (`suspend: true` in its specs): lift that first"}}) {
    std::filesystem::remove(folder.path() + "/specs/careful.yaml");
    folder.write("specs/devices.yaml", kDevices);
    want_another_mtu();
    ASSERT_EQ(mtus(), "9000 9000 9000 9000");
    profile(mode);
    ClusterSession& lab = open();
    EXPECT_EQ(holds(*lab.plan(lab.observe())),
              "leaf0: interface[swp2]/mtu is not changed at this end of its cable alone: gpu2:rail0 differs "
              "too, and " +
                  std::string(why) + "\n");
    EXPECT_EQ(apply(lab).report.verdict, ApplyVerdict::asks);
    EXPECT_EQ(mtus(), "4000 4000 9000 9000") << mode;
    profile("mode: converge");
    EXPECT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
    EXPECT_EQ(mtus(), "4000 4000 4000 4000") << mode;
  }
}

TEST_F(EndsLeftAlone, OnlyObservesFarEndsAndChangesNoCableAtOneEnd) {
  want_another_mtu();
  for (const auto& [only, mtu] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"leaf0"}, "9000 9000 9000 9000"},
           {{"gpu1"}, "9000 9000 9000 9000"},
           {{"gpu1", "leaf0"}, "4000 4000 9000 9000"}}) {
    ClusterSession& lab = open();
    ASSERT_TRUE(lab.choose(only));
    const std::vector<DeviceState> states = lab.observe();
    const Plan plan = *lab.plan(states);
    for (const Step& step : plan.steps)
      EXPECT_NE(std::find(only.begin(), only.end(), step.device), only.end()) << step.device;
    const bool says = holds(plan).find(
                          "gpu2:rail0 differs too, and --only leaves gpu2 out: name it there "
                          "too") != std::string::npos;
    EXPECT_EQ(says, only.back() == "leaf0") << holds(plan);
    EXPECT_TRUE(lab.not_observed(states).empty());
    EXPECT_EQ(apply(lab).report.verdict, ApplyVerdict::asks);
    EXPECT_EQ(mtus(), mtu) << only.front();
  }
}

// The drift of swp1 is healed. That of the other cable waits for the end that is not healed automatically.
TEST_F(EndsLeftAlone, WatchHealsNoCableAtOneEnd) {
  apply(open());
  profile("mode: observe");
  apply(open());
  for (const auto& [device, port] : {std::pair{"gpu2", "rail0"}, {"leaf0", "swp2"}, {"leaf0", "swp1"}})
    devices.at(device)->set(*Path::parse("interface[" + std::string(port) + "]/mtu"), Value::integer(4000));
  heal_once();
  EXPECT_EQ(mtus(), "9000 9000 4000 4000");
}

// The state of a device without a driver is unknown.
TEST_F(EndsLeftAlone, WatchHealsNoEndOfACableWithAnUnreachableFarEnd) {
  apply(open());
  devices.at("gpu1")->set(*Path::parse(kHost), Value::integer(4000));
  unattachable.emplace("leaf0", Error{ErrorKind::transient, "leaf0: no route to host"});
  heal_once();
  ASSERT_EQ(at("gpu1", kHost), Value::integer(4000));
  unattachable.clear();
  heal_once();
  EXPECT_EQ(at("gpu1", kHost), Value::integer(9000));
}

}  // namespace
}  // namespace lockstep
