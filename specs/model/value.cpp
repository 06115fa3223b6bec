#include "specs/model/value.hpp"

#include <algorithm>
#include <charconv>

#include "specs/model/interned.hpp"

namespace lockstep {

Value Value::text(std::string_view value) { return Value(Kind::text, intern(value)); }
Value Value::secret(std::string_view place) { return Value(Kind::secret, intern(place)); }
Value Value::reference(std::string_view target) { return Value(Kind::reference, intern(target)); }

Value Value::wide_integer(std::int64_t value) {
  Value out(Kind::integer, intern(std::to_string(value)));
  out.bits_ |= kWide;
  return out;
}

std::int64_t Value::as_wide_integer() const {
  const std::string_view digits = interned_text(static_cast<TextId>(bits_ >> 4));
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

Value Value::list(const std::vector<std::string>& elements) {
  std::string joined;
  for (const std::string& element : elements) {
    if (!joined.empty()) joined += '\n';
    joined += element;
  }
  return Value(Kind::list, intern(joined));
}

Value Value::set(std::vector<std::string> elements) {
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return list(elements);
}

std::string_view Value::as_text() const {
  switch (kind()) {
    case Kind::text:
    case Kind::list:
    case Kind::secret:
    case Kind::reference: return interned_text(static_cast<TextId>(bits_ >> 4));
    default: return {};
  }
}

std::vector<std::string_view> Value::as_list() const {
  std::vector<std::string_view> elements;
  std::string_view rest = as_text();
  if (kind() != Kind::list || rest.empty()) return elements;
  while (true) {
    const std::size_t end = rest.find('\n');
    elements.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) return elements;
    rest.remove_prefix(end + 1);
  }
}

std::string Value::to_string() const {
  switch (kind()) {
    case Kind::none: return "(none)";
    case Kind::present: return "present";
    case Kind::boolean: return as_boolean() ? "true" : "false";
    case Kind::integer: return std::to_string(as_integer());
    case Kind::text: return std::string(as_text());
    case Kind::secret: return "(secret " + std::string(as_text()) + ")";
    case Kind::reference: return "(reference to " + std::string(as_text()) + ")";
    case Kind::list: {
      const std::string_view elements = as_text();
      if (elements.empty()) return "(empty)";
      std::string joined;
      joined.reserve(elements.size() * 2);  // an element is a character at least, and ", " follows it
      for (std::size_t from = 0;;) {
        const std::size_t end = elements.find('\n', from);
        joined += elements.substr(from, end - from);
        if (end == std::string_view::npos) return joined;
        joined += ", ";
        from = end + 1;
      }
    }
  }
  return "(none)";
}

}  // namespace lockstep
