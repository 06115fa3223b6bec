#include "drivers/linux/rdma/settings.hpp"

#include <array>

#include "drivers/linux/rdma/inventory.hpp"
#include "drivers/linux/rdma/roce_tos.hpp"

namespace lockstep::rdma {
namespace {

constexpr std::string_view kRdmaCm = "/sys/kernel/config/rdma_cm";
constexpr unsigned kPriorities = 8;

Error no_value(const Change& change, std::string_view takes) {
  return Error{ErrorKind::invalid_spec,
               change.path.text() + " takes " + std::string(takes) + ", not " + change.want.to_string()};
}

struct TosFiles {
  std::string entry;
  std::string tos;
  std::string mode;
  std::string traffic_class;  // of MLNX_OFED only
};

TosFiles tos_files(const RocePort& port) {
  const std::string number = std::to_string(port.number);
  const std::string entry = std::string(kRdmaCm) + "/" + port.device;
  const std::string folder = entry + "/ports/" + number;
  return {entry, folder + "/default_roce_tos", folder + "/default_roce_mode",
          "/sys/class/infiniband/" + port.device + "/tc/" + number + "/traffic_class"};
}

// Assumes that their configfs entry exists.
Result<RoceTos> read_tos_files(const HostFiles& files, const TosFiles& at) {
  RoceTos out;
  TRY(out.tos, read_number(files, {at.tos}));
  TRY(out.mode, files.line(at.mode));
  if (!files.exists(at.traffic_class)) return out;
  TRY(const std::string text, files.line(at.traffic_class));
  out.traffic_class = traffic_class_in(text);
  if (!out.traffic_class)
    return Error{ErrorKind::transient, at.traffic_class + " holds no traffic class: '" + text + "'"};
  return out;
}

constexpr PortFile kCnpDscp{"roce_np/cnp_dscp", "np_cnp_dscp", "cnp_dscp", "alt_vlan_dscp"};
constexpr PortFile kCnpPriority{"roce_np/cnp_802p_prio", "np_cnp_prio", "cnp_prio", "alt_vlan_pcp"};
// mlx5 only: 1 if a CNP has the priority of the packet that it answers. Writing a priority sets it to 0
// (cong.c; mstflint's mlxconfig_host.db, CNP_RES_PRIO_MODE).
constexpr PortFile kCnpPriorityMode{"", "np_cnp_prio_mode"};
constexpr std::string_view kAsReceived = "as received";
constexpr PortFile kEnable{"", "", "ecn_enable", "enable_cc"};

// DCQCN's two ends, one bit per priority: the one that reports marks, and the one that slows down.
struct Dcqcn {
  std::array<unsigned, 2> priorities{};
};
constexpr std::string_view kEnds[] = {"roce_np", "roce_rp"};
constexpr unsigned kAll = (1U << kPriorities) - 1;

std::string enable_file(const RocePort& port, std::size_t end, unsigned priority) {
  return ofed_folder(port) + "/" + std::string(kEnds[end]) + "/enable/" + std::to_string(priority);
}

bool has_ofed_dcqcn(const HostFiles& files, const RocePort& port) {
  return files.exists(enable_file(port, 0, 0)) && files.exists(enable_file(port, 1, 0));
}

Result<Dcqcn> read_dcqcn(const HostFiles& files, const RocePort& port) {
  Dcqcn out;
  for (std::size_t end = 0; end < out.priorities.size(); ++end)
    for (unsigned priority = 0; priority < kPriorities; ++priority) {
      TRY(const std::int64_t on, read_number(files, {enable_file(port, end, priority)}));
      if (on != 0) out.priorities[end] |= 1U << priority;
    }
  return out;
}

Value value_of(const Dcqcn& dcqcn) {
  const auto [np, rp] = dcqcn.priorities;
  if (np == kAll && rp == kAll) return Value::text("dcqcn");
  if (np == 0 && rp == 0) return Value::text("none");
  char text[48];
  std::snprintf(text, sizeof(text), "dcqcn (np 0x%02x, rp 0x%02x)", np, rp);
  return Value::text(text);
}

std::optional<Dcqcn> dcqcn_of(const Value& value) {
  if (value.kind() != Value::Kind::text) return std::nullopt;
  const std::string text(value.as_text());
  Dcqcn out;
  if (text == "dcqcn") out.priorities = {kAll, kAll};
  auto& [np, rp] = out.priorities;
  if (text.starts_with("dcqcn (")) (void)std::sscanf(text.c_str(), "dcqcn (np 0x%2x, rp 0x%2x)", &np, &rp);
  return value_of(out) == value ? std::optional(out) : std::nullopt;
}

Result<Done> write_dcqcn(const HostFiles& files, const RocePort& port, const Dcqcn& wanted) {
  TRY(const Dcqcn have, read_dcqcn(files, port));
  for (std::size_t end = 0; end < wanted.priorities.size(); ++end)
    for (unsigned priority = 0; priority < kPriorities; ++priority) {
      const unsigned bit = 1U << priority;
      if (((wanted.priorities[end] ^ have.priorities[end]) & bit) == 0) continue;
      const bool on = (wanted.priorities[end] & bit) != 0;
      TRY_DONE(write_number(files, {enable_file(port, end, priority)}, on ? 1 : 0));
    }
  return Done{};
}

// Also false if the driver does not have this mode.
Result<bool> has_priority_as_received(const HostFiles& files, const RocePort& port) {
  const NumberFile mode = find_file(files, port, kCnpPriorityMode);
  if (mode.path.empty()) return false;
  TRY(const std::int64_t on, read_number(files, mode));
  return on != 0;
}

Result<Done> write_integer(const Change& change, const HostFiles& files, const NumberFile& file,
                           std::string_view takes) {
  if (change.want.kind() != Value::Kind::integer) return no_value(change, takes);
  return write_number(files, file, change.want.as_integer());
}

}  // namespace

std::string why_no_tos(const HostFiles& files, const RocePort&) {
  return files.exists(kRdmaCm) ? "" : std::string(kRdmaCm) + " is not there: load rdma_cm, mount configfs";
}

Result<Value> read_tos(const HostFiles& files, const RocePort& port) {
  const TosFiles at = tos_files(port);
  TRY(const ConfigfsEntry entry, ConfigfsEntry::open(files, at.entry));
  TRY(const RoceTos have, read_tos_files(files, at));
  return tos_value(have);
}

Result<Done> write_tos(const Change& change, const HostFiles& files, const RocePort& port) {
  const TosFiles at = tos_files(port);
  const std::optional<RoceTos> wanted = tos_of(change.want, files.exists(at.traffic_class));
  if (!wanted) return no_value(change, "a ToS byte");
  TRY(const ConfigfsEntry entry, ConfigfsEntry::open(files, at.entry));
  TRY(const RoceTos have, read_tos_files(files, at));
  if (wanted->mode != have.mode) TRY_DONE(files.write(at.mode, wanted->mode));
  if (wanted->tos != have.tos) TRY_DONE(files.write(at.tos, std::to_string(wanted->tos)));
  if (wanted->traffic_class != have.traffic_class)
    TRY_DONE(files.write(at.traffic_class, *wanted->traffic_class == kUnset
                                               ? "tclass=-1"
                                               : std::to_string(*wanted->traffic_class)));
  TRY(const RoceTos now, read_tos_files(files, at));
  if (now == *wanted) return Done{};
  return Error{ErrorKind::refused, change.path.text() + ": the device took " + change.want.to_string() +
                                       " and has " + tos_value(now).to_string()};
}

std::string why_no_cnp_dscp(const HostFiles& files, const RocePort& port) {
  return find_file(files, port, kCnpDscp).path.empty() ? why_no_file(port, kCnpDscp) : "";
}

Result<Value> read_cnp_dscp(const HostFiles& files, const RocePort& port) {
  TRY(const std::int64_t dscp, read_number(files, find_file(files, port, kCnpDscp)));
  return Value::integer(dscp);
}

Result<Done> write_cnp_dscp(const Change& change, const HostFiles& files, const RocePort& port) {
  return write_integer(change, files, find_file(files, port, kCnpDscp), "a DSCP");
}

std::string why_no_cnp_priority(const HostFiles& files, const RocePort& port) {
  return find_file(files, port, kCnpPriority).path.empty() ? why_no_file(port, kCnpPriority) : "";
}

Result<Value> read_cnp_priority(const HostFiles& files, const RocePort& port) {
  TRY(const bool as_received, has_priority_as_received(files, port));
  if (as_received) return Value::text(kAsReceived);
  TRY(const std::int64_t priority, read_number(files, find_file(files, port, kCnpPriority)));
  return Value::integer(priority);
}

Result<Done> write_cnp_priority(const Change& change, const HostFiles& files, const RocePort& port) {
  const NumberFile mode = find_file(files, port, kCnpPriorityMode);
  if (change.want == Value::text(kAsReceived) && !mode.path.empty()) return write_number(files, mode, 1);
  TRY_DONE(write_integer(change, files, find_file(files, port, kCnpPriority), "a priority"));
  TRY(const bool as_received, has_priority_as_received(files, port));
  if (!as_received) return Done{};
  return Error{ErrorKind::refused, mode.path + " still has CNPs sent with the priority that was received"};
}

std::string why_no_control(const HostFiles& files, const RocePort& port) {
  if (has_ofed_dcqcn(files, port) || !find_file(files, port, kEnable).path.empty()) return "";
  if (!is_mlx5(port)) return why_no_file(port, kEnable);
  return name_of(port) +
         ": DCQCN is switched by MLNX_OFED's ecn/roce_np/enable, which is not there, or in "
         "the firmware (mlxconfig ROCE_CC_PRIO_MASK)";
}

Result<Value> read_control(const HostFiles& files, const RocePort& port) {
  if (has_ofed_dcqcn(files, port)) {
    TRY(const Dcqcn dcqcn, read_dcqcn(files, port));
    return value_of(dcqcn);
  }
  TRY(const std::int64_t on, read_number(files, find_file(files, port, kEnable)));
  return Value::text(on != 0 ? "dcqcn" : "none");
}

Result<Done> write_control(const Change& change, const HostFiles& files, const RocePort& port) {
  const std::optional<Dcqcn> wanted = dcqcn_of(change.want);
  if (!wanted) return no_value(change, "dcqcn or none: a vendor's own algorithm is not switched here");
  if (has_ofed_dcqcn(files, port)) return write_dcqcn(files, port, *wanted);
  const bool on = wanted->priorities[0] != 0;
  if (value_of(*wanted) != Value::text(on ? "dcqcn" : "none"))
    return no_value(change, "dcqcn or none on this device");
  return write_number(files, find_file(files, port, kEnable), on ? 1 : 0);
}

}  // namespace lockstep::rdma
