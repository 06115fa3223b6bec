#include "specs/language/scalars.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "specs/language/codes.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

constexpr std::array null_words = {"null", "Null", "NULL", "~"};
constexpr std::array boolean_words = {"true", "True", "TRUE", "false", "False", "FALSE"};

constexpr std::string_view blanks = " \t\n";

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_one_of(std::string_view text, auto& all) {
  return std::find(std::begin(all), std::end(all), text) != std::end(all);
}

bool looks_like_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  bool point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (c < '0' || c > '9') {
      return false;
    }
  }
  return true;
}

// How the node looks to the user, for "expected ..., found ...".
std::string_view found(const Node& node) {
  switch (node.shape) {
    case Node::Shape::null: return "nothing";
    case Node::Shape::list: return "a list";
    case Node::Shape::map: return "a map";
    case Node::Shape::scalar: break;
  }
  if (!node.plain) return "a quoted text";
  if (is_one_of(node.text, boolean_words)) return "a boolean";
  return looks_like_number(node.text) ? "a number" : "a text";
}

bool wrong_type(const Node& node, std::string_view noun, std::string hint, Reporter& reporter) {
  std::string message = "expected " + std::string(noun) + ", found " + std::string(found(node));
  if (node.shape == Node::Shape::scalar) message += " " + in_quotes(node.text);
  reporter.error(code::wrong_type, span_of(node), std::move(message), std::move(hint));
  return false;
}

// "write 9000, without a unit", for "9k".
std::string without_unit(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits == text.size()) return "";
  const std::string number(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  if (unit == "k" || unit == "K" || unit == "KB") return "write " + number + "000, without a unit";
  return unit == "B" ? "write " + number + ", without a unit" : "write it without a unit";
}

bool is_object_name(std::string_view text) {
  constexpr std::size_t longest = 253;  // RFC 1123 2.1, and Kubernetes object names
  const auto inside = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= longest && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && std::all_of(text.begin(), text.end(), inside);
}

bool check_hostlist(const Node& node, std::string_view text, Reporter& reporter) {
  const auto count = count_hostlist(text);
  if (!count) reporter.error(code::bad_hostlist, span_of(node), count.error().what);
  return static_cast<bool>(count);
}

bool check_ports(const Node& node, Reporter& reporter) {
  const auto split = split_port_list(node.text);
  if (!split) {
    reporter.error(code::bad_hostlist, span_of(node), split.error().what);
    return false;
  }
  if (split->ports.empty()) {
    reporter.error(code::bad_hostlist, span_of(node), "hostlist " + in_quotes(node.text) + " names no ports",
                   "write devices:ports, such as gpu[1-4]:rail[0-1]");
    return false;
  }
  return check_hostlist(node, split->devices, reporter) && check_hostlist(node, split->ports, reporter);
}

bool check_hosts(const Node& node, Reporter& reporter) {
  const auto names = expand_hostlist(node.text);
  if (!names) {
    reporter.error(code::bad_hostlist, span_of(node), names.error().what);
    return false;
  }
  const auto wrong = std::find_if_not(names->begin(), names->end(), is_host_name);
  if (wrong == names->end()) return true;
  reporter.error(code::bad_name, span_of(node), in_quotes(*wrong) + " is not a host name",
                 std::string(host_name_rule));
  return false;
}

// Names of /proc/sys, with dots for its slashes (sysctl(8)).
bool is_sysctl(std::string_view text) {
  return text.find('.') != text.npos && !text.starts_with('.') && !text.ends_with('.') &&
         text.find("..") == text.npos && text.find_first_of(blanks) == text.npos;
}

bool check_filled(const Node& node, std::string_view hint, Reporter& reporter) {
  if (node.text.find_first_not_of(blanks) != std::string::npos) return true;
  reporter.error(code::wrong_type, span_of(node), "an empty text", std::string(hint));
  return false;
}

bool refuse_name(const Node& node, std::string_view noun, std::string_view hint, Reporter& reporter) {
  reporter.error(code::bad_name, span_of(node), in_quotes(node.text) + " is not " + std::string(noun),
                 std::string(hint));
  return false;
}

}  // namespace

bool is_host_name(std::string_view name) {
  constexpr std::size_t longest = 253;
  constexpr std::size_t longest_label = 63;
  if (name.empty() || name.size() > longest) return false;
  while (true) {
    const std::string_view label = name.substr(0, name.find('.'));
    if (label.empty() || label.size() > longest_label || label.front() == '-' || label.back() == '-' ||
        !std::all_of(label.begin(), label.end(), [](char c) { return is_letter_or_digit(c) || c == '-'; }))
      return false;
    if (label.size() == name.size()) return true;
    name.remove_prefix(label.size() + 1);
  }
}

bool has_form(std::string_view text, Form form) {
  switch (form) {
    case Form::name: return is_object_name(text);
    case Form::word: return !text.empty() && text.find_first_of(blanks) == text.npos;
    case Form::sysctl: return is_sysctl(text);
    default: return true;
  }
}

bool check_form(const Node& node, Form form, Reporter& reporter) {
  switch (form) {
    case Form::any:
    case Form::note:
    case Form::scalar:
    case Form::entry: return true;  // compile checks entries
    case Form::hostlist: return check_hostlist(node, node.text, reporter);
    case Form::hosts: return check_hosts(node, reporter);
    case Form::ports: return check_ports(node, reporter);
    case Form::name:
      return has_form(node.text, form) ||
             refuse_name(node, "a name",
                         "use letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
                         reporter);
    case Form::word:
      return has_form(node.text, form) || refuse_name(node, "a name", "write it without blanks", reporter);
    case Form::sysctl:
      return has_form(node.text, form) ||
             refuse_name(node, "a sysctl's name", "write dotted names, such as net.ipv4.ip_forward",
                         reporter);
    case Form::sentence: return check_filled(node, "say why, in a few words", reporter);
    case Form::filled: return check_filled(node, "write it, or leave it out", reporter);
    case Form::kernel_parameter: return check_filled(node, "write a parameter, such as iommu=pt", reporter);
  }
  return true;
}

bool expect_text(const Node& node, std::string_view noun, Reporter& reporter) {
  return node.shape == Node::Shape::scalar || wrong_type(node, noun, "", reporter);
}

bool load_boolean(const Node& node, bool& out, Reporter& reporter) {
  if (node.shape != Node::Shape::scalar) return wrong_type(node, "true or false", "", reporter);
  const bool yes = node.text == "true" || node.text == "yes" || node.text == "on";
  if (!node.plain || (node.text != "true" && node.text != "false"))
    return wrong_type(node, "true or false",
                      yes ? "write true, without quotes" : "write true or false, without quotes", reporter);
  out = yes;
  return true;
}

bool load_integer(const Node& node, const Limits& limits, std::int64_t least, std::uint64_t most,
                  std::int64_t& out, Reporter& reporter) {
  constexpr std::string_view noun = "a whole number";
  if (node.shape != Node::Shape::scalar) return wrong_type(node, noun, "", reporter);
  const char* end = node.text.data() + node.text.size();
  const auto [stop, result] = std::from_chars(node.text.data(), end, out);
  if (stop != end || result == std::errc::invalid_argument)
    return wrong_type(
        node, noun,
        looks_like_number(node.text) ? "write it without sign, point or quotes" : without_unit(node.text),
        reporter);
  if (!node.plain) return wrong_type(node, noun, "remove the quotes", reporter);
  least = std::max(least, limits.least);
  most = std::min<std::uint64_t>(most, static_cast<std::uint64_t>(limits.most));
  const bool in_range =
      result == std::errc{} && out >= least && (out < 0 || static_cast<std::uint64_t>(out) <= most);
  if (!in_range)
    reporter.error(code::out_of_range, span_of(node),
                   in_quotes(node.text) + " is not in " + std::to_string(least) + ".." + std::to_string(most),
                   std::string(limits.why));
  return in_range;
}

bool load_string(const Node& node, const Limits& limits, std::string& out, Reporter& reporter) {
  if (node.shape != Node::Shape::scalar) return wrong_type(node, "a text", "", reporter);
  const bool ambiguous = node.plain && (looks_like_number(node.text) || is_one_of(node.text, boolean_words) ||
                                        is_one_of(node.text, null_words));
  if (ambiguous) return wrong_type(node, "a text", "quote it: \"" + node.text.substr(0, 60) + "\"", reporter);
  if (limits.form != Form::note && !is_one_line(node, reporter)) return false;
  if (!check_form(node, limits.form, reporter)) return false;
  out = node.text;
  return true;
}

bool load_word(const Node& node, std::span<const std::string_view> words, std::size_t& out,
               Reporter& reporter) {
  const auto listed = [&words] {
    std::string all;
    for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
    return all;
  };
  if (node.shape != Node::Shape::scalar) return wrong_type(node, "one of " + listed(), "", reporter);
  const auto at = std::find(words.begin(), words.end(), node.text);
  if (at != words.end()) {
    out = static_cast<std::size_t>(at - words.begin());
    return true;
  }
  const std::string_view near = nearest(node.text, words);
  reporter.error(code::unknown_word, span_of(node), in_quotes(node.text) + " is not one of " + listed(),
                 near.empty() ? "" : "did you mean '" + std::string(near) + "'?");
  return false;
}

Literal literal_of(const Node& node) {
  Literal literal;
  literal.at = node.at;
  literal.text = node.text;
  literal.plain = node.plain;
  switch (node.shape) {
    case Node::Shape::null: break;
    case Node::Shape::list:
      literal.shape = Literal::Shape::list;
      for (const Node* item : node.items) literal.items.push_back(literal_of(*item));
      break;
    case Node::Shape::map:
      literal.shape = Literal::Shape::map;
      for (const auto& [key, value] : node.fields)
        literal.fields.push_back({{key->text, key->at, true}, {literal_of(*value), value->at, true}});
      break;
    case Node::Shape::scalar: {
      literal.shape = Literal::Shape::text;
      if (!node.plain) break;
      const char* end = node.text.data() + node.text.size();
      const auto [stop, result] = std::from_chars(node.text.data(), end, literal.integer);
      if (result == std::errc{} && stop == end) {
        literal.shape = Literal::Shape::integer;
      } else if (looks_like_number(node.text)) {
        literal.shape = Literal::Shape::number;
      } else if (node.text == "true" || node.text == "false") {
        literal.shape = Literal::Shape::boolean;
        literal.boolean = node.text == "true";
      }
    }
  }
  return literal;
}

void report_quantity(const Node& node, const Error& error, Reporter& reporter) {
  const bool secret =
      error.kind == ErrorKind::denied;  // parse_secret_name: the text may be the secret itself
  reporter.error(
      secret ? code::secret_written : code::bad_quantity, span_of(node), error.what,
      secret ? "store it with systemd-creds, in a file or in the environment, and name it here" : "");
}

bool check_amount(const Node& node, const Limits& limits, std::uint64_t amount, Reporter& reporter) {
  const bool low = limits.least > 0 && amount < static_cast<std::uint64_t>(limits.least);
  if (!low && (limits.most < 0 || amount <= static_cast<std::uint64_t>(limits.most))) return true;
  reporter.error(code::out_of_range, span_of(node),
                 in_quotes(node.text) +
                     (limits.range.empty() ? " is out of range" : " is not in " + std::string(limits.range)),
                 std::string(limits.why));
  return false;
}

}  // namespace lockstep
