// A feed over a desk without a service, turned by the test.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fake_desk.hpp"
#include "reconciler/api/object_feed.hpp"
#include "sample_status.hpp"

namespace lockstep::api {

class FeedLab : public testing::Test {
 protected:
  FeedLab() { desk_.set(quiet_status()); }
  // Two observations that agree, after which conditions are shown.
  void settle() {
    for (int i = 0; i < 3; ++i) {
      ServiceStatus status = *desk_.status();
      if (status.devices) {
        Snapshot again = *status.devices;
        for (auto& one : again.devices)
          if (one) one = std::make_shared<const DeviceStatus>(*one);
        status.devices = std::make_shared<const Snapshot>(std::move(again));
      }
      desk_.set(status);
      turn(2);
    }
  }
  void turn(int later = 1) { feed_.turn(at_second(clock_ += later)); }
  int clock() const { return clock_; }
  nlohmann::json object(Kind kind, const std::string& name) {
    const ApiObjectPtr found = feed_.board()->find(kind, name);
    return found ? nlohmann::json::parse(found->text) : nlohmann::json();
  }
  nlohmann::json condition(Kind kind, const std::string& name, const std::string& type) {
    const nlohmann::json found = object(kind, name);
    for (const nlohmann::json& one : found["status"]["conditions"])
      if (one["type"] == type) return one;
    return {};
  }
  std::vector<LogEntry> since(std::uint64_t sequence) { return *log_.after(sequence, 1000); }

  FakeDesk desk_;
  EventLog log_{"e1", 100};
  ObjectFeed feed_{desk_, log_, {}};

 private:
  int clock_ = 100;
};

}  // namespace lockstep::api
