#include "reconciler/client/human_age.hpp"

#include "reconciler/store/utc_text.hpp"

namespace lockstep::client {

std::string human_duration(std::chrono::seconds length) {
  constexpr std::int64_t kYear = 365;  // days
  const std::int64_t seconds = length.count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  // The second unit is left out where it is 0.
  const auto two = [](std::int64_t large, const char* unit, std::int64_t small, const char* small_unit) {
    std::string out = std::to_string(large) + unit;
    return small == 0 ? out : out + std::to_string(small) + small_unit;
  };
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (hours < 3) return std::to_string(minutes) + "m";
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return std::to_string(hours) + "h";
  if (hours < 192) return two(days, "d", hours % 24, "h");
  if (days < 2 * kYear) return std::to_string(days) + "d";
  if (days < 8 * kYear) return two(days / kYear, "y", days % kYear, "d");
  return std::to_string(days / kYear) + "y";
}

std::string human_age(const std::string& text, WallTime now) {
  const auto at = utc_time(text);
  return at ? human_duration(std::chrono::duration_cast<std::chrono::seconds>(now - *at)) : "<unknown>";
}

}  // namespace lockstep::client
