// A packet of which some bits are known and some unknown, and the results of comparisons on
// it.
//
// Promises: pure; `yes` and `no` hold for every value of the unknown bits. Bytes are compared
// as memcmp(3) does, like nf_tables compares its registers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep::nft {

enum class Match : std::uint8_t { no, maybe, yes };
constexpr Match negated(Match one) {
  return one == Match::yes ? Match::no : one == Match::no ? Match::yes : Match::maybe;
}

// Bytes of which each bit is known or not. Bytes outside are unknown.
struct Field {
  std::vector<std::byte> value;
  std::vector<std::byte> known;  // 1: the bit is as in `value`

  static Field unknown(std::size_t size) {
    return {std::vector<std::byte>(size), std::vector<std::byte>(size)};
  }
  static Field of(netlink::Bytes value);
  template <class T>
  requires std::is_trivially_copyable_v<T>
  static Field of_number(T number) { return of(std::as_bytes(std::span<const T, 1>(&number, 1))); }
  // Anything past the end is unknown.
  Field part(std::size_t offset, std::size_t size) const;
  void put(std::size_t offset, const Field& from);
  // Clears all bits that are not set in `by`, which has the same length.
  void mask(netlink::Bytes by);
  // The lowest or the highest possible value.
  std::vector<std::byte> bound(bool high) const;
};

Match is_equal(const Field& field, netlink::Bytes to);
Match is_within(const Field& field, netlink::Bytes first, netlink::Bytes last);  // both inclusive
Match is_below(const Field& field, netlink::Bytes than);

// NF_CT_STATE_BIT and its neighbours, linux/netfilter/nf_conntrack_common.h. Invalid: not looked up yet.
enum class CtState : std::uint32_t { invalid = 1, established = 2, fresh = 8, untracked = 64 };

struct Port {
  std::uint32_t index = 0;
  std::string name;
};

// A packet on its way through the hooks of one device.
struct Packet {
  bool v6 = false;
  std::uint8_t protocol = 0;  // IPPROTO_*
  Field network;              // its IP header
  Field transport;
  Port in;   // index 0: sent by this device itself
  Port out;  // index 0: delivered locally, or not routed yet
  bool from_here = false;
  bool to_here = false;
  Field state = Field::of_number(CtState::fresh);
  Field mark = Field::of_number(std::uint32_t{0});
  Field connection_mark = Field::of_number(std::uint32_t{0});  // as an earlier packet may have left it
};

}  // namespace lockstep::nft
