#include "reconciler/service/service_loop.hpp"

#include "service_lab.hpp"

namespace lockstep {
namespace {

using std::chrono::seconds;
using Kind = ServiceEvent::Kind;

TEST_F(ServiceLab, TheFirstRevisionIsAppliedAndKept) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  expect_probing(0);
  EXPECT_EQ(state_of("aaaa1"), RevisionState::kept);
  EXPECT_EQ(good(), "aaaa1");
  EXPECT_EQ(service->status()->watched->source, "aaaa1");
  EXPECT_TRUE(service->status()->leads);
  EXPECT_FALSE(measurer.asked.empty()) << "its gate has measured";
}

TEST_F(ServiceLab, SpecsThatAreInvalidReplaceNothingAndSayWhere) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1, {{"hosts.yaml", "apiVersion: lockstep.dev/v1alpha1\nkind: HostProfil\n"}});
  run_for(seconds(60));
  expect_probing(0);
  EXPECT_EQ(good(), "aaaa1");
  ASSERT_TRUE(service->status()->invalid);
  EXPECT_EQ(service->status()->invalid->source, "bbbb1");
  EXPECT_TRUE(service->status()->invalid->why.starts_with("hosts.yaml:2:7: "))
      << service->status()->invalid->why;
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  expect_probing(0);
  commit("cccc1", 1);
  run_for(seconds(60));
  expect_probing(1);
  EXPECT_FALSE(service->status()->invalid);
}

TEST_F(ServiceLab, WhatAGateRefusedStaysRefusedUntilTheSpecsChange) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  measurer.verdict = GateVerdict::fail;
  commit("bbbb1", 1);
  run_for(seconds(120));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
  expect_probing(0);
  const std::size_t asked = measurer.asked.size();
  measurer.verdict = GateVerdict::pass;
  run_for(seconds(3600));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused) << "git still says so";
  expect_probing(0);
  EXPECT_EQ(measurer.asked.size(), asked);
  EXPECT_EQ(good(), "aaaa1");
  commit("cccc1", 2);
  run_for(seconds(120));
  expect_probing(2);
  EXPECT_EQ(good(), "cccc1");
}

TEST_F(ServiceLab, DriftIsHealedByItself) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  expect_probing(0);
  EXPECT_EQ(count(Kind::healed), 1U);
}

TEST_F(ServiceLab, NothingIsWrittenWhileItIsSuspended) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_TRUE(service->suspend(ann));
  run_for(seconds(10));
  EXPECT_FALSE(service->status()->leads) << "`lockstep apply` may lead";
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  commit("bbbb1", 2);
  run_for(seconds(3600));
  EXPECT_EQ(probing("gpu1"), Value::text("1"));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
  ASSERT_TRUE(service->resume(ann));
  run_for(seconds(60));
  expect_probing(2);
  EXPECT_EQ(good(), "bbbb1");
}

TEST_F(ServiceLab, ARestartGoesOnFromWhatWasDecided) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  measurer.verdict = GateVerdict::fail;
  commit("bbbb1", 1);
  run_for(seconds(120));
  ASSERT_EQ(state_of("bbbb1"), RevisionState::refused);
  kill();
  measurer.verdict = GateVerdict::pass;
  start_service();
  run_for(seconds(1200));
  EXPECT_EQ(state_of("bbbb1"), RevisionState::refused);
  EXPECT_EQ(good(), "aaaa1");
  expect_probing(0);
}

TEST_F(ServiceLab, TheLastGoodRevisionIsHealedTowardsAlsoIfARestartFindsBadSpecs) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  kill();
  source->commit("bbbb1", files(1, {{"hosts.yaml", "nonsense"}}));
  start_service();
  run_for(seconds(60));
  EXPECT_EQ(service->status()->invalid->source, "bbbb1");
  devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
  run_for(seconds(1200));
  expect_probing(0);
}

TEST_F(ServiceLab, StopEndsWithoutLeadershipAndWritesNothingMore) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  commit("bbbb1", 1);
  service->stop();
  run_for(seconds(300));
  EXPECT_TRUE(ended);
  EXPECT_FALSE(service->status()->leads);
  expect_probing(0);
}

}  // namespace
}  // namespace lockstep
