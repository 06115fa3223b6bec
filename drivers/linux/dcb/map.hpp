// The map between entries and one port's DCB and pause: the only file of this part that names rows.
//
// Promises: value_of() and overlay() are inverses: after a value was laid over a state, the state has that
// value. A priority's buffer is reported if it is not buffer 0, the initial buffer of all priorities. What
// one class gains (a priority, a DSCP) its previous class loses. Refuses a value of the wrong form, and an
// absent value for entries that exist as long as the port does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/dcb/port_state.hpp"
#include "specs/model/diff.hpp"

namespace lockstep::dcb_map {

// What dcbnl or ethtool sets on a port in one request; each implements some of the rows.
enum class Object : std::uint8_t { mode, pause, pfc, cable, buffers, ets, rates, entries, trust };
// None: a row that no port supports.
std::optional<Object> object_of(RowId row);

// The rows of this part, including those that no port here supports. `classes`: include the traffic classes,
// which ports with a software scheduler have elsewhere (queueing/scheduler.hpp).
std::vector<RowId> rows(bool classes);
// Whether the row is about a traffic class, keyed by its number.
bool is_class_row(RowId row);
// Whether the entry is headroom of one of these priorities (a bit mask).
bool is_headroom_of(Path entry, std::uint8_t priorities);
// Why a port in this state does not support the row; empty: it does.
std::string lacking(RowId row, const dcb::PortState& state);

// All entries of the rows that the scope wants, or the value of one.
std::vector<Entry> entries(std::string_view port, const dcb::PortState& state);
Value value_of(Path entry, const dcb::PortState& state);

Result<Done> overlay(const Change& change, dcb::PortState& state);

// Why the resulting classes are impossible: a class that a change names has no priority, or check() of
// port_classes.hpp refuses them. On success each of the eight priorities is in one class.
Result<Done> settle_classes(const std::vector<Path>& named, dcb::PortState& state);

// A DCBX mode in dcb-dcbx(8)'s notation: "host ieee".
std::string mode_words(std::uint8_t mode);
// "priorities 3, 4" for a mask such as PFC's.
std::string priority_words(std::uint8_t mask);

// As commands of dcb(8) and ethtool(8).
std::string native(const Change& change);

}  // namespace lockstep::dcb_map
