#include "drivers/sonic/patch_limits.hpp"

#include <algorithm>
#include <array>

#include "drivers/sonic/redis_protocol.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

// Tables that the list guards by operations: what no line of kLimits allows is refused.
constexpr std::array<std::string_view, 3> kGuarded{"BUFFER_POOL", "BUFFER_PROFILE", "PFC_WD"};

// BUFFER_POOL has no line. A row of BUFFER_PROFILE may come and go as a whole
// (buffer_profile_config_update_validator), but not with its table, which that function does not take for a
// row. A row of PFC_WD may come where all its fields are listed; of a table that comes with its rows the
// function takes the ports for fields (rdma_config_update_validator_common, _get_fields_in_patch).
constexpr std::array kLimits{
    PatchLimit{"BUFFER_PROFILE", PatchPlace::row, "", true, false, true},
    PatchLimit{"BUFFER_PROFILE", PatchPlace::field, "dynamic_th", false, true, false},
    PatchLimit{"BUFFER_PROFILE", PatchPlace::field, "packet_discard_action", true, true, false},
    PatchLimit{"BUFFER_PROFILE", PatchPlace::field, "xoff", false, true, false},
    PatchLimit{"PFC_WD", PatchPlace::table, "", false, false, true},
    PatchLimit{"PFC_WD", PatchPlace::row, "", true, false, true},
    PatchLimit{"PFC_WD", PatchPlace::field, "POLL_INTERVAL", true, true, false},
    PatchLimit{"PFC_WD", PatchPlace::field, "action", true, true, true},
    PatchLimit{"PFC_WD", PatchPlace::field, "detection_time", true, true, true},
    PatchLimit{"PFC_WD", PatchPlace::field, "pfc_stat_history", true, true, true},
    PatchLimit{"PFC_WD", PatchPlace::field, "restoration_time", true, true, true},
};

// What may not go from a row whatever else (gu_common.py, illegal_operations_to_fields_map).
struct KeptRow {
  std::string_view table;
  std::string_view key;
};
constexpr std::array kKeptRows{KeptRow{"PFC_WD", "GLOBAL"}, KeptRow{"LOOPBACK_INTERFACE", "Loopback0"}};

// Where STATE_DB has no supported_fecs (field_operation_validators.py, DEFAULT_SUPPORTED_FECS_LIST).
constexpr std::array<std::string_view, 4> kUsualFecs{"rs", "fc", "none", "auto"};

PatchPlace place_of(const PatchOperation& one) {
  return one.key.empty() ? PatchPlace::table : one.field.empty() ? PatchPlace::row : PatchPlace::field;
}

bool is_allowed(PatchPlace place, const PatchOperation& one, std::string_view field) {
  return std::ranges::any_of(kLimits, [&](const PatchLimit& limit) {
    const bool kind = one.kind == PatchKind::add       ? limit.add
                      : one.kind == PatchKind::replace ? limit.replace
                                                       : limit.remove;
    return limit.table == one.table && limit.place == place && limit.field == field && kind;
  });
}

// python-jsonpatch (1.33, DiffBuilder) takes something that comes and equals something that goes for a move,
// and no validator allows moves.
bool is_move(const std::vector<PatchOperation>& patch, const PatchOperation& one) {
  return one.kind == PatchKind::add && std::ranges::any_of(patch, [&one](const PatchOperation& other) {
           return other.kind == PatchKind::remove && other.was == one.want;
         });
}

std::string limit_text(const PatchOperation& one, const std::string& what) {
  return printable(place_text(one)) + ": config apply-patch " + what;
}

// Of a table that the list guards; empty: it is allowed.
std::string guarded_refusal(const std::vector<PatchOperation>& patch, const PatchOperation& one) {
  const PatchPlace place = place_of(one);
  if (!is_allowed(place, one, place == PatchPlace::field ? one.field : "")) {
    const std::string verb = one.kind == PatchKind::add       ? "add "
                             : one.kind == PatchKind::replace ? "change "
                                                              : "remove ";
    const std::string what = place == PatchPlace::field   ? "field " + printable(one.field)
                             : place == PatchPlace::row   ? "this row"
                             : one.kind == PatchKind::add ? "the first row of this table"
                                                          : "the last row of this table";
    return limit_text(one,
                      "refuses to " + verb + what + " (SONiC's gcu_field_operation_validators.conf.json)");
  }
  if (is_move(patch, one))
    return limit_text(one,
                      "takes it for a move, since something equal goes with it, and refuses moves: "
                      "apply again, when that has gone");
  if (one.table != "PFC_WD" || place != PatchPlace::row || one.kind != PatchKind::add) return {};
  PatchOperation field = one;
  for (const auto& [name, value] : std::get<ConfigRow>(*one.want))
    if (field.field = name; one.key == "GLOBAL" || !is_allowed(PatchPlace::field, field, name))
      return limit_text(one, "refuses to add a row of PFC_WD with field " + printable(name));
  return {};
}

// Of one field of PORT that comes or changes.
std::string port_refusal(const std::vector<PatchOperation>& patch, const PatchOperation& one,
                         std::string_view field, const ConfigField& wanted, const PatchPorts& ports) {
  if (!one.field.empty() && is_move(patch, one))
    return limit_text(one,
                      "takes it for a move, since something equal goes with it, and fails: apply "
                      "again, when that has gone");
  const auto* const value = std::get_if<std::string>(&wanted);
  const auto known = ports.find(one.key);
  if (value == nullptr || known == ports.end()) return {};
  const bool is_fec = field == "fec";
  const auto& listed = is_fec ? known->second.fecs : known->second.speeds;
  // Any speed is accepted where none is listed, and no fec of a port that has none.
  bool fits = !is_fec && (!listed || listed->empty());
  if (listed && std::ranges::find(*listed, *value) != listed->end()) fits = true;
  if (is_fec && !listed && std::ranges::find(kUsualFecs, *value) != kUsualFecs.end()) fits = true;
  if (fits) return {};
  const std::string name(field);
  return limit_text(one, "refuses " + name + " " + printable(*value) +
                             ", which the port does not support (STATE_DB PORT_TABLE, supported_" + name +
                             "s)");
}

std::string ports_refusal(const std::vector<PatchOperation>& patch, const PatchOperation& one,
                          const PatchPorts& ports) {
  if (one.kind == PatchKind::remove || one.key.empty()) return {};
  // Of a row that comes as a whole, a fec hides the speed from that function.
  for (const std::string_view field : {"fec", "speed"}) {
    if (one.field == field) return port_refusal(patch, one, field, std::get<ConfigField>(*one.want), ports);
    if (!one.field.empty()) continue;
    const auto& row = std::get<ConfigRow>(*one.want);
    if (const auto value = row.find(field); value != row.end())
      return port_refusal(patch, one, field, value->second, ports);
  }
  return {};
}

}  // namespace

std::vector<PatchRefusal> refused_operations(const std::vector<PatchOperation>& patch,
                                             const PatchPorts& ports, bool is_chassis) {
  std::vector<PatchRefusal> out;
  for (std::size_t i = 0; i < patch.size(); ++i) {
    const PatchOperation& one = patch[i];
    std::string why;
    const bool is_kept = one.kind == PatchKind::remove && one.field.empty() &&
                         std::ranges::any_of(kKeptRows, [&](const KeptRow& row) {
                           return row.table == one.table && row.key == one.key;
                         });
    if (is_kept) why = limit_text(one, "refuses to remove this row");
    if (why.empty() && std::ranges::find(kGuarded, one.table) != kGuarded.end())
      why = guarded_refusal(patch, one);
    if (why.empty() && one.table == "PORT" && !is_chassis) why = ports_refusal(patch, one, ports);
    if (!why.empty()) out.push_back({i, std::move(why)});
  }
  return out;
}

bool may_be_chassis(const ConfigDb& config) {
  const ConfigRow* const metadata = config.find("DEVICE_METADATA", "localhost");
  if (metadata == nullptr) return false;
  const auto type = metadata->find("type");
  const auto kind = metadata->find("switch_type");
  constexpr std::array<std::string_view, 4> kKinds{"chassis-packet", "dummy-sup", "fabric", "voq"};
  return (type != metadata->end() && type->second == ConfigField("SpineRouter")) ||
         (kind != metadata->end() && std::ranges::any_of(kKinds, [&](std::string_view one) {
            return kind->second == ConfigField(std::string(one));
          }));
}

}  // namespace lockstep::sonic
