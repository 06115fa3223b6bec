// PortBuffers: the lossless ingress buffers of one port: BUFFER_PG and the profiles that it names.
//
// Promises: put_buffers() makes buffers_of() equal to what is wanted, for this port; profiles are never
// changed (shared_rows.hpp). Refuses (invalid_spec, unsupported, refused): a buffer without a size, one for
// which there is no pool, and the size of one that buffermgrd computes.
//
// In the dynamic buffer model (DEVICE_METADATA, buffer_model) a lossless priority has a row BUFFER_PG with
// the profile NULL: from it buffermgrd computes a headroom, by speed, MTU and cable length, and keeps it in
// APPL_DB (sonic-swss e6b0c5b5, cfgmgr/buffermgrdyn.cpp, handleSingleBufferPgEntry). Without that row there
// is none. A profile with numbers that somebody has named instead (headroom override) is used and changed as
// in the traditional model, in which buffermgrd makes its rows from pfc_enable by itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "drivers/sonic/config_db.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

// Of a lossless priority; bytes.
struct BufferSettings {
  std::optional<std::int64_t> size{};
  std::optional<std::int64_t> xoff{};
  std::optional<std::int64_t> xon{};
  std::optional<std::int64_t> xon_offset{};
  std::optional<std::int64_t> dynamic_threshold{};  // log2 of alpha
  bool operator==(const BufferSettings&) const = default;
};

// All by priority.
struct PortBuffers {
  std::map<int, BufferSettings> sized{};  // those whose numbers CONFIG_DB has
  std::set<int> reserved{};               // those that are there, whoever computes them
  std::set<int> computed{};               // whose numbers buffermgrd computes, or would compute
  bool operator==(const PortBuffers&) const = default;
};

bool has_dynamic_buffers(const ConfigDb& config);
// Without the rows that buffermgrd makes itself, in the traditional model: its profiles and what names them.
ConfigDb without_computed(ConfigDb config);
PortBuffers buffers_of(const ConfigDb& config, const std::string& port);
// What buffermgrd has computed of the buffers of which CONFIG_DB has no numbers. `groups`: the profiles of
// the port's priority groups in APPL_DB.
std::map<int, BufferSettings> computed_buffers(const ConfigDb& config, const std::string& port,
                                               const std::map<int, ConfigRow>& groups);

// `groups_before`: the priority groups that `was` was read with (groups_of(), port_rows.hpp).
Result<Done> put_buffers(ConfigDb& config, const std::string& port, const PortBuffers& was,
                         const PortBuffers& want, const std::map<int, int>& groups_before);

}  // namespace lockstep::sonic
