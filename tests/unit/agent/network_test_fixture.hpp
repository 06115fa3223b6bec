// What tests of AgentNetwork share: a CA, the files of both ends, and a network of cluster "pod".
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "drivers/agent/network.hpp"
#include "tests/unit/agent/scripted_agent.hpp"

namespace lockstep {

inline Call within(std::chrono::milliseconds length) {
  return {.deadline = std::chrono::steady_clock::now() + length, .stop = {}};
}
// Far beyond what a test takes: whatever ends earlier does not end by its deadline.
inline Call patient() { return within(std::chrono::seconds(60)); }

inline bool is_call(const ScriptedAgent::Request& request, const std::string& name) {
  return request.line == "POST /v1/" + name + " HTTP/1.1";
}

// Whether `text` has `part`.
inline ::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

template <class T>
::testing::AssertionResult fails_as(const Result<T>& result, ErrorKind kind) {
  if (!result && result.error().kind == kind) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "not " << to_string(kind) << ", but "
         << (result ? "a success"
                    : std::string(to_string(result.error().kind)) + ": " + result.error().text());
}

class NetworkTest : public ::testing::Test {
 protected:
  std::shared_ptr<AgentNetwork> start(AgentNetwork::Options options) {
    if (options.files.ca.empty()) options.files = controller_;
    options.cluster = "pod";
    auto out = AgentNetwork::start(std::move(options));
    EXPECT_TRUE(out) << out.error().text();
    return *out;
  }
  // Greets, and answers everything else with `reply`.
  static ScriptedAgent::Script greets_and(const ScriptedAgent::Reply& reply) {
    return [reply](const ScriptedAgent::Request& request) {
      return is_call(request, "hello") ? ScriptedAgent::Reply{http("{}")} : reply;
    };
  }

  TemporaryFolder folder_;
  TestCa ca_{folder_.path(), "pod CA", "ca"};
  TlsFiles controller_ = ca_.issue("ops", "lockstep://pod/controller/ops");
  TlsFiles gpu1_ = ca_.issue("gpu1", "lockstep://pod/device/gpu1");
  TlsFiles gpu2_ = ca_.issue("gpu2", "lockstep://pod/device/gpu2");
};

}  // namespace lockstep
