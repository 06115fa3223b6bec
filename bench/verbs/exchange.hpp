// Exchange: the out-of-band connection of two ends over TCP, before, during and after the RDMA traffic.
//
// Promises: every call ends at its deadline; both ends greet with a protocol name and a version, and a peer
// with another one is informed and refused; messages are framed, limited in length and JSON objects
// (bench/tcp/wire.hpp), each with a `kind`; addresses of queue pairs are checked field by field. A peer that
// disconnects, is silent, is slow or sends invalid data is an Error that names it, never a hang or undefined.
// A `failed` message from a peer is returned as its error, unchanged. Refuses: connections from hosts other
// than the peer.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/tcp/sockets.hpp"
#include "bench/tcp/wire.hpp"
#include "bench/verbs/workload.hpp"
#include "drivers/posix/call.hpp"

namespace lockstep::bench::verbs {

constexpr std::uint64_t protocol_version = 1;

class Exchange {
 public:
  static Result<Exchange> connect(const std::string& own, const std::string& peer, std::uint16_t port,
                                  const Call& call);
  static Result<Exchange> accept(const Descriptor& listener, const std::string& peer, const Call& call);

  Result<Done> send(std::string_view kind, Json body, const Call& call);
  // The next message; one of another kind is an error.
  Result<Json> receive(std::string_view kind, const Call& call);
  // The next message if it is there already; null: none yet.
  Result<Json> take_if_there(std::string_view kind);
  int descriptor() const { return fd_.number(); }
  const std::string& peer() const { return peer_; }

 private:
  Exchange(Descriptor fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}
  Result<Done> greet(const Call& call);
  Result<bool> read_some();  // false: nothing there
  Result<Json> taken(std::string_view kind);
  Error wrong(const std::string& what) const;

  Descriptor fd_;
  std::string peer_;
  MessageReader reader_;
};

// The data that an end sends so that the other can address it.
struct QueuePairAddress {
  std::uint32_t number = 0;    // 24 bits
  std::uint32_t sequence = 0;  // 24 bits: of its first packet
  bool operator==(const QueuePairAddress&) const = default;
};
struct EndAddress {
  ibv_gid gid{};
  std::uint32_t active_mtu = 0;  // bytes, of its port
  std::uint64_t memory = 0;      // start address of its region
  std::uint32_t key = 0;         // the region's, for the other end
  std::uint64_t memory_bytes = 0;
  std::vector<QueuePairAddress> queue_pairs;
};
Json to_json(const EndAddress& end);
// `queue_pairs` and `memory_bytes` are what the workload requires at both ends.
Result<EndAddress> end_address_from(const Json& json, std::size_t queue_pairs, std::uint64_t memory_bytes);

std::string gid_text(const ibv_gid& gid);  // in sysfs notation: eight groups of four digits
Result<ibv_gid> parse_gid(const std::string& text);

// 256 to 4096 (IBA volume 1, 4.3.1; verbs.h, ibv_mtu).
std::uint32_t bytes_of(ibv_mtu mtu);
std::optional<ibv_mtu> mtu_of(std::uint32_t bytes);

}  // namespace lockstep::bench::verbs
