// Entries that no driver of a device can set: they are compiled, proved, explained, and reported as not
// applied. The list follows from the drivers; tests/unit/linux/unset_rows_test.cpp keeps the two in step.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "specs/language/object.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

// By linux and frr.
inline constexpr std::array kSetByNoDriver{
    row("buffer-headroom"),
    row("buffer-pool[*]/share"),
    row("interface[*]/buffer[*]/dynamic-threshold"),
    row("interface[*]/buffer[*]/xoff"),
    row("interface[*]/buffer[*]/xon"),
    row("interface[*]/buffer[*]/xon-offset"),
    row("interface[*]/pfc-asymmetric"),
    row("interface[*]/pfc-watchdog/action"),
    row("interface[*]/pfc-watchdog/detection-time"),
    row("interface[*]/pfc-watchdog/poll-interval"),
    row("interface[*]/pfc-watchdog/restoration-time"),
    row("load-balancing/flowlet-entries"),
    row("load-balancing/flowlet-inactivity"),
    row("load-balancing/link-utilization"),
};

// Of these, what a switch operating system's driver sets all the same; tests/unit/sonic/map_test.cpp keeps
// the two in step.
inline constexpr std::array kSetBySonic{
    row("interface[*]/buffer[*]/dynamic-threshold"),
    row("interface[*]/buffer[*]/xoff"),
    row("interface[*]/buffer[*]/xon"),
    row("interface[*]/buffer[*]/xon-offset"),
    row("interface[*]/pfc-asymmetric"),
    row("interface[*]/pfc-watchdog/action"),
    row("interface[*]/pfc-watchdog/detection-time"),
    row("interface[*]/pfc-watchdog/restoration-time"),
};

// `drivers`: of the device.
constexpr bool is_set_by_no_driver(RowId id, std::span<const DriverName> drivers) {
  const bool is_sonic = std::ranges::find(drivers, DriverName::sonic) != drivers.end();
  return std::ranges::find(kSetByNoDriver, id) != kSetByNoDriver.end() &&
         !(is_sonic && std::ranges::find(kSetBySonic, id) != kSetBySonic.end());
}

}  // namespace lockstep
