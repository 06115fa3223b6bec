// Soft-RoCE (rxe) endpoints that reach each other over a switch, for tests in the emulated machine.
//
// rxe of Linux 6.1 knows the machine's own network namespace only (rxe_net.c: its sockets and routes are
// init_net's), so all endpoints are in it: endpoint N has port hN with address 10.0.0.N/24 and RDMA device
// rxeN. Its cable's far end pN is on a bridge in namespace "switch". Packets from hN leave by hN and come
// back in by the destination's port instead of taking the loopback: rules by output interface come before the
// local table, which is moved to preference 100. A TCP connection that is bound to no interface still takes
// the loopback.
//
// Promises: made by netlink alone, whole or an error; when made() returns, every port is ACTIVE and has its
// RoCE v2 GID of IPv4 (::ffff:10.0.0.N), and all is gone with the object, but for kernel parameters. MTU
// 4200: the RDMA path MTU is 4096. Ports have 8 queues, for qdiscs by priority. Refuses more than 9
// endpoints, and to be there twice. Tests with it are lockstep_vm_test(... RXE), which loads the modules that
// it needs.
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
  std::string far_port;  // "p1", in the switch: what netem drops there never reaches the bridge
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
  std::vector<RxeEndpoint> endpoints_;  // those that are to be taken down
};

// Two endpoints for each test, or as many as a fixture of its own asks for.
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
