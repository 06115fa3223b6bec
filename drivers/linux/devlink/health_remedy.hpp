// HealthRemedy: makes a NIC's health reporters that are in error recover (devlink health recover).
//
// Promises: only reporters in error are asked, once each; what is recovered is up to the driver, and may
// reset the port. Refuses every other effect, and returns the kernel's message if a reporter does not
// recover.
#pragma once

#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

class HealthRemedy : public Remedy {
 public:
  // Empty: this machine's own network namespace.
  explicit HealthRemedy(std::string netns_path) : netns_path_(std::move(netns_path)) {}

  std::optional<Offer> offer(const Change& effect) const override;
  Result<Done> cure(const ChangeSet& effects, const Call& call) override;

 private:
  const std::string netns_path_;
};

}  // namespace lockstep
