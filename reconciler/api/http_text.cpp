#include "reconciler/api/http_text.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/beast/http/status.hpp>

namespace lockstep::api {
namespace {

// RFC 9110 5.6.7: in English, whatever the locale is.
std::string http_date(std::time_t now) {
  constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm at{};
  gmtime_r(&now, &at);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[static_cast<std::size_t>(at.tm_wday)],
                     at.tm_mday, kMonths[static_cast<std::size_t>(at.tm_mon)], at.tm_year + 1900, at.tm_hour,
                     at.tm_min, at.tm_sec);
}

std::string first_lines(Http status, std::string_view type, std::time_t now) {
  const auto code = static_cast<unsigned>(status);
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(code));
  std::string out = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", code,
                                std::string_view(reason.data(), reason.size()), http_date(now));
  if (!type.empty()) out += fmt::format("Content-Type: {}\r\n", type);
  // Not cached: what is returned depends on the caller and the time. No content sniffing: none is HTML.
  return out + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
}

}  // namespace

std::string answer_head(const Answer& answer, bool last, std::time_t now) {
  std::string out = first_lines(answer.status, answer.type, now);
  for (const auto& [name, value] : answer.headers) out += fmt::format("{}: {}\r\n", name, value);
  // RFC 9110 8.6: never with 204.
  if (answer.status != Http::no_content) out += fmt::format("Content-Length: {}\r\n", answer.body.size());
  return out + (last ? "Connection: close\r\n\r\n" : "\r\n");
}

std::string stream_head(std::time_t now) {
  return first_lines(Http::ok, kEventStream, now) + "Transfer-Encoding: chunked\r\n\r\n";
}

std::string chunk_of(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

}  // namespace lockstep::api
