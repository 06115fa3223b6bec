#include "specs/language/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "specs/language/reporter.hpp"

namespace lockstep {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t scale;
};

constexpr std::uint64_t most_u64 = ~std::uint64_t{0};
constexpr std::uint64_t most_i64 = most_u64 >> 1;  // limit of every amount, so that it fits a Value's integer
constexpr std::uint64_t kilo = 1000;
constexpr std::uint64_t kibi = 1024;
constexpr Unit rate_units[] = {{"bps", 1},
                               {"Kbps", kilo},
                               {"Mbps", kilo* kilo},
                               {"Gbps", kilo* kilo* kilo},
                               {"Tbps", kilo* kilo* kilo* kilo}};
constexpr Unit byte_units[] = {{"B", 1},
                               {"KB", kilo},
                               {"MB", kilo* kilo},
                               {"GB", kilo* kilo* kilo},
                               {"TB", kilo* kilo* kilo* kilo},
                               {"KiB", kibi},
                               {"MiB", kibi* kibi},
                               {"GiB", kibi* kibi* kibi},
                               {"TiB", kibi* kibi* kibi* kibi}};
constexpr Unit length_units[] = {{"mm", 1}, {"cm", 10}, {"m", kilo}, {"km", kilo* kilo}};
constexpr std::uint64_t nanoseconds_per_second = kilo * kilo * kilo;
constexpr Unit time_units[] = {{"ns", 1},
                               {"us", kilo},
                               {"ms", kilo* kilo},
                               {"s", nanoseconds_per_second},
                               {"min", 60 * nanoseconds_per_second},
                               {"m", 60 * nanoseconds_per_second},
                               {"h", 3600 * nanoseconds_per_second},
                               {"d", 86400 * nanoseconds_per_second}};
constexpr Unit ratio_units[] = {{"%", 10'000}};

Error wrong(std::string_view text, std::string_view why) {
  return Error{ErrorKind::invalid_spec, in_quotes(text) + " is not " + std::string(why)};
}

Error too_large(std::string_view text, const std::string& largest) {
  return Error{ErrorKind::invalid_spec, in_quotes(text) + " is too large: at most " + largest};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "12.5" as 125 and one decimal.
struct Digits {
  std::uint64_t mantissa = 0;
  std::uint64_t whole = 0;  // before the point; if it exceeds 64 bits: all ones
  unsigned decimals = 0;
  std::size_t length = 0;  // characters read; 0: there is no number here
  bool overflow = false;   // of mantissa
};
Digits read_digits(std::string_view text) {
  Digits read;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point && i > 0)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    const auto digit = static_cast<std::uint64_t>(text[i] - '0');
    read.overflow |= __builtin_mul_overflow(read.mantissa, std::uint64_t{10}, &read.mantissa) ||
                     __builtin_add_overflow(read.mantissa, digit, &read.mantissa);
    if (point)
      ++read.decimals;
    else
      read.whole = read.overflow ? most_u64 : read.mantissa;
  }
  if (i > 0 && text[i - 1] != '.') read.length = i;
  return read;
}

// mantissa * scale / 10^decimals, if the result is a whole number and at most `most`.
struct Amount {
  enum class Fit : std::uint8_t { held, too_fine, too_large };
  Fit fit = Fit::held;
  std::uint64_t value = 0;
};
Amount scaled(const Digits& digits, std::uint64_t scale, std::uint64_t most) {
  if (digits.overflow)
    return {digits.whole >= most / scale ? Amount::Fit::too_large : Amount::Fit::too_fine, 0};
  std::uint64_t value = digits.mantissa;
  for (unsigned i = 0; i < digits.decimals; ++i) {
    if (scale % 10 == 0) {
      scale /= 10;
    } else if (value % 10 == 0) {
      value /= 10;
    } else {
      return {Amount::Fit::too_fine, 0};
    }
  }
  if (__builtin_mul_overflow(value, scale, &value) || value > most) return {Amount::Fit::too_large, 0};
  return {Amount::Fit::held, value};
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 32) == (y | 32); });
}

bool is_bytes_for_rate(std::string_view suffix, std::span<const Unit> units) {
  return units.data() == rate_units && suffix.find('B') != suffix.npos;
}

// What to write instead of an unknown unit; empty: not known.
std::string units_meant(std::string_view number, std::string_view suffix, std::span<const Unit> units) {
  if (is_bytes_for_rate(suffix, units)) return "; a rate is in bits, not bytes, such as 400Gbps";
  std::string out;
  for (const Unit& unit : units) {
    const std::size_t common = std::min(suffix.size(), unit.suffix.size());
    if (same_letters(unit.suffix.substr(0, common), suffix.substr(0, common)))
      out += (out.empty() ? "; write " : " or ") + std::string(number) + std::string(unit.suffix);
  }
  return out;
}

// `usual`: a unit that fields of the type often have.
Result<std::uint64_t> parse_scaled(std::string_view text, std::span<const Unit> units, std::string_view usual,
                                   std::string_view what, std::uint64_t most) {
  const Digits digits = read_digits(text);
  if (digits.length == 0) return wrong(text, what);
  const std::string_view suffix = text.substr(digits.length);
  for (const Unit& unit : units) {
    if (unit.suffix != suffix) continue;
    const Amount amount = scaled(digits, unit.scale, most);
    if (amount.fit == Amount::Fit::too_large)
      return too_large(text, std::to_string(most / unit.scale) + std::string(suffix));
    if (amount.fit == Amount::Fit::too_fine)
      return wrong(text, std::string(what) + ": too fine to be held exactly");
    return amount.value;
  }
  const std::string_view number = text.substr(0, digits.length);
  if (suffix.empty())
    return wrong(text, std::string(what) + ": the unit is missing; write " + std::string(number) +
                           std::string(usual) + ", for example");
  for (const Unit& unit : units)
    if (same_letters(unit.suffix, suffix) && !is_bytes_for_rate(suffix, units))
      return wrong(text, std::string(what) + ": write " + std::string(number) + std::string(unit.suffix));
  return wrong(text, std::string(what) + ": unknown unit '" + std::string(suffix.substr(0, 20)) + "'" +
                         units_meant(number, suffix, units));
}

std::string format_scaled(std::uint64_t value, std::span<const Unit> units) {
  std::string best;
  for (const Unit& unit : units) {
    if (value % unit.scale != 0 || (value == 0 && unit.scale != 1)) continue;
    std::string text = std::to_string(value / unit.scale);
    text += unit.suffix;
    // Among equals prefer the larger decimal unit, but "min" over "m", which reads as metres.
    if (best.empty() || text.size() < best.size() ||
        (text.size() == best.size() && unit.suffix.find('i') == best.npos))
      best = std::move(text);
  }
  return best;
}

std::optional<std::uint32_t> fixed_digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text.substr(at, count)) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

std::string padded(std::uint64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

// "0.500000" style fraction without its trailing zeros: 1250000 of 10^6 is "1.25".
std::string with_decimals(std::uint64_t value, std::uint64_t one, std::size_t decimals) {
  std::string text = std::to_string(value / one);
  if (value % one == 0) return text;
  text += "." + padded(value % one, decimals);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

constexpr std::string_view day_names[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
std::optional<unsigned> day_of(std::string_view name) {
  for (unsigned i = 0; i < 7; ++i)
    if (day_names[i] == name) return i;
  return std::nullopt;
}

}  // namespace

Result<BitRate> parse_bit_rate(std::string_view text) {
  TRY(const std::uint64_t value,
      parse_scaled(text, rate_units, "Gbps", "a bit rate such as 400Gbps", most_i64));
  return BitRate{value};
}

Result<ByteCount> parse_byte_count(std::string_view text) {
  TRY(const std::uint64_t value,
      parse_scaled(text, byte_units, "KB", "an amount such as 150KB or 1MiB", most_i64));
  return ByteCount{value};
}

Result<Length> parse_length(std::string_view text) {
  TRY(const std::uint64_t value, parse_scaled(text, length_units, "m", "a length such as 5m", most_i64));
  return Length{value};
}

Result<Duration> parse_duration(std::string_view text) {
  TRY(const std::uint64_t value,
      parse_scaled(text, time_units, "s", "a time such as 200ms, 30min or 2h", most_i64));
  return Duration(static_cast<std::int64_t>(value));
}

Result<Ratio> parse_ratio(std::string_view text) {
  TRY(const std::uint64_t value, parse_scaled(text, ratio_units, "%", "a share such as 90%", 0xffffffffU));
  return Ratio{static_cast<std::uint32_t>(value)};
}

Result<Decimal> parse_decimal(std::string_view text) {
  constexpr std::string_view what = "a number such as 2.50";
  const bool negative = text.starts_with('-');
  const Digits digits = read_digits(text.substr(negative ? 1 : 0));
  if (digits.length == 0 || digits.length + (negative ? 1 : 0) != text.size()) return wrong(text, what);
  const Amount amount = scaled(digits, 1'000'000, most_i64);
  if (amount.fit == Amount::Fit::too_large)
    return negative ? wrong(text, std::string(what) + ": at least -" + format(Decimal{most_i64}))
                    : too_large(text, format(Decimal{most_i64}));
  if (amount.fit == Amount::Fit::too_fine) return wrong(text, std::string(what) + " with at most 6 decimals");
  const auto millionths = static_cast<std::int64_t>(amount.value);
  return Decimal{negative ? -millionths : millionths};
}

Result<CountOrRatio> parse_count_or_ratio(std::string_view text) {
  constexpr std::string_view what = "a count such as 3 or a share such as 10%";
  CountOrRatio both;
  if (text.ends_with('%')) {
    both.share = true;
    TRY(both.ratio, parse_ratio(text));
    return both;
  }
  const Digits digits = read_digits(text);
  if (digits.length == 0 || digits.length != text.size() || digits.decimals > 0) return wrong(text, what);
  if (digits.overflow || digits.mantissa > most_i64) return too_large(text, std::to_string(most_i64));
  both.count = digits.mantissa;
  return both;
}

Result<RateOrRatio> parse_rate_or_ratio(std::string_view text) {
  RateOrRatio both;
  if (text.ends_with('%')) {
    both.share = true;
    TRY(both.ratio, parse_ratio(text));
    return both;
  }
  TRY(const std::uint64_t value,
      parse_scaled(text, rate_units, "Gbps", "a bit rate such as 40Gbps or a share such as 5%", most_i64));
  both.rate = {value};
  return both;
}

Result<AsnRange> parse_asn_range(std::string_view text) {
  constexpr std::string_view what = "an AS number or a range such as 4200000000-4200009999";
  constexpr std::uint64_t most = 4'294'967'294;  // RFC 6793: 32 bits; RFC 7300: the last is reserved
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    const Digits read = read_digits(digits);
    if (read.length == 0 || read.length != digits.size() || read.decimals > 0) return std::nullopt;
    return read.whole;
  };
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == text.npos ? first : number(text.substr(dash + 1));
  if (!first || !last) return wrong(text, what);
  if (std::max(*first, *last) > most + 1) return too_large(text, std::to_string(most));
  if (*last < *first) return wrong(text, std::string(what) + ": it falls");
  // RFC 7607 (0), RFC 6793 (23456, AS_TRANS), RFC 7300 (65535 and 4294967295).
  for (const std::uint32_t reserved : {0U, 23456U, 65535U, 4294967295U})
    if (*first <= reserved && reserved <= *last)
      return wrong(text, std::string(what) + ": " + std::to_string(reserved) + " is reserved");
  return AsnRange{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)};
}

Result<Breakout> parse_breakout(std::string_view text) {
  constexpr std::string_view what = "a breakout such as 2x400G";
  const bool shaped =
      text.size() >= 4 && text[0] >= '1' && text[0] <= '8' && text[1] == 'x' && text.ends_with('G');
  if (!shaped) return wrong(text, what);
  const auto rate = parse_bit_rate(std::string(text.substr(2)) + "bps");
  if (!rate) return wrong(text, std::string(what) + ": " + rate.error().what);
  if (rate->bits_per_second == 0) return wrong(text, what);
  return Breakout{static_cast<std::uint8_t>(text[0] - '0'), *rate};
}

Result<Date> parse_date(std::string_view text) {
  constexpr std::string_view what = "a day such as 2026-12-01";
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return wrong(text, what);
  const auto year = fixed_digits(text, 0, 4);
  const auto month = fixed_digits(text, 5, 2);
  const auto day = fixed_digits(text, 8, 2);
  if (!year || !month || !day) return wrong(text, what);
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return wrong(text, std::string(what) + ": there is no such day");
  return Date{static_cast<std::int32_t>(std::chrono::sys_days(date).time_since_epoch().count())};
}

Result<TimeOfDay> parse_time_of_day(std::string_view text) {
  constexpr std::string_view what = "a time of day such as 09:00";
  if (text.size() != 5 || text[2] != ':') return wrong(text, what);
  const auto hour = fixed_digits(text, 0, 2);
  const auto minute = fixed_digits(text, 3, 2);
  if (!hour || !minute || *hour > 23 || *minute > 59) return wrong(text, what);
  return TimeOfDay{static_cast<std::uint16_t>(*hour * 60 + *minute)};
}

Result<Timestamp> parse_timestamp(std::string_view text) {
  constexpr std::string_view what = "an instant such as 2026-12-01T09:00:00Z";
  if (text.size() < 20 || text[10] != 'T' || text[16] != ':') return wrong(text, what);
  TRY(const Date date, parse_date(text.substr(0, 10)));
  TRY(const TimeOfDay time, parse_time_of_day(text.substr(11, 5)));
  const auto second = fixed_digits(text, 17, 2);
  if (!second || *second > 59) return wrong(text, what);
  std::size_t at = 19;
  std::int64_t fraction = 0;
  if (text[at] == '.') {
    std::int64_t place = nanoseconds_per_second;
    for (++at; at < text.size() && is_digit(text[at]) && place > 1; ++at)
      fraction += (text[at] - '0') * (place /= 10);
    if (text[at - 1] == '.') return wrong(text, what);
  }
  const std::string_view zone = text.substr(at);
  std::int64_t offset = 0;  // minutes east of UTC
  if (zone != "Z") {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-')) return wrong(text, what);
    TRY(const TimeOfDay east, parse_time_of_day(zone.substr(1)));
    offset = zone[0] == '+' ? east.minutes : -east.minutes;
  }
  // The range of 64-bit nanoseconds: 1678 to 2261.
  constexpr std::int32_t most_days = 106'000;
  if (date.days > most_days || date.days < -most_days)
    return wrong(text,
                 std::string(what) + ": from " + format(Date{-most_days}) + " to " + format(Date{most_days}));
  const std::int64_t seconds = std::int64_t{date.days} * 86400 + (time.minutes - offset) * 60 + *second;
  return Timestamp{seconds * static_cast<std::int64_t>(nanoseconds_per_second) + fraction};
}

Result<Weekdays> parse_weekdays(std::string_view text) {
  constexpr std::string_view what = "days such as Mon-Thu or Mon,Wed";
  Weekdays days;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, comma - begin);
    const std::size_t dash = part.find('-');
    const auto first = day_of(part.substr(0, dash));
    const auto last = dash == part.npos ? first : day_of(part.substr(dash + 1));
    if (!first || !last) return wrong(text, what);
    for (unsigned day = *first;; day = (day + 1) % 7) {
      days.bits = static_cast<std::uint8_t>(days.bits | 1U << day);
      if (day == *last) break;
    }
    begin = comma + 1;
  }
  return days;
}

Result<MacAddress> parse_mac_address(std::string_view text) {
  constexpr std::string_view what = "an Ethernet address such as 44:38:39:ff:00:01";
  if (text.size() != 17) return wrong(text, what);
  MacAddress address;
  for (std::size_t i = 0; i < 17; i += 3) {
    unsigned octet = 0;
    const auto [end, code] = std::from_chars(text.data() + i, text.data() + i + 2, octet, 16);
    if (code != std::errc{} || end != text.data() + i + 2 || (i < 15 && text[i + 2] != ':'))
      return wrong(text, what);
    address.bits = address.bits << 8 | octet;
  }
  return address;
}

std::string format(BitRate value) { return format_scaled(value.bits_per_second, rate_units); }
std::string format(ByteCount value) { return format_scaled(value.bytes, byte_units); }
std::string format(Length value) { return format_scaled(value.millimetres, length_units); }
std::string format(Duration value) {
  const std::int64_t count = value.count();
  const auto magnitude =
      count < 0 ? ~static_cast<std::uint64_t>(count) + 1 : static_cast<std::uint64_t>(count);
  return (count < 0 ? "-" : "") + format_scaled(magnitude, time_units);
}
std::string format(Ratio value) { return with_decimals(value.parts_per_million, 10'000, 4) + "%"; }
std::string format(Decimal value) {
  const bool negative = value.millionths < 0;
  const auto raw = static_cast<std::uint64_t>(value.millionths);
  return (negative ? "-" : "") + with_decimals(negative ? ~raw + 1 : raw, 1'000'000, 6);
}
std::string format(const CountOrRatio& value) {
  return value.share ? format(value.ratio) : std::to_string(value.count);
}
std::string format(const RateOrRatio& value) {
  return value.share ? format(value.ratio) : format(value.rate);
}
std::string format(AsnRange value) {
  const std::string first = std::to_string(value.first);
  return value.first == value.last ? first : first + "-" + std::to_string(value.last);
}
std::string format(const Breakout& value) {
  constexpr std::uint64_t giga = kilo * kilo * kilo;
  return std::to_string(value.count) + "x" + with_decimals(value.speed.bits_per_second, giga, 9) + "G";
}
std::string format(Date value) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(value.days))};
  return padded(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4) + "-" +
         padded(static_cast<unsigned>(date.month()), 2) + "-" + padded(static_cast<unsigned>(date.day()), 2);
}
std::string format(TimeOfDay value) {
  return padded(value.minutes / 60U, 2) + ":" + padded(value.minutes % 60U, 2);
}
std::string format(Timestamp value) {
  const std::chrono::sys_time<Duration> instant{Duration(value.nanoseconds)};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const auto rest = static_cast<std::uint64_t>((instant - day).count());
  const std::uint64_t seconds = rest / nanoseconds_per_second;
  std::string text = format(Date{static_cast<std::int32_t>(day.time_since_epoch().count())}) + "T" +
                     format(TimeOfDay{static_cast<std::uint16_t>(seconds / 60)}) + ":" +
                     padded(seconds % 60, 2);
  const std::uint64_t fraction = rest % nanoseconds_per_second;
  if (fraction != 0) text += with_decimals(fraction, nanoseconds_per_second, 9).substr(1);
  return text + "Z";
}
std::string format(Weekdays value) {
  std::string text;
  for (unsigned day = 0; day < 7; ++day) {
    if ((value.bits >> day & 1U) == 0) continue;
    unsigned last = day;
    while (last + 1 < 7 && (value.bits >> (last + 1) & 1U) != 0) ++last;
    text += (text.empty() ? "" : ",") + std::string(day_names[day]);
    if (last > day) text += (last == day + 1 ? "," : "-") + std::string(day_names[last]);
    day = last;
  }
  return text;
}
std::string format(MacAddress value) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string text;
  for (unsigned shift = 48; shift > 0; shift -= 4) {
    if (shift < 48 && shift % 8 == 0) text += ':';
    text += hex[value.bits >> (shift - 4) & 0xf];
  }
  return text;
}

}  // namespace lockstep
