// Texts of entries that no spec field writes in the same form, such as a neighbour's AS or a next hop.
//
// Promises: accepts exactly what compile writes or a driver reads back. Each is a scalar like those of
// fields, with a noun for messages and a pattern for the JSON Schema.
#pragma once

#include <string>
#include <string_view>

#include "specs/language/scalars.hpp"

namespace lockstep {

// A port name on any system; those of a Linux kernel are shorter (DeviceSet).
inline constexpr std::string_view port_pattern = R"((?![^\]]*\.\.)[^\s\[\]]+)";
struct PortText {
  static constexpr std::string_view noun = "a port's name: without blanks, brackets and '..'";
  static constexpr std::string_view pattern = R"(^(?!.*\.\.)[^\s\[\]]+$)";
  static bool fits(std::string_view text);
  std::string text;
};

struct RemoteAs {
  static constexpr std::string_view noun = "external, internal or an AS number";
  static constexpr std::string_view pattern = "^(external|internal|[1-9][0-9]*)$";
  static bool fits(std::string_view text);
  std::string text;
};

struct RouterId {
  static constexpr std::string_view noun = "an IPv4 address such as 10.255.0.1";
  static constexpr std::string_view pattern = R"(^(?!0+\.0+\.0+\.0+$)[0-9]+(\.[0-9]+){3}$)";
  static bool fits(std::string_view text);
  std::string text;
};

struct VlanMember {
  static constexpr std::string_view noun = "a VLAN such as '100 tagged' or '100 untagged'";
  static constexpr std::string_view pattern = "^[1-9][0-9]{0,3} (tagged|untagged)$";
  static bool fits(std::string_view text);
  std::string text;
};

struct NextHopText {
  static constexpr std::string_view noun = "a next hop such as 'via 10.64.0.1 dev rail0' or 'dev rail0'";
  static constexpr std::string_view pattern = "^(via [0-9A-Fa-f.:]+ )?dev \\S+$";
  static bool fits(std::string_view text);
  std::string text;
};

// dcb-dcbx(8); drivers read the modes back in this order.
struct DcbxMode {
  static constexpr std::string_view noun = "a DCBX mode such as 'host ieee'";
  static constexpr std::string_view pattern =
      R"(^(?=\S)(host( (?=\S)|$))?(lld-managed( (?=\S)|$))?(cee( (?=\S)|$))?(ieee( (?=\S)|$))?(static)?$)";
  static bool fits(std::string_view text);
  std::string text;
};

template <class T>
concept EntryText = requires(T value, std::string_view text) {
  T::noun;
  T::pattern;
  { T::fits(text) } -> std::same_as<bool>;
  value.text = std::string(text);
};

template <EntryText T>
struct Quantity<T> {
  static constexpr std::string_view noun = T::noun;
  static constexpr std::string_view pattern = T::pattern;
  static Result<T> parse(std::string_view text) {
    if (T::fits(text)) return T{std::string(text)};
    return Error{ErrorKind::invalid_spec, in_quotes(text) + " is not " + std::string(noun)};
  }
  static std::uint64_t amount(const T&) { return 0; }
};

}  // namespace lockstep
