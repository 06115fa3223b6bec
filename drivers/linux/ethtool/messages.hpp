// ethtool netlink's messages as plain data: a port's settings of each kind, and the requests that read and
// set them.
//
// Promises: decoders check the bytes they take; an attribute of a wrong size, or a reply without its port, is
// an error; attributes that are not named here are skipped, as newer kernels add them. Refuses nothing. No
// I/O here (ethtool.hpp). Format: linux/ethtool_netlink.h, Documentation/networking/ethtool-netlink.rst.
#pragma once

#include <linux/ethtool_netlink.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep::ethtool {

// The unit of one request, read or set.
enum class Kind : std::uint8_t { link, fec, rings, channels, coalescing, pause, features };

struct KindFacts {
  std::string_view words;  // "rings", for errors
  std::uint8_t get;        // ETHTOOL_MSG_*_GET
  std::uint8_t set;
};
KindFacts facts_of(Kind kind);

using Bits = std::vector<std::uint32_t>;  // 32 bits an element, the lowest bit first
bool bit(const Bits& bits, std::size_t at);

struct LinkModes {
  bool autoneg = false;
  std::optional<std::uint32_t> speed;  // Mbit/s; none: not reported (no link)
  Bits supported;                      // ETHTOOL_LINK_MODE_*_BIT
  Bits advertised;
};

struct Fec {
  bool automatic = false;
  Bits modes;                           // as configured: ETHTOOL_LINK_MODE_FEC_*_BIT
  std::optional<std::uint32_t> active;  // one of those bits; none: not reported
};

// A number that is read and set, for any kind; others are skipped.
struct NumberAttribute {
  Kind kind = Kind::rings;
  std::string_view option;  // option of ethtool(8)
  std::uint16_t attribute = 0;
  std::uint16_t max = 0;  // the attribute with its maximum; 0: no maximum
  std::size_t bytes = 4;  // size of the number and its maximum
};
inline constexpr NumberAttribute kNumberAttributes[] = {
    {Kind::rings, "rx", ETHTOOL_A_RINGS_RX, ETHTOOL_A_RINGS_RX_MAX},
    {Kind::rings, "tx", ETHTOOL_A_RINGS_TX, ETHTOOL_A_RINGS_TX_MAX},
    {Kind::channels, "combined", ETHTOOL_A_CHANNELS_COMBINED_COUNT, ETHTOOL_A_CHANNELS_COMBINED_MAX},
    {Kind::channels, "rx", ETHTOOL_A_CHANNELS_RX_COUNT, ETHTOOL_A_CHANNELS_RX_MAX},
    {Kind::channels, "tx", ETHTOOL_A_CHANNELS_TX_COUNT, ETHTOOL_A_CHANNELS_TX_MAX},
    {Kind::coalescing, "adaptive-rx", ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 0, 1},
    {Kind::coalescing, "adaptive-tx", ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, 0, 1},
    {Kind::coalescing, "rx-usecs", ETHTOOL_A_COALESCE_RX_USECS},
    {Kind::coalescing, "tx-usecs", ETHTOOL_A_COALESCE_TX_USECS},
    {Kind::coalescing, "rx-frames", ETHTOOL_A_COALESCE_RX_MAX_FRAMES},
    {Kind::coalescing, "tx-frames", ETHTOOL_A_COALESCE_TX_MAX_FRAMES},
    {Kind::pause, "rx", ETHTOOL_A_PAUSE_RX, 0, 1},
    {Kind::pause, "tx", ETHTOOL_A_PAUSE_TX, 0, 1},
};

// Rings, channels, coalescing, pause: numbers by their attribute. One that the port does not have is absent.
using Numbers = std::map<std::uint16_t, std::uint32_t>;

// By the position of a feature's name in the kernel's list (ETH_SS_FEATURES).
struct Features {
  Bits changeable;
  Bits active;
};

using Facts = std::variant<LinkModes, Fec, Numbers, Features>;
struct PortFacts {
  std::uint32_t index = 0;  // of the interface
  Facts facts;
};
// The payload of one reply to a GET of this kind, bitsets compact.
Result<PortFacts> decode(Kind kind, netlink::Bytes payload);
// The payload of one ETHTOOL_MSG_STRSET_GET_REPLY with one set: names by position.
Result<std::vector<std::string>> decode_names(netlink::Bytes payload);

// Requests to ethtool's family, whose number varies between boots. `index` 0: all ports, as a dump.
netlink::Request request(std::uint16_t family, std::uint8_t command, std::uint16_t flags, std::uint32_t index,
                         std::uint32_t header_flags = 0);
netlink::Request names_request(std::uint16_t family, std::uint32_t set);
netlink::Request get_request(std::uint16_t family, Kind kind, std::uint32_t index);
// Sets nothing by itself: put_*() add the settings.
netlink::Request set_request(std::uint16_t family, Kind kind, std::uint32_t index);
void put_number(netlink::Request& request, Kind kind, std::uint16_t attribute, std::uint32_t number);
// "auto", "off", "rs" or "baser". False: none of them.
bool put_fec(netlink::Request& request, std::string_view word);
void put_features(netlink::Request& request, const std::map<std::string, bool>& by_name);

// The configured modes: "off", "rs", "baser", "llrs", several joined by blanks; "auto" regardless of the
// modes it may choose from, which some drivers report beside it (bnxt_ethtool.c, bnxt_get_fecparam).
std::string words_of(const Fec& fec);
// For one ETHTOOL_LINK_MODE_FEC_*_BIT; empty: unknown.
std::string_view fec_word(std::uint32_t bit);
// The Mbit/s of a link mode by its name, "100000baseCR4/Full"; 0: the name of something else ("Autoneg").
std::uint32_t speed_of(std::string_view link_mode);
// The speeds of a port's modes, each once, in ascending order.
std::vector<std::uint32_t> speeds_of(const Bits& modes, const std::vector<std::string>& names);

}  // namespace lockstep::ethtool
