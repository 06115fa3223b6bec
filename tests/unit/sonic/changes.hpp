// Changes of a switch's entries, for tests of the driver and of its map.
#pragma once

#include <string>

#include "drivers/driver.hpp"

namespace lockstep::sonic {

inline Change change(const std::string& path, Value want) { return {*Path::parse(path), {}, want}; }

// A lossless class with its buffer.
inline ChangeSet lossless_class(const std::string& port) {
  const auto at = [&port](const std::string& rest) { return "interface[" + port + "]/" + rest; };
  return {change(at("pfc"), Value::set({"3"})),
          change(at("class[3]"), Value::present()),
          change(at("class[3]/dscp"), Value::set({"26"})),
          change(at("class[3]/priority"), Value::set({"3"})),
          change(at("class[3]/strict"), Value::boolean(false)),
          change(at("class[3]/share"), Value::integer(600)),
          change(at("class[3]/ecn-min"), Value::integer(150000)),
          change(at("class[3]/ecn-max"), Value::integer(1500000)),
          change(at("class[3]/ecn-probability"), Value::integer(1000)),
          change(at("buffer[3]/size"), Value::integer(257338)),
          change(at("buffer[3]/xoff"), Value::integer(237882)),
          change(at("buffer[3]/xon"), Value::integer(19456)),
          change(at("buffer[3]/dynamic-threshold"), Value::integer(0)),
          change(at("mtu"), Value::integer(9216))};
}

}  // namespace lockstep::sonic
