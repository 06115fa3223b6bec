// Value: the value of one entry, in eight bytes.
//
// none (absent), present, bool, integer (64 bits, signed), text, list of texts, secret reference, reference
// to another device's entry. Equality is one comparison, because texts, and integers of more than 60 bits,
// are interned. Lists keep their order; rows compared as sets are built with Value::set, which sorts and
// removes duplicates. A list element contains no newline.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

class Value {
 public:
  enum class Kind : std::uint8_t { none, present, boolean, integer, text, list, secret, reference };

  constexpr Value() = default;
  static Value present() { return Value(Kind::present, 0); }
  static Value boolean(bool value) { return Value(Kind::boolean, value ? 1 : 0); }
  // Exact. An unsigned number that does not fit a signed 64-bit integer becomes the text of its digits: it is
  // shown unchanged, and differs from every integer.
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) static Value integer(Number number) {
    if (!std::in_range<std::int64_t>(number)) return text(std::to_string(number));
    const auto value = static_cast<std::int64_t>(number);
    return value >= -kInPlaceEnd && value < kInPlaceEnd
               ? Value(Kind::integer, static_cast<std::uint64_t>(value))
               : wide_integer(value);
  }
  static Value text(std::string_view value);
  static Value list(const std::vector<std::string>& elements);
  static Value set(std::vector<std::string> elements);
  // `place` names the secret ("systemd:sw-admin"); the secret itself is never a Value.
  static Value secret(std::string_view place);
  // `target` is "device path"; unresolved, so pending rather than drifted.
  static Value reference(std::string_view target);

  Kind kind() const { return static_cast<Kind>(bits_ & 0x7); }
  explicit operator bool() const { return kind() != Kind::none; }
  bool as_boolean() const { return (bits_ >> 4) != 0; }
  std::int64_t as_integer() const {
    return (bits_ & kWide) == 0 ? static_cast<std::int64_t>(bits_) >> 4 : as_wide_integer();
  }
  std::string_view as_text() const;  // text, secret, reference, and a list's elements joined by newlines
  std::vector<std::string_view> as_list() const;  // a list's elements
  // For people and for places without JSON: "1500", "true", "present", "a, b", "(none)", "(secret file:x)".
  std::string to_string() const;

  bool operator==(const Value&) const = default;

 private:
  constexpr Value(Kind kind, std::uint64_t payload)
      : bits_((payload << 4) | static_cast<std::uint64_t>(kind)) {}
  static Value wide_integer(std::int64_t value);
  std::int64_t as_wide_integer() const;

  // Three bits of kind; one that is set if an integer's payload is its interned text; 60 of payload.
  static constexpr std::uint64_t kWide = 0x8;
  static constexpr std::int64_t kInPlaceEnd = std::int64_t{1} << 59;
  std::uint64_t bits_ = 0;
};

}  // namespace lockstep
