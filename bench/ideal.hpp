// The theoretical maximum of a link, a collective and a topology, to compare measurements with.
//
// Promises: pure arithmetic, every constant with its source; the hash-expected bound is exact for one set of
// equal uplinks and a seeded, repeatable estimate beyond. An MTU too small for a byte of payload gives a
// share of 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/measurement.hpp"

namespace lockstep::bench {

// Bytes added to every IP packet that count against the rate of the link.
struct Framing {
  std::uint32_t bytes = 0;
};
// A kernel shaper counts skb->len, which includes only the Ethernet header of the frame; a GSO super-packet
// is charged one header per segment (net/core/dev.c, qdisc_pkt_len_init).
constexpr Framing shaped_framing{14};
// On a real wire: preamble and start 8, Ethernet header 14, FCS 4, inter-packet gap 12 (IEEE 802.3, 4.2.3
// and 4.4.2).
constexpr Framing wire_framing{38};

// TCP over IPv4 with timestamps: 20 (RFC 791) + 20 (RFC 9293) + 12 (RFC 7323, option padded to 12) bytes of
// each packet; over IPv6 the first is 40 (RFC 8200).
double tcp_goodput_share(std::uint32_t mtu, Framing framing, bool ipv6 = false);
// A message of RoCE v2 in packets of `path_mtu` bytes of payload.
struct RoceMessage {
  std::uint64_t bytes = 0;
  std::uint32_t path_mtu = 0;
  std::uint32_t extended = 0;  // bytes of extended headers, over the whole message
};
// RETH in a write's first packet; AETH in the first and the last packet of a read response (IBA volume 1,
// chapter 9, extended transport headers).
constexpr std::uint32_t reth_bytes = 16;
constexpr std::uint32_t aeth_bytes = 4;
// Each packet has IPv4 20 (RFC 791) or IPv6 40 (RFC 8200), UDP 8 (RFC 768), BTH 12 and ICRC 4 (IBTA annex
// A17 for RoCE v2; IBA volume 1, chapter 9). Acknowledgements go the other way.
double rocev2_goodput_share(const RoceMessage& message, Framing framing, bool ipv6 = false);

// Goodput of one endpoint's link.
double nominal_goodput(std::uint64_t link_bits_per_second, std::uint32_t mtu, Framing framing,
                       bool ipv6 = false);

// busbw / algbw of n ranks (nccl-tests doc/PERFORMANCE.md). algbw is bytes per rank / time.
enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  send_receive
};
double busbw_factor(Collective collective, std::size_t ranks);

// A flow for the ideal model: links that it certainly crosses, and at each hash stage one of several equal
// links.
struct FlowPath {
  std::vector<std::uint32_t> fixed;
  std::vector<std::vector<std::uint32_t>> stages;
};

// The expected number of flows on the most loaded of `uplinks`, when each of `flows` picks one at random.
// Exact (the distribution of the maximum of a multinomial, by convolution), e.g. 8 on 8: 2.59.
double expected_most_loaded(std::uint32_t flows, std::uint32_t uplinks);

// The rate of the slowest of flows that run together: what decides a ring. `capacities` are goodput in bit/s.
// Balanced: every stage shared evenly. Hash-expected: the mean over hash outcomes, all of them where there
// are at most 4096, else 4000 drawn with a fixed seed (standard error of the mean below 1 %: the rate of one
// outcome lies between 0 and the balanced rate, so its deviation is at most half of that, over sqrt(4000)).
IdealBounds slowest_flow(std::span<const FlowPath> flows, std::span<const double> capacities);

}  // namespace lockstep::bench
