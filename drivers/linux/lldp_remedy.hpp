// LldpRemedy: restarts an lldpd that is dead or hangs, if the target provides a way to do so.
//
// Promises: nothing but lldpd is touched, so no traffic is disturbed. Refuses every other effect.
#pragma once

#include <functional>

#include "drivers/driver.hpp"

namespace lockstep {

class LldpRemedy : public Remedy {
 public:
  explicit LldpRemedy(std::function<Result<Done>(const Call&)> restart) : restart_(std::move(restart)) {}

  std::optional<Offer> offer(const Change& effect) const override;
  Result<Done> cure(const ChangeSet& effects, const Call& call) override;

 private:
  std::function<Result<Done>(const Call&)> restart_;
};

}  // namespace lockstep
