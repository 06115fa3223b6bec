// Connects a process of the simulated program to devices that outlive it.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/sim/simulated_device.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::simulation {

// Resets sessions that stay down until they are reset.
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

// For a device with two drivers, one for its kernel and one for its routing daemons: the driver that supports
// a row.
inline constexpr std::size_t kParts = 2;
inline std::size_t part_of(RowId row) {
  const std::string_view pattern = schema_row(row).pattern;
  return pattern.starts_with("bgp") || pattern.starts_with("bfd") || pattern.starts_with("routing-") ? 1 : 0;
}
inline const std::vector<RowId>& rows_of(std::size_t part) {
  static const auto kAll = [] {
    std::array<std::vector<RowId>, kParts> out;
    for (RowId row = 0; row < kSchema.size(); ++row) out[part_of(row)].push_back(row);
    return out;
  }();
  return kAll[part];
}

// A driver for a session: every call that is not lost reaches the device.
class Line final : public Driver {
 public:
  struct Hooks {
    std::function<std::optional<Error>()> why_silent;  // none: the device answers
    std::function<void()> writes;                      // before a call that may write reaches the device
    ResetSession::Cure cure;
  };
  // `rows`: the rows that it supports; empty: all.
  Line(SimulatedDevice& device, std::string name, std::vector<RowId> rows, Hooks hooks)
      : remedy([this](const ChangeSet& effects) -> Result<Done> {
          if (auto why = hooks_.why_silent()) return *std::move(why);
          return hooks_.cure(effects);
        }),
        device_(device),
        name_(std::move(name)),
        rows_(std::move(rows)),
        hooks_(std::move(hooks)) {}

  Result<Traits> traits(const Call& call) override {
    if (auto why = hooks_.why_silent()) return *std::move(why);
    TRY(Traits traits, device_.traits(call));
    traits.driver = name_;
    for (std::vector<RowId>* const all : {&traits.reads, &traits.writes})
      std::erase_if(*all, [this](RowId row) { return !carries(row); });
    return traits;
  }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    if (auto why = hooks_.why_silent()) return *std::move(why);
    if (rows_.empty()) return device_.observe(scope, if_not, call);
    Scope own = scope;
    if (scope.rows.empty()) own.rows = rows_;
    std::erase_if(own.rows, [this](RowId row) { return !carries(row); });
    if (own.rows.empty()) own.rows = {rows_.front()};
    return device_.observe(own, if_not, call);
  }
  // A write that cuts the path to the device also loses the answer, here and when the device rolls back.
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    if (auto why = hooks_.why_silent()) return *std::move(why);
    hooks_.writes();
    Result<Receipt> answer = device_.apply(changes, guard, call);
    if (hooks_.why_silent()) return Error{ErrorKind::unknown_outcome, "the connection was reset"};
    return answer;
  }
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override {
    if (auto why = hooks_.why_silent()) return *std::move(why);
    hooks_.writes();
    Result<Done> answer = device_.settle(transaction, settlement, call);
    if (hooks_.why_silent()) return Error{ErrorKind::unknown_outcome, "the connection was reset"};
    return answer;
  }

  ResetSession remedy;

 private:
  bool carries(RowId row) const { return rows_.empty() || std::ranges::find(rows_, row) != rows_.end(); }

  SimulatedDevice& device_;
  std::string name_;
  std::vector<RowId> rows_;
  Hooks hooks_;
};

// One watcher for all devices, like a collector to which they all report.
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
