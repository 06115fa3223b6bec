#include "specs/language/excerpt.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "specs/language/codes.hpp"
#include "specs/language/secret_lines.hpp"
#include "specs/language/text_index.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

constexpr unsigned tab_stop = 4;
constexpr std::size_t widest_line = 160;  // maximum columns shown of a line; a wide terminal
constexpr std::size_t shown_before = 80;  // of these, before the position

// Unicode 15: general category Mn of the common blocks, and zero-width characters.
constexpr std::pair<char32_t, char32_t> no_width[] = {{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                                      {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                                                      {0xfe20, 0xfe2f}};
// Unicode 15 EastAsianWidth.txt: the blocks that are W or F.
constexpr std::pair<char32_t, char32_t> double_width[] = {
    {0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
    {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

bool is_in(char32_t value, const auto& ranges) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [value](const auto& range) { return value >= range.first && value <= range.second; });
}

// One character as a terminal may show it: its bytes, and the columns that it takes.
struct Glyph {
  std::string bytes;
  std::size_t width = 1;
};
Glyph glyph_of(std::string_view text, const CodePoint& point, std::size_t at, std::size_t column) {
  if (point.value == '\t') {
    const std::size_t width = tab_stop - column % tab_stop;
    return {std::string(width, ' '), width};
  }
  std::string shown = visible(text, point, at);
  if (point.malformed() || is_hidden(point.value)) return {shown, shown.size()};
  const std::size_t width = is_in(point.value, no_width) ? 0 : is_in(point.value, double_width) ? 2 : 1;
  return {std::move(shown), width};
}

struct Underlined {
  std::string line;
  std::string marks;
};

// `column` counts characters from 1; a column past the end is at the end.
Underlined underline(std::string_view line, std::size_t column, std::size_t length) {
  Underlined out;
  std::vector<Glyph> glyphs;
  const std::size_t first = column > shown_before ? column - shown_before : 0;
  std::size_t width = 0;
  std::size_t character = 0;
  std::size_t i = 0;
  for (; i < line.size() && width < widest_line; ++character) {
    const CodePoint point = code_point_at(line, i);
    Glyph glyph = glyph_of(line, point, i, width);
    i += point.bytes;
    if (character < first) continue;
    const bool meant = character + 1 >= column && character + 1 < column + length;
    width += glyph.width;
    out.line += glyph.bytes;
    out.marks += std::string(glyph.width, !meant ? ' ' : character + 1 == column ? '^' : '~');
    if (meant && character + 1 == column && glyph.width == 2) out.marks.back() = '~';
  }
  if (character + 1 <= column) out.marks += '^';
  if (first > 0) {
    out.line.insert(0, "...");
    out.marks.insert(0, "   ");
  }
  if (i < line.size()) out.line += "...";
  out.marks.erase(out.marks.find_last_not_of(' ') + 1);
  return out;
}

// Finds lines that may be shown; a report of many errors scans each file once.
class Lines {
 public:
  explicit Lines(const Sources& sources) : sources_(sources) {}
  // Empty: there is none, or it is confidential.
  std::string_view line(const Position& at) {
    const std::string_view text = text_of(at);
    if (at.line == 0 || text.empty() || !sources_.files[at.file].shown || is_withheld(at, text)) return {};
    auto& starts = starts_[at.file];
    if (starts.empty()) {
      starts.push_back(0);
      for (std::size_t i = text.find('\n'); i != text.npos; i = text.find('\n', i + 1))
        starts.push_back(i + 1);
    }
    if (at.line > starts.size()) return {};
    std::string_view line = text.substr(starts[at.line - 1]);
    line = line.substr(0, line.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (at.line == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
    return line;
  }
  // The line contains a secret, whatever its key.
  void withhold(const Diagnostic& one) {
    if (one.code == code::secret_written) withheld_[one.at.file].insert(one.at.line);
  }
  std::string_view name(const Position& at) const {
    return at.file < sources_.files.size() ? std::string_view(sources_.files[at.file].name)
                                           : std::string_view();
  }

 private:
  std::string_view text_of(const Position& at) const {
    return at.file < sources_.files.size() ? std::string_view(sources_.files[at.file].text)
                                           : std::string_view();
  }
  bool is_withheld(const Position& at, std::string_view text) {
    if (scanned_.insert(at.file).second) withheld_[at.file].merge(lines_with_secrets(text));
    return withheld_[at.file].contains(at.line);
  }
  const Sources& sources_;
  std::map<std::uint32_t, std::vector<std::size_t>> starts_;
  std::set<std::uint32_t> scanned_;
  std::map<std::uint32_t, std::set<std::uint32_t>> withheld_;
};

struct Paint {
  Colour colour;
  std::string operator()(std::string_view sequence, const std::string& text) const {
    return colour == Colour::on ? "\x1b[" + std::string(sequence) + "m" + text + "\x1b[0m" : text;
  }
};
constexpr std::string_view bold = "1", red = "1;31", yellow = "1;33", cyan = "36";

std::string place(const Lines& lines, const Position& at) {
  std::string text = printable(lines.name(at));
  if (at.line > 0) text += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  return text;
}

void append_source(std::string& out, Lines& lines, const Position& at, std::size_t length,
                   std::string_view colour, const Paint& paint) {
  const std::string_view line = lines.line(at);
  if (at.line == 0 || line.empty()) return;
  const Underlined shown = underline(line, at.column, length);
  const std::string number = std::to_string(at.line);
  out += "  " + number + " | " + shown.line + "\n";
  out += "  " + std::string(number.size(), ' ') + " | " + paint(colour, shown.marks) + "\n";
}

std::string_view severity_of(const Diagnostic& one) {
  if (one.severity == Severity::error) return "error";
  return is_note(one.code) ? "note" : "warning";
}

std::string render(const Diagnostic& one, Lines& lines, Colour colour) {
  const Paint paint{colour};
  const std::string_view severity = severity_of(one);
  const std::string_view ink = one.severity == Severity::error ? red : is_note(one.code) ? cyan : yellow;
  const std::string where = place(lines, one.at);
  std::string out = where.empty() ? "" : paint(bold, where + ":") + " ";
  out += paint(ink, std::string(severity) + " " + one.code) + ": ";
  out += printable(one.message) + "\n";
  append_source(out, lines, one.at, one.length, ink, paint);
  if (!one.hint.empty()) out += "  " + paint(cyan, "hint") + ": " + printable(one.hint) + "\n";
  for (const Related& other : one.related) {
    out +=
        "  " + paint(cyan, "note") + ": " + place(lines, other.at) + ": " + printable(other.message) + "\n";
    append_source(out, lines, other.at, 1, cyan, paint);
  }
  return out;
}

nlohmann::json at_json(const Lines& lines, const Position& at) {
  return {{"file", lines.name(at)}, {"line", at.line}, {"column", at.column}};
}

}  // namespace

std::string excerpt(const Diagnostic& one, const Sources& sources, Colour colour) {
  Lines lines(sources);
  lines.withhold(one);
  return render(one, lines, colour);
}

std::string excerpts(const Diagnostics& all, const Sources& sources, Colour colour) {
  Lines lines(sources);
  for (const Diagnostic& one : all) lines.withhold(one);
  std::string out;
  for (const Diagnostic& one : all) out += (out.empty() ? "" : "\n") + render(one, lines, colour);
  return out;
}

nlohmann::json error_report(const Diagnostics& all, const Sources& sources) {
  const Lines lines(sources);
  nlohmann::json errors = nlohmann::json::array();
  for (const Diagnostic& one : all) {
    nlohmann::json error = at_json(lines, one.at);
    error["code"] = one.code;
    error["severity"] = severity_of(one);
    error["message"] = printable(one.message);
    error["hint"] = printable(one.hint);
    error["file"] = printable(lines.name(one.at));
    for (const Related& other : one.related) {
      nlohmann::json related = at_json(lines, other.at);
      related["file"] = printable(lines.name(other.at));
      related["message"] = other.message;
      error["related"].push_back(std::move(related));
    }
    errors.push_back(std::move(error));
  }
  return {{"kind", "Error"}, {"errors", std::move(errors)}};
}

}  // namespace lockstep
