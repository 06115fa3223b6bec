// The map between leaves and one port's DCB and pause: the only place of this part that names rows.
//
// Promises: value_of() and overlay() are inverses: the value that was laid over a state is the one that it
// then has. A priority's buffer is told when it is not buffer 0, the one that all priorities begin in.
// Refuses a value of the wrong form and, for all but a buffer, none: those are there as long as the port is.
#pragma once

#include <string>
#include <vector>

#include "drivers/linux/dcb/port_state.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::dcb_map {

inline constexpr RowId kPfc = row("interface[*]/pfc");
inline constexpr RowId kDcbx = row("interface[*]/dcbx");
inline constexpr RowId kPause = row("interface[*]/pause");
inline constexpr RowId kBufferSize = row("interface[*]/buffer[*]/size");

// The rows that this part answers for, those included that no port here can carry.
std::vector<RowId> rows();
// Why a port in this state can't carry the row, empty: it can.
std::string lacking(RowId row, const dcb::PortState& state);

// All leaves of the rows that the scope wants, or the value of one.
std::vector<Leaf> leaves(std::string_view port, const dcb::PortState& state);
Value value_of(Path leaf, const dcb::PortState& state);

Result<Done> overlay(const Change& change, dcb::PortState& state);

// A DCBX mode in the words of dcb-dcbx(8): "host ieee".
std::string mode_words(std::uint8_t mode);

// In words of dcb(8) and ethtool(8).
std::string native(const Change& change);

}  // namespace lockstep::dcb_map
