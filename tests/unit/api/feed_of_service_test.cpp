// The objects of the API over a real service of simulated devices, in virtual time.
#include <nlohmann/json.hpp>

#include "fake_desk.hpp"
#include "reconciler/api/object_feed.hpp"
#include "tests/unit/service/service_lab.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr const char* kRenamed = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: inference}
spec:
  selector: {matchLabels: {pool: lab}}
  sysctl: {net.ipv4.tcp_mtu_probing: 0}
)yaml";
constexpr const char* kPolicies = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: hosts}
spec: {selector: {matchLabels: {pool: lab}}}
---
apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: nobody}
spec: {selector: {matchLabels: {pool: other}}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {name: nobody}
spec:
  selector: {matchLabels: {pool: other}}
  sysctl: {net.ipv4.tcp_mtu_probing: 0}
)yaml";

class FeedOfService : public ServiceLab {
 protected:
  // Turns of the feed beside those of the service.
  void follow(seconds length) {
    constexpr seconds kApart{5};
    for (seconds over{0}; over < length; over += kApart) {
      run_for(kApart);
      desk_.set(*service->status());
      feed_.turn(executor.wall_time());
    }
  }
  Json object(const std::string& plural, const std::string& name) {
    const api::ApiObjectPtr found = feed_.board()->find(api::find_kind(plural)->kind, name);
    return found ? Json::parse(found->text) : Json();
  }
  // "True(InSync)".
  std::string condition(const std::string& plural, const std::string& name, const std::string& type) {
    const Json found = object(plural, name);
    for (const Json& one : found["status"]["conditions"])
      if (one["type"] == type)
        return one["status"].get<std::string>() + "(" + one["reason"].get<std::string>() + ")";
    return "absent";
  }
  // What the differences on the devices say, asked of a session of its own.
  std::size_t drifted_of(const std::string& title) {
    ClusterSession& own = open();
    const DriftReport report = own.differences(own.observe());
    session.reset();
    return static_cast<std::size_t>(std::ranges::count_if(report.items, [&](const DriftEntry& one) {
      return one.state == DriftState::drifted && one.origin.object == title;
    }));
  }

  api::FakeDesk desk_;
  api::EventLog log_{"e1", 10'000};
  api::ObjectFeed feed_{desk_, log_, {}};
};

TEST_F(FeedOfService, ShowsTheSpecsWithTheStateOfTheirDevices) {
  commit("aaaa1", 0, {{"policies.yaml", kPolicies}});
  follow(seconds(120));
  for (const auto& [plural, name] : {std::pair("hostprofiles", "training"), std::pair("fabrics", "backend")})
    for (const auto& [type, want] :
         {std::pair("InSync", "True(InSync)"), std::pair("Ready", "True(InSync)"),
          std::pair("Healthy", "True(Healthy)"), std::pair("Reachable", "True(Observed)")})
      EXPECT_EQ(condition(plural, name, type), want) << name;
  EXPECT_EQ(condition("hostprofiles", "nobody", "InSync"), "Unknown(NotUsed)");
  EXPECT_EQ(condition("rolloutpolicies", "hosts", "Ready"), "True(InForce)");
  EXPECT_EQ(condition("rolloutpolicies", "nobody", "Ready"), "Unknown(NotUsed)");
  EXPECT_EQ(condition("validationsuites", "slo", "Validated"), "Unknown(NotMeasured)");
  const Json profile = object("hostprofiles", "training");
  EXPECT_EQ(profile["status"]["origin"]["file"], "hosts.yaml");
  EXPECT_EQ(profile["status"]["devices"]["known"], 2);
  EXPECT_EQ(profile["spec"]["sysctl"]["net.ipv4.tcp_mtu_probing"], 0);
  EXPECT_EQ(profile["status"]["revision"], "aaaa1");
  EXPECT_EQ(object("devicesets", "hosts")["metadata"]["labels"]["pool"], "lab");
  EXPECT_EQ(object("clusters", "lab")["kind"], "Cluster") << "the service itself";
  const std::string change = feed_.board()->of(api::Kind::change).front()->name;
  EXPECT_EQ(condition("changes", change, "Ready"), "True(Kept)");
}

TEST_F(FeedOfService, ShowsWhereADeviceComesFrom) {
  commit("aaaa1", 0);
  follow(seconds(120));
  const Json device = object("devices", "gpu1");
  EXPECT_EQ(device["metadata"]["labels"], (Json{{"pool", "lab"}, {"lockstep.dev/role", "host"}}));
  EXPECT_EQ(device["status"]["deviceSet"], "hosts");
  EXPECT_EQ(object("devices", "leaf0")["status"]["facts"]["platform"], "spectrum-4");
}

// On a cordoned device, and so it stays.
TEST_F(FeedOfService, ShowsAFindingWhileItLasts) {
  commit("aaaa1", 0);
  follow(seconds(120));
  ASSERT_TRUE(service->cordon("gpu1", ann));
  EXPECT_TRUE(feed_.board()->of(api::Kind::finding).empty());
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  follow(seconds(60));
  ASSERT_EQ(feed_.board()->of(api::Kind::finding).size(), 1U);
  const api::ApiObjectPtr found = feed_.board()->of(api::Kind::finding).front();
  const Json status = Json::parse(found->text)["status"];
  EXPECT_EQ(status["devices"], Json::array({"gpu1"}));
  EXPECT_EQ(status["evidence"][0], "gpu1 sysctl[net.ipv4.tcp_mtu_probing]: desired 0, actual 1");
  EXPECT_EQ(status["origin"], "hosts.yaml:7 sysctl");
  // Another report, with another problem.
  ASSERT_TRUE(service->cordon("leaf0", ann));
  devices.at("leaf0")->set(*Path::parse("interface[swp1]/mtu"), Value::integer(1500));
  follow(seconds(60));
  EXPECT_EQ(feed_.board()->of(api::Kind::finding).size(), 2U);
  EXPECT_EQ(object("findings", found->name)["status"]["since"], status["since"]);
  ASSERT_TRUE(service->uncordon("leaf0", ann));
  ASSERT_TRUE(service->uncordon("gpu1", ann));
  follow(seconds(1300));
  EXPECT_TRUE(feed_.board()->of(api::Kind::finding).empty());
}

TEST_F(FeedOfService, SaysWhichObjectDriftsAndWhoHasToAct) {
  commit("aaaa1", 0);
  follow(seconds(120));
  ASSERT_TRUE(service->cordon("gpu1", ann));
  const std::uint64_t before = log_.newest();
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  follow(seconds(1300));
  EXPECT_EQ(drifted_of("HostProfile/training"), 1U);
  EXPECT_EQ(drifted_of("Fabric/backend"), 0U);
  EXPECT_EQ(condition("hostprofiles", "training", "InSync"), "False(Drifted)");
  EXPECT_EQ(condition("hostprofiles", "training", "Stalled"), "True(Cordoned)");
  EXPECT_EQ(condition("fabrics", "backend", "InSync"), "True(InSync)");
  EXPECT_EQ(condition("devices", "gpu1", "InSync"), "False(Drifted)");
  EXPECT_EQ(condition("devices", "gpu1", "Stalled"), "True(Cordoned)");
  EXPECT_EQ(condition("devices", "gpu2", "Ready"), "True(InSync)");
  const Json drift = object("devices", "gpu1")["status"]["drift"];
  ASSERT_EQ(drift.size(), 1U) << drift.dump(2);
  EXPECT_EQ(drift[0]["path"], "sysctl[net.ipv4.tcp_mtu_probing]");
  EXPECT_EQ(drift[0]["state"], "drifted");
  EXPECT_EQ(drift[0]["origin"]["file"], "hosts.yaml");
  EXPECT_EQ(drift[0]["origin"]["line"], 7);
  // Whoever watches saw the transition, once.
  std::vector<std::string> seen;
  const auto entries = log_.after(before, 100'000);
  ASSERT_TRUE(entries) << log_.newest() - before << " entries: what changes all the time is not to be logged";
  for (const api::LogEntry& one : *entries) {
    if (!one.now || one.now->name != "training") continue;
    const Json document = Json::parse(one.now->text);
    for (const Json& each : document["status"]["conditions"])
      if (each["type"] == "InSync" && (seen.empty() || seen.back() != each["status"]))
        seen.push_back(each["status"].get<std::string>());
  }
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), "False");
  EXPECT_LE(seen.size(), 2U);
  ASSERT_TRUE(service->uncordon("gpu1", ann));
  follow(seconds(1300));
  expect_probing(0);
  EXPECT_EQ(condition("hostprofiles", "training", "InSync"), "True(InSync)");
  EXPECT_EQ(condition("devices", "gpu1", "Stalled"), "absent");
}

TEST_F(FeedOfService, FollowsTheRevisionThatIsWatched) {
  commit("aaaa1", 0);
  follow(seconds(120));
  ASSERT_EQ(condition("hostprofiles", "training", "InSync"), "True(InSync)");
  commit("bbbb1", 0, {{"hosts.yaml", kRenamed}});
  follow(seconds(120));
  EXPECT_TRUE(object("hostprofiles", "training").is_null());
  EXPECT_EQ(condition("hostprofiles", "inference", "InSync"), "True(InSync)");
  EXPECT_EQ(object("fabrics", "backend")["metadata"]["generation"], 1);
  EXPECT_EQ(object("fabrics", "backend")["status"]["revision"], "bbbb1");
}

TEST_F(FeedOfService, ADeviceThatDoesNotAnswerProvesNothing) {
  commit("aaaa1", 0);
  follow(seconds(120));
  devices.at("gpu2")->unreachable = true;
  follow(seconds(1500));
  EXPECT_EQ(condition("devices", "gpu2", "Reachable").substr(0, 5), "False");
  EXPECT_EQ(condition("devices", "gpu2", "InSync").substr(0, 7), "Unknown");
  EXPECT_EQ(condition("hostprofiles", "training", "InSync").substr(0, 7), "Unknown");
  EXPECT_EQ(condition("hostprofiles", "training", "Ready").substr(0, 5), "False");
  EXPECT_EQ(condition("devices", "gpu1", "InSync"), "True(InSync)");
}

}  // namespace
}  // namespace lockstep
