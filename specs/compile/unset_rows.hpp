// Entries that no driver of a device can set: they are compiled, proved, explained, and reported as not
// applied. The list follows from the drivers; tests/unit/linux/unset_rows_test.cpp keeps the two in step.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "specs/language/object.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

inline constexpr std::array kSetByNoDriver{
    row("buffer-headroom"),
    row("buffer-pool[*]/share"),
    row("load-balancing/flowlet-entries"),
    row("load-balancing/flowlet-inactivity"),
    row("load-balancing/link-utilization"),
};
// tests/unit/sonic/map_test.cpp keeps it in step with that driver.
inline constexpr std::array kSetBySonicOnly{
    row("counter-group[*]"),
    row("counter-group[*]/interval"),
    row("interface[*]/buffer[*]"),
    row("interface[*]/buffer[*]/dynamic-threshold"),
    row("interface[*]/buffer[*]/xoff"),
    row("interface[*]/buffer[*]/xon"),
    row("interface[*]/buffer[*]/xon-offset"),
    row("interface[*]/pfc-asymmetric"),
    row("interface[*]/pfc-watchdog/action"),
    row("interface[*]/pfc-watchdog/detection-time"),
    row("interface[*]/pfc-watchdog/restoration-time"),
    row("pfc-watchdog/poll-interval"),
};

// `drivers`: of the device.
constexpr bool is_set_by_no_driver(RowId id, std::span<const DriverName> drivers) {
  const auto is_in = [id](const auto& rows) { return std::ranges::find(rows, id) != rows.end(); };
  const bool is_sonic = std::ranges::find(drivers, DriverName::sonic) != drivers.end();
  return is_in(kSetByNoDriver) || (!is_sonic && is_in(kSetBySonicOnly));
}

}  // namespace lockstep
