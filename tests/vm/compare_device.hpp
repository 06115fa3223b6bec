// Compares the actual state of a device with one driver to its desired state.
#pragma once

#include <gtest/gtest.h>

#include "reconciler/engine/observe.hpp"

namespace lockstep {

// An unread entry is a test failure.
inline DeviceState compare_device(const std::string& name, const Intent& intent, Attached& attached,
                                  const Call& call) {
  auto seen = attached.driver->observe(scope_of(intent), "", call);
  EXPECT_TRUE(seen) << seen.error().text();
  if (!seen) return {};
  for (const Unread& one : seen->unread) ADD_FAILURE() << one.why.text();
  Carriers carriers(name, 1);
  carriers.learn(0, attached.driver->traits(call));
  FleetDevice device;
  device.name = name;
  device.intent = &intent;
  device.drivers = {&attached};
  return compare(device, carriers, {std::move(seen)});
}

}  // namespace lockstep
