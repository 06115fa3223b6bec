#include "drivers/linux/rdma/dcqcn.hpp"

namespace lockstep::rdma {

std::string why_no_dcqcn(const DcqcnParameter& one, const HostFiles& files, const RocePort& port) {
  if (!find_file(files, port, one.file).path.empty()) return "";
  if (!is_bnxt(port)) return why_no_file(port, one.file);
  return name_of(port) + ": its parameters of congestion control are others (bnxt_re: g, init_cr, rtt, ...)";
}

Result<Value> read_dcqcn(const DcqcnParameter& one, const HostFiles& files, const RocePort& port) {
  TRY(const std::int64_t number, read_number(files, find_file(files, port, one.file)));
  return one.is_switch ? Value::boolean(number != 0) : Value::integer(number);
}

Result<Done> write_dcqcn(const DcqcnParameter& one, const Change& change, const HostFiles& files,
                         const RocePort& port) {
  const auto kind = one.is_switch ? Value::Kind::boolean : Value::Kind::integer;
  if (change.want.kind() != kind)
    return Error{ErrorKind::invalid_spec, change.path.text() + " takes " +
                                              (one.is_switch ? "true or false" : "a number") + ", not " +
                                              change.want.to_string()};
  const std::int64_t number =
      one.is_switch ? std::int64_t{change.want.as_boolean()} : change.want.as_integer();
  return write_number(files, find_file(files, port, one.file), number);
}

}  // namespace lockstep::rdma
