#include "reconciler/report/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "reconciler/report/terminal.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// The older form of a workflow command takes effect anywhere in a line; so does Azure Pipelines' ("Logging
// commands").
constexpr std::string_view kOldCommand = "##[";
constexpr std::string_view kAzureCommand = "##vso[";
bool begins_command(std::string_view text) {
  return text.starts_with(kOldCommand) || text.starts_with(kAzureCommand);
}

// Like printable(), for malformed bytes only: JSON and YAML have their own escapes for the rest.
std::string well_formed_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    out += point.malformed() ? visible(text, point, i) : std::string(text.substr(i, point.bytes));
    i += point.bytes;
  }
  return out;
}

bool is_well_formed(const Json& node) {
  if (node.is_string()) return !find_invalid_utf8(node.get_ref<const std::string&>());
  if (node.is_object())
    return std::all_of(node.items().begin(), node.items().end(), [](const auto& item) {
      return !find_invalid_utf8(item.key()) && is_well_formed(item.value());
    });
  return !node.is_array() || std::all_of(node.begin(), node.end(), is_well_formed);
}

Json well_formed(const Json& node) {
  if (node.is_string()) return well_formed_text(node.get_ref<const std::string&>());
  Json out = node;
  if (node.is_array())
    for (Json& item : out) item = well_formed(item);
  if (!node.is_object()) return out;
  out = Json::object();
  for (const auto& [key, value] : node.items()) out[well_formed_text(key)] = well_formed(value);
  return out;
}

std::string utf16_escapes(char32_t value) {
  if (value < 0x10000) return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(value));
  const auto above = static_cast<std::uint32_t>(value) - 0x10000U;  // RFC 8259, section 7
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800U + (above >> 10U), 0xdc00U + (above & 0x3ffU));
}

// Hidden characters, and what a runner interprets, occur only in quoted texts: all else is punctuation and
// numbers.
std::string escaped_in_quotes(std::string_view document, bool yaml) {
  std::string out;
  for (std::size_t i = 0; i < document.size();) {
    const CodePoint point = code_point_at(document, i);
    if (point.value != '\n' && is_hidden(point.value))
      out += yaml && point.value >= 0x10000
                 ? fmt::format("\\U{:08x}", static_cast<std::uint32_t>(point.value))
                 : utf16_escapes(point.value);
    else if (begins_command(document.substr(i)))
      out += "\\u0023";
    else
      out += document.substr(i, point.bytes);
    i += point.bytes;
  }
  return out;
}

// A key that needs no quotes: YAML 1.1 also reads it as text, not as a boolean ("on") or null ("null").
bool is_plain_word(std::string_view key) {
  constexpr std::array<std::string_view, 9> kOtherThings{"true", "false", "null", "yes", "no",
                                                         "on",   "off",   "y",    "n"};
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }) && std::find(kOtherThings.begin(), kOtherThings.end(), key) == kOtherThings.end();
}

std::string yaml_key(const std::string& key, const std::string& indent) {
  constexpr std::size_t kSimpleKey =
      1000;  // a key without "?" has at most 1,024 characters (YAML 1.2, 8.2.2)
  const std::string word = is_plain_word(key) ? key : Json(key).dump();
  return word.size() < kSimpleKey ? word + ":" : "? " + word + "\n" + indent + ":";
}

// The text after a key's colon or an element's dash. JSON is YAML (YAML 1.2, 1.3): scalars and empty
// collections are written as JSON, other collections as blocks.
std::string yaml_block(const Json& node, const std::string& indent) {
  if (!node.is_structured() || node.empty()) return " " + node.dump() + "\n";
  const std::string below = indent + "  ";
  std::string out = "\n";
  for (const auto& [key, value] : node.items()) {
    const std::string block = yaml_block(value, below);
    out += indent;
    if (node.is_object())
      out += yaml_key(key, indent) + block;
    else
      out += "-" + (block.front() == '\n' ? " " + block.substr(1 + below.size()) : block);
  }
  return out;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string escaped(std::string_view text, auto&& escape_of) {
  std::string out;
  for (const char c : printable(text)) {
    const std::string_view escape = escape_of(c);
    if (escape.empty())
      out += c;
    else
      out += escape;
  }
  return out;
}

// The characters that .NET's TrimStart removes before a runner looks for "::" (Unicode 15, White_Space;
// without those that are hidden here).
bool is_blank(char32_t c) {
  return c == ' ' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace

std::string markdown_code(std::string_view text) {
  if (text.empty()) return "";
  std::string shown = printable(text);
  replace_all(shown, "|", "\\x7c");
  replace_all(shown, "`", "\\x60");
  // The parser removes one blank at each end, unless all characters are blank.
  const bool padded =
      shown.front() == ' ' && shown.back() == ' ' && shown.find_first_not_of(' ') != std::string::npos;
  return padded ? "` " + shown + " `" : "`" + shown + "`";
}

std::string xml_text(std::string_view text) {
  std::string out = escaped(text, [](char c) -> std::string_view {
    switch (c) {
      case '&': return "&amp;";
      case '<': return "&lt;";
      case '>': return "&gt;";
      case '"': return "&quot;";
      case '\'': return "&#39;";
      default: return "";
    }
  });
  replace_all(out, kOldCommand, "##&#91;");
  replace_all(out, kAzureCommand, "##vso&#91;");
  return out;
}

std::string dot_text(std::string_view text) {
  std::string out = escaped(text, [](char c) -> std::string_view {
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : "";
  });
  replace_all(out, kOldCommand, "&#35;#[");  // a label and an ID may contain HTML entities
  replace_all(out, kAzureCommand, "&#35;#vso[");
  return out;
}

std::string workflow_data(std::string_view text) {
  return escaped(text, [](char c) -> std::string_view { return c == '%' ? "%25" : ""; });
}

std::string workflow_property(std::string_view text) {
  return escaped(text, [](char c) -> std::string_view {
    return c == '%' ? "%25" : c == ':' ? "%3A" : c == ',' ? "%2C" : "";
  });
}

std::string sarif_message(std::string_view text) {
  std::string out = printable(text);
  replace_all(out, "](", "]\\x28");
  return out;
}

std::string uri_of_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string json_text(const Json& document, int indent) {
  const auto dump = [indent](const Json& whole) {
    return escaped_in_quotes(whole.dump(indent, ' ', false, Json::error_handler_t::replace), false) + "\n";
  };
  return is_well_formed(document) ? dump(document) : dump(well_formed(document));
}

std::string yaml_text(const Json& document) {
  return escaped_in_quotes(yaml_block(well_formed(document), "").substr(1), true);
}

std::string report_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool begins = true;  // only blanks and colour precede this in its line
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (const std::size_t colour = colour_sequence(rest); colour > 0) {
      out += rest.substr(0, colour);
      i += colour;
      continue;
    }
    const CodePoint point = code_point_at(text, i);
    if (point.value == '\n')
      out += '\n';
    else if (begins && rest.starts_with("::"))
      out += "\\x3a";
    else if (begins_command(rest))
      out += "\\x23";
    else
      out += visible(text, point, i);
    begins = point.value == '\n' || (begins && is_blank(point.value));
    i += point.bytes;
  }
  return out;
}

}  // namespace lockstep
