// A driver that passes each call on to another one, which may be shared.
#pragma once

#include <memory>
#include <utility>

#include "drivers/driver.hpp"

namespace lockstep {

class PassingDriver : public Driver {
 public:
  explicit PassingDriver(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {}
  Result<Traits> traits(const Call& call) override { return driver_->traits(call); }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    return driver_->observe(scope, if_not, call);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    return driver_->apply(changes, guard, call);
  }
  Result<Done> settle(std::string_view ticket, Settlement settlement, const Call& call) override {
    return driver_->settle(ticket, settlement, call);
  }

 private:
  const std::shared_ptr<Driver> driver_;
};

}  // namespace lockstep
