// The parser of json_path.hpp.

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/client/json_path.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

using Path = JsonPath::Path;
using Selector = JsonPath::Selector;
using Part = JsonPath::Part;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  // Up to the end, or to the {end} of the range that it is in.
  Result<std::vector<Part>> parts(std::size_t depth);

 private:
  Result<Part> action(std::size_t depth);
  Result<Path> path(std::size_t depth);
  Result<Done> dot(Path& out);
  Result<Selector> bracket(std::size_t depth);
  Result<Selector> keys();
  Result<Selector> numbers(std::string_view list) const;
  Result<Selector> slice(std::string_view text) const;
  Result<Selector> filter(std::size_t depth);
  Result<Path> operand(std::size_t depth);
  Result<std::string> quoted();
  Result<std::string> name();

  Error wrong(const std::string& why) const {
    return Error{ErrorKind::invalid_spec, "jsonpath, character " + std::to_string(at_ + 1) + ": " + why};
  }
  bool ended() const { return at_ >= text_.size(); }
  char now() const { return ended() ? '\0' : text_[at_]; }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skip_blanks() {
    while (now() == ' ') ++at_;
  }
  // "range" of "{range .items}", and not of "{ranges}".
  bool take_word(std::string_view word) {
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with(word) || rest.size() == word.size()) return false;
    if (const char next = rest[word.size()]; next != ' ' && next != '}') return false;
    at_ += word.size();
    skip_blanks();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool range_ended_ = false;
};

Result<std::vector<Part>> Parser::parts(std::size_t depth) {
  std::vector<Part> out;
  while (!ended()) {
    if (now() != '{') {
      const std::size_t end = std::min(text_.find('{', at_), text_.size());
      out.push_back({.text = std::string(text_.substr(at_, end - at_))});
      at_ = end;
      continue;
    }
    ++at_;
    TRY(Part part, action(depth));
    if (std::exchange(range_ended_, false)) return out;
    out.push_back(std::move(part));
  }
  if (depth > 0) return wrong("{range} has no {end}");
  return out;
}

// What is between { and }.
Result<Part> Parser::action(std::size_t depth) {
  Part out;
  skip_blanks();
  bool literal = false;
  if (now() == '"' || now() == '\'') {
    literal = true;
    TRY(out.text, quoted());
  } else if (take_word("end")) {
    if (depth == 0) return wrong("{end} without {range}");
    range_ended_ = true;
  } else {
    out.is_range = take_word("range");
    TRY(out.path, path(depth));
    if (out.path.empty()) out.path.push_back({.kind = Selector::Kind::current});
  }
  skip_blanks();
  if (ended()) return wrong("{ without }");
  if (!literal && (now() == '|' || now() == '&')) return wrong("&& and || are not supported");
  if (!take("}")) return wrong("'" + printable(text_.substr(at_, 1)) + "' is not supported here");
  if (!out.is_range) return out;
  if (depth + 1 > JsonPath::kDepthMax) return wrong("too many {range} in each other");
  TRY(out.body, parts(depth + 1));
  return out;
}

Result<Path> Parser::path(std::size_t depth) {
  Path out;
  if (take("$")) out.push_back({.kind = Selector::Kind::root});
  if (take("@")) out.push_back({.kind = Selector::Kind::current});
  while (!ended()) {
    if (now() == '.') {
      ++at_;
      TRY_DONE(dot(out));
    } else if (now() == '[') {
      ++at_;
      TRY(Selector one, bracket(depth));
      out.push_back(std::move(one));
    } else {
      break;
    }
  }
  if (now() == '(') return wrong("functions are not supported");
  if (out.empty() && now() != '}' && now() != '\0' && now() != ' ')
    return wrong("a path begins with a dot: {.metadata.name}");
  return out;
}

// After a dot.
Result<Done> Parser::dot(Path& out) {
  if (take(".")) {
    out.push_back({.kind = Selector::Kind::deep});
    if (now() == '[') return Done{};
    if (now() == '}' || now() == '.' || ended()) return wrong("a name is missing after ..");
  }
  if (take("*")) {
    out.push_back({.kind = Selector::Kind::all});
    return Done{};
  }
  if (now() == '[') return Done{};
  TRY(std::string field, name());
  if (!field.empty())
    out.push_back({.kind = Selector::Kind::field, .name = std::move(field)});
  else if (out.empty() && (now() == '}' || now() == ' '))
    out.push_back({.kind = Selector::Kind::current});  // {.}
  else
    return wrong("a name is missing after the dot");
  return Done{};
}

Result<std::string> Parser::name() {
  std::string out;
  for (; !ended(); ++at_) {
    if (now() == '\\') {
      ++at_;
      if (ended()) return wrong("nothing follows the \\");
    } else if (std::string_view(".[]{}()<>=!,|&?@$'\" ").find(now()) != std::string_view::npos) {
      break;
    }
    out += now();
  }
  return out;
}

// Between [ and ].
Result<Selector> Parser::bracket(std::size_t depth) {
  if (take("?(")) return filter(depth);
  if (now() == '\'' || now() == '"') return keys();
  const std::size_t end = text_.find(']', at_);
  if (end == text_.npos) return wrong("[ without ]");
  const std::string_view list = text_.substr(at_, end - at_);
  if (list == "*") {
    at_ = end + 1;
    return Selector{.kind = Selector::Kind::all};
  }
  TRY(Selector out, numbers(list));
  at_ = end + 1;
  return out;
}

// 'a','b.c': each a path of names.
Result<Selector> Parser::keys() {
  Selector out{.kind = Selector::Kind::either};
  do {
    skip_blanks();
    if (now() != '\'' && now() != '"') return wrong("a quoted name is missing");
    const char quote = now();
    ++at_;
    Path names;
    do {
      std::string field;
      for (; !ended() && now() != quote && now() != '.'; ++at_) {
        if (now() == '\\' && at_ + 1 < text_.size()) ++at_;
        field += now();
      }
      if (field.empty()) return wrong("a name is missing in the quotes");
      names.push_back({.kind = Selector::Kind::field, .name = std::move(field)});
    } while (take("."));
    if (ended()) return wrong("the quote does not end");
    ++at_;
    out.of.push_back(std::move(names));
    skip_blanks();
  } while (take(","));
  if (!take("]")) return wrong("[ without ]");
  return out;
}

Result<Selector> Parser::numbers(std::string_view list) const {
  if (list.find(',') == list.npos) return slice(list);
  Selector out{.kind = Selector::Kind::either};
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    TRY(Selector one, slice(list.substr(0, comma)));
    out.of.push_back({std::move(one)});
    if (comma == list.size()) return out;
    list.remove_prefix(comma + 1);
  }
}

// "1", "-1", "1:3", "::2".
Result<Selector> Parser::slice(std::string_view text) const {
  Selector out{.kind = Selector::Kind::slice};
  std::optional<std::int64_t> step;
  std::size_t colons = 0;
  for (std::optional<std::int64_t>* const into : {&out.from, &out.to, &step}) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code == std::errc()) {
      *into = number;
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (!text.starts_with(':') || into == &step) break;
    ++colons;
    text.remove_prefix(1);
  }
  if (!text.empty() || (colons == 0 && !out.from))
    return wrong("between [ and ] are numbers, a slice (1:3), *, 'names' or ?(a comparison)");
  out.one = colons == 0;
  out.step = step.value_or(1);
  if (out.step < 1) return wrong("the step of a slice must be at least 1");
  return out;
}

Result<Selector> Parser::filter(std::size_t depth) {
  if (depth + 1 > JsonPath::kDepthMax) return wrong("too many filters in each other");
  using Test = Selector::Test;
  constexpr std::pair<std::string_view, Test> kTests[] = {{"==", Test::equal},   {"!=", Test::unequal},
                                                          {"<=", Test::at_most}, {">=", Test::at_least},
                                                          {"<", Test::less},     {">", Test::more}};
  Selector out{.kind = Selector::Kind::filter};
  TRY(Path left, operand(depth + 1));
  out.of.push_back(std::move(left));
  skip_blanks();
  if (text_.substr(at_).starts_with("=~")) return wrong("regular expressions are not supported");
  for (const auto& [sign, test] : kTests) {
    if (!take(sign)) continue;
    out.test = test;
    TRY(Path right, operand(depth + 1));
    out.of.push_back(std::move(right));
    break;
  }
  skip_blanks();
  if (now() == '|' || now() == '&') return wrong("&& and || are not supported: a filter is one comparison");
  if (!take(")]")) return wrong("a filter is [?(@.name==\"value\")]");
  return out;
}

Result<Path> Parser::operand(std::size_t depth) {
  skip_blanks();
  if (now() == '@' || now() == '$' || now() == '.') return path(depth);
  Selector literal{.kind = Selector::Kind::literal};
  if (now() == '"' || now() == '\'') {
    TRY(const std::string text, quoted());
    literal.name = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return Path{std::move(literal)};
  }
  const std::size_t end = std::min(text_.find_first_of(" )<>=!&|", at_), text_.size());
  literal.name = text_.substr(at_, end - at_);
  if (!nlohmann::json::accept(literal.name))
    return wrong("neither a path (@.name), nor a number, nor a \"text\"");
  at_ = end;
  return Path{std::move(literal)};
}

Result<std::string> Parser::quoted() {
  const char quote = now();
  ++at_;
  std::string out;
  for (; !ended() && now() != quote; ++at_) {
    if (now() != '\\') {
      out += now();
      continue;
    }
    ++at_;
    switch (now()) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case '\\':
      case '\'':
      case '"': out += now(); break;
      default: return wrong("after \\ may be n, t, r, \\ or a quote");
    }
  }
  if (ended()) return wrong("the quote does not end");
  ++at_;
  return out;
}

}  // namespace

Result<std::vector<JsonPath::Part>> parse_json_path(std::string_view text) {
  if (text.size() > JsonPath::kLengthMax) return Error{ErrorKind::invalid_spec, "jsonpath: it is too long"};
  return Parser(text).parts(0);
}

}  // namespace lockstep::client
