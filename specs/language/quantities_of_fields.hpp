// Quantity<T>: noun, JSON Schema pattern, parser and bounded amount of every type that is written as
// formatted text (400Gbps, 90%, sample(8), systemd:sw-admin). Included by scalars.hpp only.
#pragma once

#include "specs/language/quantity.hpp"
#include "specs/language/scalars.hpp"

namespace lockstep {

Result<Memlock> parse_memlock(std::string_view text);
Result<VersionRule> parse_version_rule(std::string_view text);
Result<SysctlValue> parse_sysctl_value(std::string_view text);
Result<PairChoice> parse_pair_choice(std::string_view text);
Result<Bound> parse_bound(std::string_view text);
Result<SecretName> parse_secret_name(std::string_view text);
Result<IpPrefix> parse_ip_prefix(std::string_view text);
Result<IpAddress> parse_ip_address(std::string_view text);

#define LOCKSTEP_QUANTITY(Type_, noun_, pattern_, parse_, amount_)                       \
  template <>                                                                            \
  struct Quantity<Type_> {                                                               \
    static constexpr std::string_view noun = noun_;                                      \
    static constexpr std::string_view pattern = pattern_;                                \
    static Result<Type_> parse(std::string_view text) { return parse_(text); }           \
    static std::uint64_t amount([[maybe_unused]] const Type_& value) { return amount_; } \
  };

LOCKSTEP_QUANTITY(BitRate, "a bit rate such as 400Gbps", "^[0-9.]+[KMGT]?bps$", parse_bit_rate,
                  value.bits_per_second)
LOCKSTEP_QUANTITY(ByteCount, "an amount such as 150KB or 1MiB", "^[0-9.]+([KMGT]i?)?B$", parse_byte_count,
                  value.bytes)
LOCKSTEP_QUANTITY(Length, "a length such as 5m", "^[0-9.]+(mm|cm|m|km)$", parse_length, value.millimetres)
LOCKSTEP_QUANTITY(Duration, "a time such as 200ms, 30min or 2h", "^[0-9.]+(ns|us|ms|s|min|m|h|d)$",
                  parse_duration, static_cast<std::uint64_t>(value.count()))
LOCKSTEP_QUANTITY(Ratio, "a share such as 90%", "^[0-9.]+%$", parse_ratio, value.parts_per_million)
LOCKSTEP_QUANTITY(Decimal, "a number such as 2.50", "^-?[0-9]+([.][0-9]+)?$", parse_decimal,
                  value.millionths < 0 ? 0 : static_cast<std::uint64_t>(value.millionths))
LOCKSTEP_QUANTITY(CountOrRatio, "a count such as 3 or a share such as 10%", "^[0-9]+([.][0-9]+)?%?$",
                  parse_count_or_ratio, value.share ? value.ratio.parts_per_million : value.count)
LOCKSTEP_QUANTITY(RateOrRatio, "a bit rate such as 40Gbps or a share such as 5%", "^[0-9.]+(%|[KMGT]?bps)$",
                  parse_rate_or_ratio,
                  value.share ? value.ratio.parts_per_million : value.rate.bits_per_second)
LOCKSTEP_QUANTITY(AsnRange, "an AS number or a range such as 4200000000-4200009999", "^[0-9]+(-[0-9]+)?$",
                  parse_asn_range, value.first)
LOCKSTEP_QUANTITY(Breakout, "a breakout such as 2x400G", "^[1-8]x[0-9.]+G$", parse_breakout, value.count)
LOCKSTEP_QUANTITY(Date, "a day such as 2026-12-01", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", parse_date, 0)
LOCKSTEP_QUANTITY(Timestamp, "an instant such as 2026-12-01T09:00:00Z", "^[0-9]{4}-[0-9]{2}-[0-9]{2}T.+$",
                  parse_timestamp, 0)
LOCKSTEP_QUANTITY(TimeOfDay, "a time of day such as 09:00", "^[0-2][0-9]:[0-5][0-9]$", parse_time_of_day,
                  value.minutes)
LOCKSTEP_QUANTITY(Weekdays, "days such as Mon-Thu or Mon,Wed", "^[A-Za-z,-]+$", parse_weekdays, value.bits)
LOCKSTEP_QUANTITY(MacAddress, "an Ethernet address such as 44:38:39:ff:00:01",
                  "^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$", parse_mac_address, value.bits)
LOCKSTEP_QUANTITY(Memlock, "unlimited or an amount such as 64GiB", "^(unlimited|[0-9.]+([KMGT]i?)?B)$",
                  parse_memlock, value.limit.bytes)
LOCKSTEP_QUANTITY(VersionRule, "a version such as >=44 or 550.54",
                  "^(==|>=|<=|>|<)? *(?=.*[0-9])[0-9A-Za-z][0-9A-Za-z.+~:_^-]*$", parse_version_rule, 0)
LOCKSTEP_QUANTITY(SysctlValue, "a value as the kernel prints it, such as 1 or \"4096 87380 6291456\"",
                  "^(?=[^\\n\\r]*$)(?=.*\\S)(?!([Tt]rue|TRUE|[Ff]alse|FALSE)$)(?!(.*\\s)?0[xX])",
                  parse_sysctl_value, 0)
LOCKSTEP_QUANTITY(PairChoice, "all, same-rail, cross-leaf, ring or sample(N)",
                  "^(all|same-rail|cross-leaf|ring|sample[(][0-9]+[)])$", parse_pair_choice, value.sample)
LOCKSTEP_QUANTITY(Bound, "a bound such as 90% of nominal, 40Gbps, 12us or 5%",
                  "^[0-9.]+(% of (nominal|baseline)|%|[KMGT]?bps|ns|us|ms|s|min|m|h|d)$", parse_bound, 0)
LOCKSTEP_QUANTITY(SecretName, "a secret's name such as systemd:sw-admin, file:PATH or env:NAME",
                  "^(systemd|file|env):.+$", parse_secret_name, 0)
LOCKSTEP_QUANTITY(IpPrefix, "a prefix such as 10.64.0.0/16", "^[0-9A-Fa-f.:]+/[0-9]+$", parse_ip_prefix,
                  value.length)
LOCKSTEP_QUANTITY(IpAddress, "an address such as 10.64.0.1 or fd00::1", "^[0-9A-Fa-f.:]+$", parse_ip_address,
                  0)

#undef LOCKSTEP_QUANTITY

}  // namespace lockstep
