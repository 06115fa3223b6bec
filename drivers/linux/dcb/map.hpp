// The map between entries and one port's DCB and pause: the only place of this part that names rows.
//
// Promises: value_of() and overlay() are inverses: the value that was laid over a state is the one that it
// then has. A priority's buffer is told when it is not buffer 0, the one that all priorities begin in. What a
// class takes (a priority, a DSCP) its other class loses. Refuses a value of the wrong form and, for what is
// there as long as the port is, none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/dcb/port_state.hpp"
#include "specs/model/diff.hpp"

namespace lockstep::dcb_map {

// What dcbnl or ethtool sets of a port in one request: each stands for the rows that it carries.
enum class Object : std::uint8_t { mode, pause, pfc, cable, buffers, ets, rates, entries, trust };
// None: a row that no port carries.
std::optional<Object> object_of(RowId row);

// The rows that this part answers for, those included that no port here can carry. `classes`: the traffic
// classes too, which a port with a software scheduler has elsewhere (queueing/scheduler.hpp).
std::vector<RowId> rows(bool classes);
// Of a traffic class, by its number.
bool is_class_row(RowId row);
// Whether the entry is headroom of one of these priorities (bits).
bool is_headroom_of(Path entry, std::uint8_t priorities);
// Why a port in this state can't carry the row, empty: it can.
std::string lacking(RowId row, const dcb::PortState& state);

// All entries of the rows that the scope wants, or the value of one.
std::vector<Entry> entries(std::string_view port, const dcb::PortState& state);
Value value_of(Path entry, const dcb::PortState& state);

Result<Done> overlay(const Change& change, dcb::PortState& state);

// Why the laid over classes can't be: one that a change names has no priority, or check() of
// port_classes.hpp refuses them. Else each of the eight priorities is in one of them.
Result<Done> settle_classes(const std::vector<Path>& named, dcb::PortState& state);

// A DCBX mode in the words of dcb-dcbx(8): "host ieee".
std::string mode_words(std::uint8_t mode);
// "priorities 3, 4" of a mask, as PFC has one.
std::string priority_words(std::uint8_t mask);

// In words of dcb(8) and ethtool(8).
std::string native(const Change& change);

}  // namespace lockstep::dcb_map
