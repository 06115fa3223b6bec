// Entries of a port's classes and lossless buffers: how each is read from a PortQos, and written to one.
#pragma once

#include <optional>
#include <span>

#include "drivers/driver.hpp"
#include "drivers/sonic/port_qos.hpp"

namespace lockstep::sonic {

// A setting of a port's classes and buffers. The entry's second key, where it has one, is the class or the
// priority.
struct QosLine {
  RowId row;
  Value (*read)(const PortQos&, int);
  Result<Done> (*write)(PortQos&, int, const Change&);
};
// Null: it is none of the schema's rows of a port itself, its classes and its lossless priorities.
const QosLine* qos_line(RowId row);
std::span<const QosLine> port_lines();
std::span<const QosLine> class_lines();
std::span<const QosLine> buffer_lines();
// Of these, all but whether there is a buffer.
std::span<const QosLine> buffer_number_lines();

Value trust_of(const PortQos& qos);
// None: it is no number from 0 to `most`.
std::optional<int> number_of(std::string_view text, int most);

}  // namespace lockstep::sonic
