#include "drivers/frr/running_config.hpp"

#include <algorithm>

namespace lockstep::frr {
namespace {

// The deepest nesting in FRR 8.4 is four (segment-routing / traffic-eng / pcep / pce); the bound rejects
// malformed input.
constexpr std::size_t kDepthMax = 16;

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

bool takes_header(RunningConfig& config, std::string_view line) {
  const auto rest = [line](std::string_view prefix) { return std::string(line.substr(prefix.size())); };
  if (line.starts_with("frr version ")) {
    config.version = rest("frr version ");
  } else if (line.starts_with("frr defaults ")) {
    config.defaults = rest("frr defaults ");
  } else if (line.starts_with("hostname ")) {
    config.hostname = rest("hostname ");
  } else {
    return false;
  }
  return true;
}

bool is_ending(std::string_view line) { return line == "exit" || line.starts_with("exit-"); }

void print_lines(const std::vector<ConfigLine>& lines, std::size_t depth, std::string& out) {
  for (const ConfigLine& line : lines) {
    out.append(depth, ' ');
    out += line.text + "\n";
    if (!line.is_block()) continue;
    print_lines(line.children, depth + 1, out);
    out.append(depth, ' ');
    out += (line.ending.empty() ? "exit" : line.ending) + "\n";
    out.append(depth, ' ');
    out += "!\n";
  }
}

void merge_lines(std::vector<ConfigLine>& into, const std::vector<ConfigLine>& from) {
  for (const ConfigLine& line : from) {
    const auto same = std::find_if(into.begin(), into.end(),
                                   [&](const ConfigLine& have) { return have.text == line.text; });
    if (same == into.end()) {
      into.push_back(line);
      continue;
    }
    if (same->ending.empty()) same->ending = line.ending;
    merge_lines(same->children, line.children);
  }
}

Result<RunningConfig> parse_lines(std::string_view text) {
  RunningConfig config;
  std::size_t number = 0;
  const auto wrong = [&number](const std::string& what) {
    return Error{ErrorKind::transient, "running-config line " + std::to_string(number) + ": " + what};
  };
  // Open blocks, outermost first. Pointers stay valid: only the innermost list grows.
  struct Open {
    std::size_t indent;
    std::vector<ConfigLine>* lines;
  };
  std::vector<Open> open{{0, &config.lines}};
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t indent = std::min(whole.find_first_not_of(' '), whole.size());
    const std::string_view line = whole.substr(indent);
    if (line.empty() || line.front() == '!' || (indent == 0 && line == "end")) continue;
    if (line.find('\0') != line.npos) return wrong("a NUL byte");
    if (indent == 0 && takes_header(config, line)) continue;
    while (indent < open.back().indent) open.pop_back();
    if (indent > open.back().indent) {
      if (open.back().lines->empty()) return wrong("indented under nothing");
      if (open.size() == kDepthMax) return wrong("deeper than any block of FRR");
      open.push_back({indent, &open.back().lines->back().children});
    }
    std::vector<ConfigLine>& lines = *open.back().lines;
    if (!is_ending(line)) {
      lines.push_back({std::string(line), {}, {}});
    } else if (!lines.empty()) {
      lines.back().ending = line;  // of the block above it, which may be empty ("profile lockstep")
    }
  }
  return config;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == line.npos) break;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

bool begins_with_words(std::string_view line, std::string_view first_words) {
  return line.starts_with(first_words) &&
         (line.size() == first_words.size() || line[first_words.size()] == ' ');
}

const ConfigLine* RunningConfig::find(std::string_view first_words) const {
  for (const ConfigLine& line : lines)
    if (begins_with_words(line.text, first_words)) return &line;
  return nullptr;
}

Result<RunningConfig> parse_running_config(std::string_view text) {
  TRY(RunningConfig config, parse_lines(text));
  if (config.version.empty())
    return Error{ErrorKind::transient, "not a running-config: no 'frr version' line"};
  return config;
}

Result<RunningConfig> parse_saved_config(std::string_view text) {
  TRY(const RunningConfig lines, parse_lines(text));
  RunningConfig config;
  merge(config, lines);
  return config;
}

void merge(RunningConfig& into, const RunningConfig& from) {
  if (into.version.empty()) into.version = from.version;
  if (into.defaults.empty()) into.defaults = from.defaults;
  if (into.hostname.empty()) into.hostname = from.hostname;
  merge_lines(into.lines, from.lines);
}

std::string print(const RunningConfig& config) {
  std::string out;
  if (!config.version.empty()) out += "frr version " + config.version + "\n";
  if (!config.defaults.empty()) out += "frr defaults " + config.defaults + "\n";
  if (!config.hostname.empty()) out += "hostname " + config.hostname + "\n";
  out += "!\n";
  print_lines(config.lines, 0, out);
  return out;
}

}  // namespace lockstep::frr
