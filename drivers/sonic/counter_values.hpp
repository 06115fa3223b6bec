// Values of COUNTERS_DB: the rows of one object become counters of a reading.
//
// Promises: takes the fields that have a row in counter_names.hpp. What is no number is reported as
// unreadable. Numbers may have a fraction or an exponent, as Redis' Lua writes them (port_rates.lua,
// pfc_detect_*.lua); the fraction of a count is cut off. A watermark of 0 that `polled` lacks is left out:
// the switch wrote it to clear it, and never measured it. Refuses nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/counter_names.hpp"
#include "specs/model/counter_reading.hpp"

namespace lockstep::sonic {

struct CountedRow {
  CounterTable table;
  const RedisHash& fields;
  const RedisHash& polled;  // the object's row of COUNTERS
};

// `id`: the port and scope of the object, such as queue[3] of Ethernet0.
void take_counters(const CounterId& id, const std::string& oid, const CountedRow& row, CounterReading& out);

// None: it is none of this kind.
std::optional<CounterNumber> counter_number(std::string_view text, const CounterRow& row);

}  // namespace lockstep::sonic
