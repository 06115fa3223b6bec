// How a process of the simulated program reaches devices that outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/sim/simulated_device.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::simulation {

// Sessions that came down and stay so until somebody resets them.
class ResetSession final : public Remedy {
 public:
  using Cure = std::function<Result<Done>(const ChangeSet&)>;
  explicit ResetSession(Cure cure) : cure_(std::move(cure)) {}
  std::optional<Offer> offer(const Change& effect) const override {
    return effect.was == effect.want ? std::nullopt : stands_by(effect);
  }
  std::optional<Offer> stands_by(const Change& effect) const override {
    if (effect.path.row() != kSession) return std::nullopt;
    return Offer{kName, "resets the session", Disruption::traffic, kTriesMax, kWithin};
  }
  Result<Done> cure(const ChangeSet& effects, const Call&) override { return cure_(effects); }

  static constexpr RowId kSession = row("bgp/neighbor[*]/session");
  static constexpr const char* kName = "reset-session";
  static constexpr int kTriesMax = 3;
  static constexpr std::chrono::seconds kWithin = std::chrono::hours(1);

 private:
  Cure cure_;
};

// The driver that a session is given: every call goes to the device.
class Line final : public Driver {
 public:
  // `writes`: called before each apply.
  Line(SimulatedDevice& device, std::function<void()> writes, ResetSession::Cure cure)
      : remedy(std::move(cure)), device_(device), writes_(std::move(writes)) {}
  Result<Traits> traits(const Call& call) override { return device_.traits(call); }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    return device_.observe(scope, if_not, call);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    writes_();
    return device_.apply(changes, guard, call);
  }
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override {
    return device_.settle(transaction, settlement, call);
  }

  ResetSession remedy;

 private:
  SimulatedDevice& device_;
  std::function<void()> writes_;
};

// One watcher for all devices, as of a collector that they all report to.
class Events final : public Watcher {
 public:
  int descriptor() const override { return wake_.number(); }
  Result<Woken> drain() override {
    wake_.clear();
    return std::exchange(woken_, {});
  }
  void happened(const std::string& device) {
    woken_.devices.push_back(device);
    wake_.signal();
  }
  void overrun() {
    woken_ = {.all = true, .devices = {}};
    wake_.signal();
  }

 private:
  WakeDescriptor wake_;
  Woken woken_;
};

}  // namespace lockstep::simulation
