// A server over a fake desk, with tokens of each role.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api_client.hpp"
#include "fake_desk.hpp"
#include "reconciler/api/server.hpp"
#include "sample_status.hpp"
#include "temporary_path.hpp"

namespace lockstep::api {

class ApiServerTest : public testing::Test {
 protected:
  using Json = nlohmann::json;

  ApiServerTest() {
    write_tokens({"viewer", "operator", "admin"});
    settings_.listen = {"127.0.0.1:0"};
    settings_.cluster = "pod1";
    settings_.tokens = folder_.file("tokens");
    settings_.audit = folder_.file("audit");
    settings_.log = [this](const std::string& line) {
      const std::scoped_lock lock(mutex_);
      said_ += line + "\n";
    };
    desk_.set(quiet_status());
    turn();
  }

  // A token of each of these roles, which is the role's name.
  void write_tokens(const std::vector<std::string>& roles) {
    std::string text;
    for (const std::string& role : roles) {
      text += "the-" + role + ":" + role + ":";
      for (const unsigned char byte : sha256(role)) {
        constexpr const char* kDigits = "0123456789abcdef";
        text += kDigits[byte / 16];
        text += kDigits[byte % 16];
      }
      text += "\n";
    }
    folder_.write("tokens", text);
  }
  void start() {
    auto server = ApiServer::start(settings_, desk_, feed_, log_);
    ASSERT_TRUE(server) << server.error().text();
    server_ = *std::move(server);
  }
  std::string why_not_started() {
    const auto server = ApiServer::start(settings_, desk_, feed_, log_);
    return server ? "" : server.error().text();
  }
  void TearDown() override { server_.reset(); }

  std::uint16_t port() const { return server_->port(0); }
  ApiClient client(const std::string& role = "") {
    ApiClient out(port());
    if (!role.empty()) out.as(role);
    return out;
  }
  void turn() { feed_.turn(at_second(clock_ += 2)); }
  void drift(std::size_t differences) {
    desk_.set(drifted_status(differences, ++observed_));
    turn();
  }
  std::vector<Json> audited() const {
    std::vector<Json> out;
    std::istringstream in(folder_.read("audit"));
    for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
    return out;
  }
  std::string said() const {
    const std::scoped_lock lock(mutex_);
    return said_;
  }

  TemporaryPath folder_;
  FakeDesk desk_;
  mutable std::mutex mutex_;
  std::string said_;  // under mutex_
  EventLog log_{"e1", 100};
  ObjectFeed feed_{desk_, log_, {}};
  std::unique_ptr<ApiServer> server_;
  ServerSettings settings_;
  int clock_ = 100;
  int observed_ = 1000;
};

}  // namespace lockstep::api
