// Quantities with a unit, as specs write them: `400Gbps`, `150KB`, `200ms`, `90%`, `5m` (a cable length or
// minutes, depending on the field's type), and the other small scalars of the spec language.
//
// Promises: stored as integers without rounding (a value that is not exact is refused), at most 2^63 - 1 of
// the smallest unit, so that a Value can hold each; format(parse(x)) is the shortest spelling of the same
// value, and parse(format(v)) == v. Refuses: a number without its unit, a negative amount, an overflow.
// Decimal prefixes (K, M, G) are powers of 1000, binary ones (Ki, Mi, Gi) of 1024.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

struct BitRate {
  std::uint64_t bits_per_second = 0;
  auto operator<=>(const BitRate&) const = default;
};
struct ByteCount {
  std::uint64_t bytes = 0;
  auto operator<=>(const ByteCount&) const = default;
};
struct Length {
  std::uint64_t millimetres = 0;
  auto operator<=>(const Length&) const = default;
};
using Duration = std::chrono::nanoseconds;

// A share: 90% is 900,000 parts per million. May exceed 100% where the field allows it.
struct Ratio {
  std::uint32_t parts_per_million = 0;
  auto operator<=>(const Ratio&) const = default;
  double fraction() const { return parts_per_million / 1e6; }
};
// A plain decimal number (2.50, 942), exact to a millionth.
struct Decimal {
  std::int64_t millionths = 0;
  auto operator<=>(const Decimal&) const = default;
  double number() const { return static_cast<double>(millionths) / 1e6; }
};
// "3" or "10%": a count of things, or a share of them.
struct CountOrRatio {
  bool share = false;
  std::uint64_t count = 0;
  Ratio ratio;
  auto operator<=>(const CountOrRatio&) const = default;
};
// In bit/s. Linux's shapers count bytes a second, and below 1 kbit/s their buckets are longer than a minute
// (drivers/linux/queueing/scheduler.cpp).
inline constexpr std::uint64_t kLeastShapedRate = 1000;
inline constexpr std::uint64_t kShapedRateStep = 8;

// "40Gbps" or "5%" (of the link).
struct RateOrRatio {
  bool share = false;
  BitRate rate;
  Ratio ratio;
  auto operator<=>(const RateOrRatio&) const = default;
};
struct AsnRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  auto operator<=>(const AsnRange&) const = default;
};
// How a port is split: 2x400G.
struct Breakout {
  std::uint8_t count = 1;
  BitRate speed;
  auto operator<=>(const Breakout&) const = default;
};
// A calendar day, UTC; counted from 1970-01-01.
struct Date {
  std::int32_t days = 0;
  auto operator<=>(const Date&) const = default;
};
// An instant, RFC 3339 in text; nanoseconds since 1970-01-01T00:00:00Z.
struct Timestamp {
  std::int64_t nanoseconds = 0;
  auto operator<=>(const Timestamp&) const = default;
};
// "09:30"
struct TimeOfDay {
  std::uint16_t minutes = 0;
  auto operator<=>(const TimeOfDay&) const = default;
};
// "Mon-Thu,Sat"; bit 0 is Monday.
struct Weekdays {
  std::uint8_t bits = 0;
  auto operator<=>(const Weekdays&) const = default;
};
// An Ethernet address, the first octet highest.
struct MacAddress {
  std::uint64_t bits = 0;
  auto operator<=>(const MacAddress&) const = default;
};

// Each parser's error is one sentence that states what was expected, with an example.
Result<BitRate> parse_bit_rate(std::string_view text);
Result<ByteCount> parse_byte_count(std::string_view text);
Result<Length> parse_length(std::string_view text);
Result<Duration> parse_duration(std::string_view text);
Result<Ratio> parse_ratio(std::string_view text);
Result<Decimal> parse_decimal(std::string_view text);
Result<CountOrRatio> parse_count_or_ratio(std::string_view text);
Result<RateOrRatio> parse_rate_or_ratio(std::string_view text);
Result<AsnRange> parse_asn_range(std::string_view text);
Result<Breakout> parse_breakout(std::string_view text);
Result<Date> parse_date(std::string_view text);
Result<Timestamp> parse_timestamp(std::string_view text);
Result<TimeOfDay> parse_time_of_day(std::string_view text);
Result<Weekdays> parse_weekdays(std::string_view text);
Result<MacAddress> parse_mac_address(std::string_view text);

std::string format(BitRate value);
std::string format(ByteCount value);
std::string format(Length value);
std::string format(Duration value);
std::string format(Ratio value);
std::string format(Decimal value);
std::string format(const CountOrRatio& value);
std::string format(const RateOrRatio& value);
std::string format(AsnRange value);
std::string format(const Breakout& value);
std::string format(Date value);
std::string format(Timestamp value);
std::string format(TimeOfDay value);
std::string format(Weekdays value);
std::string format(MacAddress value);

}  // namespace lockstep
