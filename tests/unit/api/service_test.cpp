// The API over a real service of simulated devices: somebody approves by HTTP, and the device gets the value.
#include <atomic>
#include <future>

#include "api_client.hpp"
#include "reconciler/api/service_api.hpp"
#include "temporary_path.hpp"
#include "tests/unit/service/service_lab.hpp"

namespace lockstep {
namespace {

constexpr const char* kManual = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: careful}
spec: {selector: {matchLabels: {pool: lab}}, approval: {none: manual, traffic: manual, reset: manual}}
)yaml";

class ServiceOverApi : public ServiceLab {
 protected:
  ServiceOverApi() {
    api::ServerSettings settings;
    settings.listen = {"127.0.0.1:0"};
    settings.cluster = "lab";
    settings.tokens = files_.write(
        "tokens", "ann:operator:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8\n");
    settings.audit = files_.file("audit");
    auto started = api::ServiceApi::start(settings, {}, executor, *service);
    EXPECT_TRUE(started) << started.error().text();
    api_ = *std::move(started);
  }
  // Before the service.
  ~ServiceOverApi() override { api_.reset(); }
  // What a client gets, while the engine's thread turns. An action's deadline is of the steady clock: virtual
  // time goes no faster.
  template <class T>
  T meanwhile(const std::function<T(api::ApiClient&)>& ask) {
    std::future<T> out = std::async(std::launch::async, [&] {
      api::ApiClient client(api_->server().port(0));
      client.as("alpha");
      return ask(client);
    });
    constexpr std::chrono::milliseconds kPause{1};
    while (out.wait_for(kPause) != std::future_status::ready) {
      bool passed = false;
      executor.at(executor.now() + kPause, [&passed] { passed = true; });
      while (!passed && executor.step()) {
      }
    }
    return out.get();
  }
  nlohmann::json get(const std::string& target) {
    return nlohmann::json::parse(
        meanwhile<api::Reply>([&](api::ApiClient& client) { return client.get(target); }).body);
  }

  // The objects follow the service within a tenth of a second.
  nlohmann::json get_when(const std::string& target,
                          const std::function<bool(const nlohmann::json&)>& holds) {
    nlohmann::json out;
    EXPECT_TRUE(api::soon_holds([&] { return holds(out = get(target)); })) << target << out.dump(2);
    return out;
  }
  nlohmann::json revision_in(const std::string& name, const std::string& state) {
    return get_when("/api/v1alpha1/revisions/" + name, [&](const nlohmann::json& one) {
      return one.contains("status") && one["status"].is_object() && one["status"]["state"] == state;
    });
  }

  api::TemporaryPath files_;
  std::unique_ptr<api::ServiceApi> api_;
};

TEST_F(ServiceOverApi, AnApprovalByHttpBringsTheValueToTheDevice) {
  commit("aaaa1", 0);
  run_for(std::chrono::seconds(60));
  commit("bbbb1", 1, {{"policy.yaml", kManual}});
  run_for(std::chrono::seconds(60));
  expect_probing(0);
  const auto revision = revision_in("bbbb1", "waiting");
  ASSERT_EQ(revision["status"]["waiting"].size(), 2U) << revision.dump(2);
  nlohmann::json body{{"reason", "window of tonight"}, {"steps", nlohmann::json::array()}};
  for (const auto& step : revision["status"]["waiting"]) {
    EXPECT_EQ(step["changes"][0]["path"], "sysctl[net.ipv4.tcp_mtu_probing]");
    body["steps"].push_back(step["digest"]);
  }
  const auto reply = meanwhile<api::Reply>([&](api::ApiClient& client) {
    return client.post("/api/v1alpha1/revisions/bbbb1:approve", body.dump());
  });
  EXPECT_EQ(reply.status, 200) << reply.body;
  for (int minute = 0; minute < 60 && state_of("bbbb1") != RevisionState::kept; ++minute)
    run_for(std::chrono::seconds(60));
  expect_probing(1);
  revision_in("bbbb1", "kept");
  const auto changes = get("/api/v1alpha1/changes");
  ASSERT_EQ(changes["items"].size(), 2U) << changes.dump(2);
  const auto change =
      get("/api/v1alpha1/changes/" + changes["items"][0]["metadata"]["name"].get<std::string>());
  EXPECT_EQ(change["status"]["writes"].size(), 2U) << change.dump(2);
  EXPECT_EQ(get("/api/v1alpha1/changes?limit=1")["items"].size(), 1U);
  EXPECT_NE(files_.read("audit").find("window of tonight"), std::string::npos);
}

TEST_F(ServiceOverApi, WhatTheEngineRefusesIsNotDone) {
  commit("aaaa1", 0);
  run_for(std::chrono::seconds(60));
  const auto post = [&](const std::string& target, const std::string& body) {
    return meanwhile<api::Reply>([&](api::ApiClient& client) { return client.post(target, body); }).status;
  };
  revision_in("aaaa1", "kept");
  EXPECT_EQ(post("/api/v1alpha1/revisions/aaaa1:approve", R"({"steps": ["sha256:00ff"]})"), 409);
  EXPECT_EQ(post("/api/v1alpha1/devices/gpu1:uncordon", "{}"), 409);
  EXPECT_EQ(post("/api/v1alpha1/devices/gpu1:cordon", R"({"reason": "optics"})"), 200);
  EXPECT_TRUE(service->status()->cordoned.contains("gpu1"));
  EXPECT_EQ(service->status()->cordoned.at("gpu1").who, "operator ann");
  const auto device = get_when("/api/v1alpha1/devices/gpu1", [](const nlohmann::json& one) {
    return one.contains("spec") && one["spec"].contains("cordoned");
  });
  EXPECT_EQ(device["spec"]["cordoned"]["reason"], "optics");
}

// After the engine has gone on, nothing that waited for it too long is done.
TEST_F(ServiceOverApi, AnActionAfterItsDeadlineNeverRuns) {
  commit("aaaa1", 0);
  run_for(std::chrono::seconds(60));
  const auto desk = api::open_desk(executor, *service);
  ASSERT_TRUE(desk);
  std::atomic<int> answers = 0;
  api::Action action{.verb = api::Verb::cordon, .name = "gpu1", .by = ann};
  const auto answered = [&](const Result<Done>&) { ++answers; };
  const auto late = (*desk)->ask(action, executor.now(), answered);
  const auto withdrawn = (*desk)->ask(action, executor.now() + std::chrono::hours(1), answered);
  EXPECT_TRUE(withdrawn->withdraw());
  run_for(std::chrono::seconds(10));
  EXPECT_EQ(answers, 0);
  EXPECT_TRUE(late->withdraw());
  EXPECT_FALSE(service->status()->cordoned.contains("gpu1"));
  const auto begun = (*desk)->ask(action, executor.now() + std::chrono::hours(1), answered);
  run_for(std::chrono::seconds(10));
  EXPECT_EQ(answers, 1);
  EXPECT_FALSE(begun->withdraw());
}

}  // namespace
}  // namespace lockstep
