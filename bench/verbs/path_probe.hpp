// Path probe: checks whether a packet as large as RDMA's passes between the two interfaces.
//
// UDP datagrams with "don't fragment", bound to the interface of the GID, so that they take the same route as
// RDMA and trigger neighbour resolution as usual; a small one first, then one of the size of a full RDMA
// packet. The far end sends each back.
//
// Promises: ends at its deadline; an answer counts only with this run's token. Another queue is not tested: a
// switch that drops only packets with RDMA's DSCP or UDP port passes.
#pragma once

#include "bench/tcp/sockets.hpp"
#include "bench/verbs/precheck.hpp"

namespace lockstep::bench::verbs {

class PathEcho {
 public:
  static Result<PathEcho> open(const std::string& address, const std::string& netdev);
  std::uint16_t port() const;
  int descriptor() const { return fd_.number(); }
  void answer_all();  // everything that has arrived

 private:
  explicit PathEcho(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;
};

struct PathVerdict {
  bool small_passes = false;
  bool large_passes = false;
  std::string trouble;  // this end could not send: the kernel's error
};
// `bytes`: size of the large IP packet.
Result<PathVerdict> probe_path(const std::string& own, const std::string& netdev, const std::string& peer,
                               std::uint16_t port, std::uint32_t bytes, std::uint64_t token,
                               const Call& call);

}  // namespace lockstep::bench::verbs
