#include "specs/language/quantity.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "specs/language/quantities_of_fields.hpp"

namespace lockstep {
namespace {

TEST(Quantity, ReadsUnits) {
  EXPECT_EQ(parse_bit_rate("400Gbps")->bits_per_second, 400'000'000'000U);
  EXPECT_EQ(parse_bit_rate("2.5Gbps")->bits_per_second, 2'500'000'000U);
  EXPECT_EQ(parse_byte_count("150KB")->bytes, 150'000U);
  EXPECT_EQ(parse_byte_count("1MiB")->bytes, 1'048'576U);
  EXPECT_EQ(parse_length("5m")->millimetres, 5000U);
  EXPECT_EQ(parse_length("0.5m")->millimetres, 500U);
  EXPECT_EQ(*parse_duration("5m"), std::chrono::minutes(5));
  EXPECT_EQ(*parse_duration("30min"), std::chrono::minutes(30));
  EXPECT_EQ(*parse_duration("200ms"), std::chrono::milliseconds(200));
  EXPECT_EQ(*parse_duration("2h"), std::chrono::hours(2));
  EXPECT_EQ(parse_ratio("90%")->parts_per_million, 900'000U);
  EXPECT_EQ(parse_ratio("0.5%")->parts_per_million, 5000U);
  EXPECT_EQ(parse_decimal("2.50")->millionths, 2'500'000);
  EXPECT_EQ(parse_breakout("2x400G")->speed.bits_per_second, 400'000'000'000U);
  EXPECT_EQ(parse_asn_range("4200000000-4200009999")->last, 4200009999U);
  EXPECT_EQ(parse_weekdays("Mon-Thu")->bits, 0b0001111);
  EXPECT_EQ(parse_weekdays("Sat-Mon")->bits, 0b1100001);
  EXPECT_EQ(parse_time_of_day("09:30")->minutes, 570);
  EXPECT_EQ(parse_date("1970-01-02")->days, 1);
  EXPECT_EQ(parse_timestamp("1970-01-01T01:00:00.5+01:00")->nanoseconds, 500'000'000);
}

TEST(Quantity, ReportsAMissingOrMisspeltUnit) {
  EXPECT_EQ(parse_bit_rate("400").error().what,
            "'400' is not a bit rate such as 400Gbps: the unit is missing; write 400Gbps, for example");
  EXPECT_EQ(parse_duration("3").error().what,
            "'3' is not a time such as 200ms, 30min or 2h: the unit is missing; write 3s, for example");
  EXPECT_EQ(parse_bit_rate("400G").error().what,
            "'400G' is not a bit rate such as 400Gbps: unknown unit 'G'; write 400Gbps");
  EXPECT_EQ(parse_byte_count("9k").error().what,
            "'9k' is not an amount such as 150KB or 1MiB: unknown unit 'k'; write 9KB or 9KiB");
  EXPECT_EQ(parse_duration("5sec").error().what,
            "'5sec' is not a time such as 200ms, 30min or 2h: unknown unit 'sec'; write 5s");
  EXPECT_EQ(parse_duration("5q").error().what,
            "'5q' is not a time such as 200ms, 30min or 2h: unknown unit 'q'");
  for (const std::string unit : {"GB", "GBps"})
    EXPECT_EQ(parse_bit_rate("50" + unit).error().what,
              "'50" + unit + "' is not a bit rate such as 400Gbps: unknown unit '" + unit +
                  "'; a rate is in bits, not bytes, such as 400Gbps")
        << "eight times as much may be meant";
  EXPECT_EQ(parse_bit_rate("400gbps").error().what,
            "'400gbps' is not a bit rate such as 400Gbps: write 400Gbps");
  EXPECT_EQ(parse_byte_count("150kb").error().what,
            "'150kb' is not an amount such as 150KB or 1MiB: write 150KB");
}

TEST(Quantity, ReportsValuesTooLargeWithTheLargest) {
  EXPECT_EQ(parse_byte_count("99999999999999TiB").error().what,
            "'99999999999999TiB' is too large: at most 8388607TiB");
  EXPECT_TRUE(parse_byte_count("8388607TiB"));
  EXPECT_EQ(parse_memlock("99999999999999TiB").error().what,
            "'99999999999999TiB' is too large: at most 8388607TiB");
  EXPECT_EQ(parse_bound("99999999999% of nominal").error().what,
            "'99999999999%' is too large: at most 429496%");
  EXPECT_EQ(parse_bound("99999999Tbps").error().what, "'99999999Tbps' is too large: at most 9223372Tbps");
  EXPECT_EQ(parse_byte_count("99999999999999999999.5B").error().what,
            "'99999999999999999999.5B' is too large: at most 9223372036854775807B");
  EXPECT_EQ(parse_bit_rate("9223372036854.8Mbps").error().what,
            "'9223372036854.8Mbps' is too large: at most 9223372036854Mbps");
  EXPECT_EQ(parse_length("9223372036855km").error().what,
            "'9223372036855km' is too large: at most 9223372036854km");
  EXPECT_EQ(parse_duration("106752d").error().what, "'106752d' is too large: at most 106751d");
  EXPECT_EQ(parse_ratio("429497%").error().what, "'429497%' is too large: at most 429496%");
  EXPECT_EQ(parse_decimal("9223372036855").error().what,
            "'9223372036855' is too large: at most 9223372036854.775807");
  EXPECT_EQ(parse_count_or_ratio("9223372036854775808").error().what,
            "'9223372036854775808' is too large: at most 9223372036854775807");
  EXPECT_EQ(parse_rate_or_ratio("9223373Tbps").error().what,
            "'9223373Tbps' is too large: at most 9223372Tbps");
  EXPECT_EQ(parse_asn_range("4200000000-4294967296").error().what,
            "'4200000000-4294967296' is too large: at most 4294967294");
  EXPECT_NE(parse_breakout("2x18446744074G").error().what.find("is too large: at most 9223372036Gbps"),
            std::string::npos);
  EXPECT_NE(parse_timestamp("2300-01-01T00:00:00Z").error().what.find("from 1679-10-13 to 2260-03-21"),
            std::string::npos)
      << parse_timestamp("2300-01-01T00:00:00Z").error().what;
}

TEST(Quantity, ReportsValuesTooFine) {
  EXPECT_EQ(parse_bit_rate("0.1bps").error().what,
            "'0.1bps' is not a bit rate such as 400Gbps: too fine to be held exactly");
  EXPECT_EQ(parse_length("1.00000000000000000001m").error().what,
            "'1.00000000000000000001m' is not a length such as 5m: too fine to be held exactly");
  EXPECT_EQ(parse_decimal("0.0000001").error().what,
            "'0.0000001' is not a number such as 2.50 with at most 6 decimals");
}

TEST(Quantity, RefusesWhatItCannotHoldExactly) {
  for (const char* text :
       {"", "Gbps", "-1Gbps", "1.Gbps", ".5Gbps", "1e3bps", "0.1bps", "99999999999999999999bps",
        "18446744073709551616bps", "18446744073709551Tbps", "4 Gbps", "4Gbps "})
    EXPECT_FALSE(parse_bit_rate(text)) << text;
  for (const char* text : {"2026-13-01", "2026-02-29", "2026-1-1", "26-01-01", "2026-12-01x"})
    EXPECT_FALSE(parse_date(text)) << text;
  for (const char* text : {"24:00", "9:00", "09:60", "0900"}) EXPECT_FALSE(parse_time_of_day(text)) << text;
  for (const char* text :
       {"0", "23456", "65535", "4294967295", "4294967296", "2-1", "1-", "-1", "65000-66000"})
    EXPECT_FALSE(parse_asn_range(text)) << text;
  for (const char* text : {"", "Mon-", "Monday", "Mon,,Tue", "mon"})
    EXPECT_FALSE(parse_weekdays(text)) << text;
  for (const char* text : {"44:38:39:ff:00", "44-38-39-ff-00-01", "44:38:39:ff:00:0g"})
    EXPECT_FALSE(parse_mac_address(text)) << text;
  for (const char* text : {"x400G", "0x400G", "9x400G", "2x0G", "2x400", "2x400Gbps"})
    EXPECT_FALSE(parse_breakout(text)) << text;
}

TEST(Quantity, FormatsTheShortestSpelling) {
  EXPECT_EQ(format(BitRate{400'000'000'000}), "400Gbps");
  EXPECT_EQ(format(ByteCount{1'048'576}), "1MiB");
  EXPECT_EQ(format(ByteCount{0}), "0B");
  EXPECT_EQ(format(Length{40'000}), "40m");
  EXPECT_EQ(format(Duration(std::chrono::hours(2))), "2h");
  EXPECT_EQ(format(Ratio{5000}), "0.5%");
  EXPECT_EQ(format(Decimal{2'500'000}), "2.5");
}

template <class T, class Parse>
void round_trips(const T& value, Parse parse) {
  const std::string text = format(value);
  const auto again = parse(text);
  RC_ASSERT(static_cast<bool>(again));
  RC_ASSERT(*again == value);
}

TEST(Quantity, ParsingAFormattedValueGivesItBack) {
  EXPECT_TRUE(rc::check([](std::uint64_t any, std::uint32_t m, std::int64_t i) {
    const std::uint64_t n = any >> 1;
    round_trips(BitRate{n}, parse_bit_rate);
    round_trips(BitRate{n % 1000 * 1'000'000'000}, parse_bit_rate);
    round_trips(ByteCount{n}, parse_byte_count);
    round_trips(ByteCount{n % 1000 << 20}, parse_byte_count);
    round_trips(Length{n}, parse_length);
    round_trips(Duration(static_cast<std::int64_t>(n)), parse_duration);
    round_trips(Ratio{m}, parse_ratio);
    if (i != std::numeric_limits<std::int64_t>::min()) round_trips(Decimal{i}, parse_decimal);
    round_trips(Date{static_cast<std::int32_t>(m % 100'000)}, parse_date);
    round_trips(Timestamp{i / 2}, parse_timestamp);
    round_trips(TimeOfDay{static_cast<std::uint16_t>(m % 1440)}, parse_time_of_day);
    round_trips(Weekdays{static_cast<std::uint8_t>(1 + m % 127)}, parse_weekdays);
    round_trips(MacAddress{any >> 16}, parse_mac_address);
    round_trips(Breakout{static_cast<std::uint8_t>(1 + m % 8), BitRate{1 + n % 1'000'000'000'000}},
                parse_breakout);
    round_trips(CountOrRatio{m % 2 == 0, m % 2 == 0 ? 0 : n, Ratio{m % 2 == 0 ? m : 0}},
                parse_count_or_ratio);
  }));
}

}  // namespace
}  // namespace lockstep
