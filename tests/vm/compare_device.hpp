// A device that one driver carries, compared with what specs want of it.
#pragma once

#include <gtest/gtest.h>

#include "reconciler/engine/fleet.hpp"

namespace lockstep {

// The test fails where not all of it can be read.
inline DeviceState compare_device(const std::string& name, const Intent& intent, Attached& attached,
                                  const Call& call) {
  auto seen = attached.driver->observe(Scope{}, "", call);
  const auto carriers = Carriers::of(name, {attached.driver->traits()});
  EXPECT_TRUE(seen) << seen.error().text();
  EXPECT_TRUE(carriers) << carriers.error().text();
  if (!seen || !carriers) return {};
  for (const Unread& one : seen->unread) ADD_FAILURE() << one.why.text();
  FleetDevice device;
  device.name = name;
  device.intent = &intent;
  device.drivers = {&attached};
  return compare(device, *carriers, {*std::move(seen)}, {});
}

}  // namespace lockstep
