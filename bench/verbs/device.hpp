// Device: an RDMA device opened for one port, with its protection domain, registered memory and address
// handles.
//
// Promises: libibverbs resources are released in order; every error names the call and the kernel's error,
// and a refused registration mentions the memlock limit if that is the cause. Refuses: a port that does not
// exist.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <span>
#include <string>

#include "bench/verbs/gid_choice.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench::verbs {

// A libibverbs call that failed with this errno.
Error verbs_error(const std::string& call, int error);

template <class T, int (*Free)(T*)>
struct Freed {
  void operator()(T* it) const { (void)Free(it); }
};
using OwnedContext = std::unique_ptr<ibv_context, Freed<ibv_context, ibv_close_device>>;
using OwnedDomain = std::unique_ptr<ibv_pd, Freed<ibv_pd, ibv_dealloc_pd>>;
using OwnedMemory = std::unique_ptr<ibv_mr, Freed<ibv_mr, ibv_dereg_mr>>;
using OwnedHandle = std::unique_ptr<ibv_ah, Freed<ibv_ah, ibv_destroy_ah>>;

struct PortLimits {
  ibv_port_state state = IBV_PORT_NOP;
  std::uint32_t active_mtu = 0;  // bytes
  std::uint32_t largest_message = 0;
  int reads_in_flight = 1;  // the lesser of the responder's and the requester's
};

class Device {
 public:
  static Result<Device> open(const GidChoice& gid);

  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  const GidChoice& gid() const { return gid_; }
  const PortLimits& limits() const { return limits_; }
  // Writable and readable by the far end as well.
  Result<OwnedMemory> register_memory(std::span<std::uint8_t> bytes) const;
  // Address attributes of the far end's GID, for queue pairs of either kind. `flow_label`: 20 bits.
  ibv_ah_attr way_to(const ibv_gid& far, std::uint8_t traffic_class, std::uint32_t flow_label) const;
  Result<OwnedHandle> handle_to(const ibv_gid& far, std::uint8_t traffic_class) const;

 private:
  Device() = default;
  GidChoice gid_;
  PortLimits limits_;
  OwnedContext context_;
  OwnedDomain domain_;
};

}  // namespace lockstep::bench::verbs
