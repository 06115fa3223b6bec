#include "bench/verbs/device.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "bench/verbs/exchange.hpp"

namespace lockstep::bench::verbs {
namespace {

// rxe and every RoCE NIC count hops as IP does; this is the default of IP (net.ipv4.ip_default_ttl).
constexpr std::uint8_t hops = 64;

Result<PortLimits> limits_of(ibv_context& context, std::uint8_t port) {
  ibv_device_attr device{};
  ibv_port_attr attributes{};
  if (const int error = ibv_query_device(&context, &device); error != 0)
    return verbs_error("ibv_query_device", error);
  if (const int error = ibv_query_port(&context, port, &attributes); error != 0)
    return verbs_error("ibv_query_port " + std::to_string(port), error);
  PortLimits out;
  out.state = attributes.state;
  out.active_mtu = bytes_of(attributes.active_mtu);
  out.largest_message = attributes.max_msg_sz;
  out.reads_in_flight = std::clamp(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom), 1, 255);
  return out;
}

}  // namespace

Error verbs_error(const std::string& call, int error) {
  return {error == EACCES || error == EPERM ? ErrorKind::denied : ErrorKind::refused,
          call + ": " + std::generic_category().message(error)};
}

Result<Device> Device::open(const GidChoice& gid) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list == nullptr) return verbs_error("ibv_get_device_list", errno);
  const std::span devices(list, static_cast<std::size_t>(count));
  const auto found =
      std::find_if(devices.begin(), devices.end(), [&](ibv_device* one) { return gid.device == one->name; });
  Device out;
  out.gid_ = gid;
  int error = 0;
  if (found != devices.end()) {
    out.context_.reset(ibv_open_device(*found));
    error = errno;
  }
  ibv_free_device_list(list);
  if (found == devices.end())
    return Error{ErrorKind::unsupported, "libibverbs does not see " + gid.device +
                                             ": its provider (ibverbs-providers) is not installed"};
  if (!out.context_) return verbs_error("open " + gid.device + " (/dev/infiniband/uverbs*)", error);
  TRY(out.limits_, limits_of(*out.context_, gid.port));
  out.domain_.reset(ibv_alloc_pd(out.context_.get()));
  if (!out.domain_) return verbs_error("ibv_alloc_pd", errno);
  return out;
}

Result<OwnedMemory> Device::register_memory(std::span<std::uint8_t> bytes) const {
  OwnedMemory out(ibv_reg_mr(domain_.get(), bytes.data(), bytes.size(),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
  if (out) return out;
  const int error = errno;
  Error failed = verbs_error("registering " + std::to_string(bytes.size()) + " bytes of memory", error);
  rlimit limit{};
  if (error == ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    failed.what += "; this process may lock " + std::to_string(limit.rlim_cur) + " bytes (RLIMIT_MEMLOCK)";
  return failed;
}

ibv_ah_attr Device::way_to(const ibv_gid& far, std::uint8_t traffic_class, std::uint32_t flow_label) const {
  ibv_ah_attr way{};
  way.is_global = 1;  // RoCE supports no other
  way.port_num = gid_.port;
  way.grh.dgid = far;
  way.grh.sgid_index = static_cast<std::uint8_t>(gid_.index);
  way.grh.hop_limit = hops;
  way.grh.traffic_class = traffic_class;
  way.grh.flow_label = flow_label;
  return way;
}

Result<OwnedHandle> Device::handle_to(const ibv_gid& far, std::uint8_t traffic_class) const {
  ibv_ah_attr way = way_to(far, traffic_class, 0);
  OwnedHandle out(ibv_create_ah(domain_.get(), &way));
  if (!out) return verbs_error("address handle to " + gid_text(far), errno);
  return out;
}

}  // namespace lockstep::bench::verbs
