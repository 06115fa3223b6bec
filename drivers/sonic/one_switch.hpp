// OneSwitch: what both drivers of a switch (driver.hpp, patch_driver.hpp) keep from call to call: one call at
// a time, the highest epoch, the YANG models.
//
// Promises: neither can roll back by itself; an older epoch than one that was accepted is denied.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/driver.hpp"
#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/yang_models.hpp"

namespace lockstep::sonic {

class OneSwitch {
 public:
  // `models`: a folder of them; empty: the built-in rules judge.
  OneSwitch(std::string device, std::string models)
      : device_(std::move(device)), folder_(std::move(models)) {}

  using Alone = std::unique_lock<std::timed_mutex>;
  Result<Alone> alone(const Call& call);

  // Unsupported: it asks for a rollback by the device. Denied: its epoch.
  Result<Done> check(const Guard& guard) const;
  void accept(const Guard& guard) { epoch_ = guard.epoch; }
  Error changed(std::string_view when) const;  // a conflict: CONFIG_DB has changed `when`
  Result<Done> settle(Settlement settlement) const;

  // Once; before plan().
  Result<Done> load_models();
  bool has_models() const { return models_.has_value(); }
  Result<ConfigPlan> plan(const ConfigDb& from, const ConfigDb& to) const {
    return plan_config(models_ ? &*models_ : nullptr, from, to, KnownFaults::stay);
  }

 private:
  const std::string device_;
  const std::string folder_;
  std::timed_mutex mutex_;
  std::uint64_t epoch_ = 0;
  std::optional<YangModels> models_;
};

// "config.effects": a guard compares the configuration only, since a flapping port does not change it.
std::string revision_text(std::string_view config, std::string_view effects);
std::string_view config_part(std::string_view revision);

}  // namespace lockstep::sonic
