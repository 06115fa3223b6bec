#include "reconciler/api/request_target.hpp"

#include <optional>

#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

Error wrong_target(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

// Without the scheme and authority of the absolute form, which is for proxies and must be accepted all the
// same.
Result<std::string_view> origin_form(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    if (path == target.npos || target[path] == '?') return wrong_target("the request target has no path");
    return target.substr(path);
  }
  if (!target.starts_with('/')) return wrong_target("the request target must start with /");
  return target;
}

Result<Done> add_parameter(std::string_view text, std::map<std::string, std::string>& query) {
  if (text.empty()) return Done{};
  const std::size_t equals = text.find('=');
  TRY(std::string name, percent_decoded(text.substr(0, equals), true));
  TRY(std::string value,
      percent_decoded(equals == text.npos ? std::string_view() : text.substr(equals + 1), true));
  if (query.size() >= kParametersMax)
    return wrong_target("more than " + std::to_string(kParametersMax) + " query parameters");
  const std::string shown = printable(name);
  if (!query.emplace(std::move(name), std::move(value)).second)
    return wrong_target("query parameter '" + shown + "' appears twice");
  return Done{};
}

}  // namespace

Result<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (plus && text[i] == '+') {
      out += ' ';
      continue;
    }
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto high = i + 1 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!high || !low)
      return wrong_target("'%' in the request target is not followed by two hexadecimal digits");
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  if (out.find('\0') != out.npos) return wrong_target("the request target has a NUL byte");
  if (find_invalid_utf8(out)) return wrong_target("the request target is not UTF-8");
  return out;
}

Result<RequestTarget> parse_target(std::string_view target) {
  TRY(std::string_view rest, origin_form(target));
  RequestTarget out;
  if (const std::size_t mark = rest.find('?'); mark != rest.npos) {
    std::string_view query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
    while (!query.empty()) {
      const std::size_t end = query.find('&');
      TRY_DONE(add_parameter(query.substr(0, end), out.query));
      query = end == query.npos ? std::string_view() : query.substr(end + 1);
    }
  }
  rest.remove_prefix(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('/');
    TRY(std::string segment, percent_decoded(rest.substr(0, end), false));
    out.segments.push_back(std::move(segment));
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return out;
}

}  // namespace lockstep::api
