// A service whose policy has windows: when it begins what had to wait.
#include "service_lab.hpp"

namespace lockstep {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class WindowsOfAService : public ServiceLab {
 protected:
  // The lab begins at midnight.
  void run_until(std::chrono::seconds since_midnight) {
    run_for(std::chrono::ceil<seconds>(since_midnight - executor.now().time_since_epoch()));
  }
  void commit_at_night(const std::string& id, int probing) {
    commit(id, probing,
           {{"policy.yaml",
             "apiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: at-night}\n"
             "spec: {selector: {}, windows: [{from: \"01:00\", to: \"05:00\", timezone: UTC}]}\n"}});
  }
  void expect_found() const {
    for (const char* const device : {"gpu1", "gpu2"})
      EXPECT_EQ(devices.at(device)->truth().value(kProbing), Value::text("1")) << device;
  }

  const Path kProbing = *Path::parse("sysctl[net.ipv4.tcp_mtu_probing]");
};

// A look at all devices each ten minutes would be too late.
TEST_F(WindowsOfAService, ARevisionBeginsAsSoonAsItsWindowOpens) {
  run_until(minutes(1));
  commit_at_night("aaaa1", 0);
  run_until(minutes(5));
  EXPECT_EQ(service->status()->why_not_run, "devices that wait for a window of their policy: 3");
  EXPECT_EQ(state_of("aaaa1"), RevisionState::pending);
  run_until(minutes(60) - seconds(1));
  expect_found();
  EXPECT_EQ(count(ServiceEvent::Kind::change_began), 0U);
  run_until(minutes(61));
  expect_probing(0);
  EXPECT_EQ(good(), "aaaa1");
}

TEST_F(WindowsOfAService, ARevisionThatComesInAnOpenWindowBeginsAtOnce) {
  run_until(hours(2));
  commit_at_night("aaaa1", 0);
  run_until(hours(2) + minutes(1));
  expect_probing(0);
}

TEST_F(WindowsOfAService, ARevisionThatComesAfterTheWindowWaitsForTheNextDay) {
  run_until(hours(5) + minutes(1));
  commit_at_night("aaaa1", 0);
  run_until(hours(25) - seconds(1));
  expect_found();
  run_until(hours(25) + minutes(1));
  expect_probing(0);
}

TEST_F(WindowsOfAService, DriftIsHealedInTheNextWindow) {
  run_until(hours(2));
  commit_at_night("aaaa1", 0);
  run_until(hours(5) + minutes(30));
  ASSERT_EQ(good(), "aaaa1");
  devices.at("gpu1")->set(kProbing, Value::text("2"));
  run_until(hours(25) - seconds(1));
  EXPECT_EQ(probing("gpu1"), Value::text("2"));
  EXPECT_EQ(count(ServiceEvent::Kind::drift), 1U) << "told at once, and once";
  EXPECT_EQ(count(ServiceEvent::Kind::healed) + count(ServiceEvent::Kind::heal_failed), 0U);
  run_until(hours(25) + minutes(15));
  expect_probing(0);
  EXPECT_EQ(count(ServiceEvent::Kind::healed), 1U);
}

}  // namespace
}  // namespace lockstep
