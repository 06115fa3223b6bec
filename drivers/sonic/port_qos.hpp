// PortQos: what CONFIG_DB says of one port's traffic classes and lossless buffers, through the rows that it
// names: maps, schedulers, WRED and buffer profiles, which ports share.
//
// Promises: put_qos() makes qos_of() equal to what is wanted, for this port; other ports keep theirs, since a
// shared row is never changed: a port gets one with the wanted content, whatever it is called, or a new one
// whose name begins with lockstep-. Fields that are not spoken of here stay. A class is the queue of its
// number; as written, its traffic class and, where it is lossless, its priority group have the same number.
// Refuses (invalid_spec, unsupported): what SONiC's fields can't hold (shares and probabilities in tenths of
// a percent), and what put_buffers() refuses. In the dynamic buffer model a priority that PFC is turned on
// for gets its row of BUFFER_PG as well.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/port_buffers.hpp"
#include "drivers/sonic/port_rows.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

struct ClassSettings {
  std::set<int> dscps{};
  std::set<int> priorities{};              // 802.1p
  std::optional<bool> strict{};            // none: no scheduler
  std::optional<std::int64_t> share{};     // ‰
  std::optional<std::int64_t> max_rate{};  // bit/s
  std::optional<std::int64_t> ecn_min{};   // bytes
  std::optional<std::int64_t> ecn_max{};
  std::optional<std::int64_t> ecn_probability{};  // ‰
  bool operator==(const ClassSettings&) const = default;
};

// What classifies packets: by DSCP where the port has a map of DSCPs, else by 802.1p where it has one of
// these. So it follows from the classes: a port whose classes have DSCPs trusts them.
enum class Trust : std::uint8_t { none, dscp, pcp };

struct PortQos {
  Trust trust = Trust::none;               // not written by itself
  std::set<int> lossless{};                // priorities with PFC
  std::map<int, ClassSettings> classes{};  // by queue
  PortBuffers buffers{};
  bool operator==(const PortQos&) const = default;
};

PortQos qos_of(const ConfigDb& config, const std::string& port);
Result<Done> put_qos(ConfigDb& config, const std::string& port, const PortQos& want);

}  // namespace lockstep::sonic
