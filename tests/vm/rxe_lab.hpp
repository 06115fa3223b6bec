// Soft-RoCE (rxe) endpoints that are connected by a switch, for tests in the emulated machine.
//
// rxe of Linux 6.1 supports the initial network namespace only (rxe_net.c: its sockets and routes belong to
// init_net), so all endpoints are in it: endpoint N has port hN with address 10.0.0.N/24 and RDMA device
// rxeN. The far end of its cable, pN, is on a bridge in namespace "switch". Packets from hN leave by hN and
// come back in by the port of the destination instead of the loopback: rules by output interface come before
// the local table, which is moved to preference 100. A TCP connection that is not bound to an interface still
// uses the loopback.
//
// Promises: created by netlink only, completely or with an error; when make() returns, every port is ACTIVE
// and has its RoCE v2 GID of IPv4 (::ffff:10.0.0.N); everything is removed with the object, except kernel
// parameters. MTU 4200: the RDMA path MTU is 4096. Ports have 8 queues, for qdiscs by priority. Refuses more
// than 9 endpoints and a second fabric. Tests with it are lockstep_vm_test(... RXE), which loads the modules
// that it needs.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct RxeEndpoint {
  std::string device;    // "rxe1"
  std::string port;      // "h1"
  std::string address;   // "10.0.0.1"
  std::string far_port;  // "p1", in the switch: netem there drops packets before the bridge
};

class RxeFabric {
 public:
  static Result<RxeFabric> make(unsigned endpoints, const Call& call);
  RxeFabric(RxeFabric&&) noexcept;
  RxeFabric& operator=(RxeFabric&&) = delete;
  ~RxeFabric();

  const std::vector<RxeEndpoint>& endpoints() const { return endpoints_; }
  static std::string switch_netns() { return "/run/netns/switch"; }

 private:
  RxeFabric() = default;
  std::vector<RxeEndpoint> endpoints_;  // the endpoints to remove
};

// Two endpoints for each test; a derived fixture can request more.
class RxeLab : public ::testing::Test {
 protected:
  explicit RxeLab(unsigned endpoints = 2) : count_(endpoints) {}
  void SetUp() override;
  void TearDown() override { fabric_.reset(); }

  const RxeEndpoint& endpoint(std::size_t at) const { return fabric_->endpoints().at(at); }

  std::optional<RxeFabric> fabric_;

 private:
  unsigned count_;
};

}  // namespace lockstep
