// Entries that no driver can set on any device: they are compiled, proved, explained, and reported as not
// applied. The list follows from the drivers; tests/unit/linux/unset_rows_test.cpp keeps the two in step.
#pragma once

#include <algorithm>
#include <array>

#include "specs/model/schema_rows.hpp"

namespace lockstep {

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

constexpr bool is_set_by_no_driver(RowId id) {
  return std::ranges::find(kSetByNoDriver, id) != kSetByNoDriver.end();
}

}  // namespace lockstep
