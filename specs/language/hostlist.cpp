#include "specs/language/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <unordered_set>

#include "specs/model/path.hpp"

namespace lockstep {
namespace {

// 18 digits always fit 64 bits; longer numbers in names are not treated as indices.
constexpr std::size_t most_digits = 18;
// Brackets in one name; racks, rows, nodes and ports need four.
constexpr std::size_t most_brackets = 8;

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t step = 1;
  std::size_t width = 0;  // number of digits if padded with zeros; else 0
  std::uint64_t count() const { return (last - first) / step + 1; }
};
struct Bracket {
  std::vector<Range> ranges;
  std::uint64_t count = 0;
};
// literal[0] bracket[0] literal[1] bracket[1] ... literal[n]
struct Item {
  std::vector<std::string_view> literals;
  std::vector<Bracket> brackets;
  std::uint64_t count = 1;
};
struct Parsed {
  std::vector<Item> items;
  std::uint64_t count = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.' || c == '/';
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;  // of a long list: enough to recognise it
  return "'" + std::string(text.substr(0, most)) + (text.size() > most ? "...'" : "'");
}
Error wrong(std::string_view text, std::string_view why) {
  return Error{ErrorKind::invalid_spec, "hostlist " + shown(text) + ": " + std::string(why)};
}

Result<std::uint64_t> parse_number(std::string_view whole, std::string_view digits) {
  if (digits.empty()) return wrong(whole, "a range needs both ends, such as [1-4]");
  if (!std::all_of(digits.begin(), digits.end(), is_digit))
    return wrong(whole, "'" + std::string(digits) + "' is not a number");
  if (digits.size() > most_digits) return wrong(whole, "a number of more than 18 digits");
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool is_padded(std::string_view digits) { return digits.size() > 1 && digits[0] == '0'; }

Result<Range> parse_range(std::string_view whole, std::string_view text) {
  if (text.empty()) return wrong(whole, "an empty range between '[' and ']'");
  Range range;
  const std::size_t slash = text.find('/');
  const std::size_t dash = text.find('-');
  if (slash != text.npos) {
    if (dash == text.npos || dash > slash) return wrong(whole, "a step needs a range, such as [0-504/8]");
    TRY(range.step, parse_number(whole, text.substr(slash + 1)));
    if (range.step == 0) return wrong(whole, "a step of 0");
    text = text.substr(0, slash);
  }
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = dash == text.npos ? first : text.substr(dash + 1);
  TRY(range.first, parse_number(whole, first));
  TRY(range.last, parse_number(whole, last));
  if (range.last < range.first)
    return wrong(whole, "the range " + std::string(text) + " falls; write the smaller number first");
  if (is_padded(first) || is_padded(last)) {
    if (first.size() != last.size())
      return wrong(whole, "the ends of " + std::string(text) + " are padded to different widths");
    range.width = first.size();
  }
  return range;
}

Result<Bracket> parse_bracket(std::string_view whole, std::string_view text, std::uint64_t limit) {
  Bracket bracket;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    TRY(const Range range, parse_range(whole, text.substr(begin, comma - begin)));
    bracket.count += range.count();  // both below 10^18, and the sum is checked each time: no overflow
    if (bracket.count > limit) return wrong(whole, "more than " + std::to_string(limit) + " names");
    bracket.ranges.push_back(range);
    begin = comma + 1;
  }
  return bracket;
}

// One item, up to a comma outside brackets; moves `at` past it.
Result<Item> parse_item(std::string_view whole, std::size_t& at, std::uint64_t limit) {
  Item item;
  std::size_t begin = at;
  for (;; ++at) {
    const char c = at < whole.size() ? whole[at] : ',';
    if (c == ',') {
      item.literals.push_back(whole.substr(begin, at - begin));
      if (item.brackets.empty() && item.literals[0].empty()) return wrong(whole, "an empty name");
      return item;
    }
    if (c == ']') return wrong(whole, "']' without '['");
    if (c == '[') {
      item.literals.push_back(whole.substr(begin, at - begin));
      const std::size_t close = whole.find_first_of("[]", at + 1);
      if (close == whole.npos) return wrong(whole, "'[' is not closed");
      if (whole[close] == '[') return wrong(whole, "'[' inside '['");
      if (item.brackets.size() == most_brackets) return wrong(whole, "more than 8 brackets in a name");
      TRY(Bracket bracket, parse_bracket(whole, whole.substr(at + 1, close - at - 1), limit));
      item.count *= bracket.count;  // at most limit * limit, far below 2^64
      if (item.count > limit) return wrong(whole, "more than " + std::to_string(limit) + " names");
      item.brackets.push_back(std::move(bracket));
      at = close;
      begin = close + 1;
    } else if (!is_name_character(c)) {
      return wrong(whole, c == ' ' ? "a space; names are separated by commas alone"
                                   : "a character that is not of a name: letters, digits and - _ . / are");
    }
  }
}

Result<Parsed> parse(std::string_view whole, std::uint64_t limit) {
  Parsed parsed;
  for (std::size_t at = 0; at <= whole.size(); ++at) {
    TRY(Item item, parse_item(whole, at, limit));
    parsed.count += item.count;
    if (parsed.count > limit) return wrong(whole, "more than " + std::to_string(limit) + " names");
    parsed.items.push_back(std::move(item));
  }
  return parsed;
}

void append_number(std::string& to, std::uint64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  if (digits.size() < width) to.append(width - digits.size(), '0');
  to += digits;
}

void expand_item(const Item& item, std::size_t bracket, const std::string& prefix,
                 std::vector<std::string>& out) {
  std::string name = prefix;
  name += item.literals[bracket];
  if (bracket == item.brackets.size()) {
    out.push_back(std::move(name));
    return;
  }
  const std::size_t length = name.size();
  for (const Range& range : item.brackets[bracket].ranges) {
    for (std::uint64_t i = 0; i < range.count(); ++i) {
      name.resize(length);
      append_number(name, range.first + i * range.step, range.width);
      expand_item(item, bracket + 1, name, out);
    }
  }
}

std::optional<std::uint64_t> index_in_bracket(const Bracket& bracket, std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  std::uint64_t before = 0;
  for (const Range& range : bracket.ranges) {
    const bool spelled = range.width > 0 ? digits.size() == range.width : !is_padded(digits);
    if (spelled && value >= range.first && value <= range.last && (value - range.first) % range.step == 0)
      return before + (value - range.first) / range.step;
    before += range.count();
  }
  return std::nullopt;
}

// Digits beside a bracket may belong to it or to what follows ("r[1-20][1-9]"), so each split is tried.
std::optional<std::uint64_t> index_in_item(const Item& item, std::size_t bracket, std::string_view name) {
  const std::string_view literal = item.literals[bracket];
  if (!name.starts_with(literal)) return std::nullopt;
  name.remove_prefix(literal.size());
  if (bracket == item.brackets.size()) return name.empty() ? std::optional<std::uint64_t>(0) : std::nullopt;
  std::uint64_t behind = 1;
  for (std::size_t i = bracket + 1; i < item.brackets.size(); ++i) behind *= item.brackets[i].count;
  for (std::size_t taken = 1; taken <= std::min(name.size(), most_digits) && is_digit(name[taken - 1]);
       ++taken) {
    const auto here = index_in_bracket(item.brackets[bracket], name.substr(0, taken));
    if (!here) continue;
    const auto rest = index_in_item(item, bracket + 1, name.substr(taken));
    if (rest) return *here * behind + *rest;
  }
  return std::nullopt;
}

// A name split at its last digits: "gpu", 7, width 3, "".
struct Split {
  std::string_view head;
  std::string_view digits;
  std::string_view tail;
};
Split split_at_last_number(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1]) && end - begin < most_digits) --begin;
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

struct Run {
  Split split;
  std::vector<Range> ranges;
};

bool joins(const Run& run, const Split& next) {
  return !next.digits.empty() && !run.split.digits.empty() && run.split.head == next.head &&
         run.split.tail == next.tail;
}

void add_to_run(Run& run, std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::size_t width = is_padded(digits) ? digits.size() : 0;
  if (!run.ranges.empty()) {
    Range& range = run.ranges.back();
    // A padded range may grow into numbers that fill the width: 098, 099, 100.
    const bool same_width = range.width == width || (width == 0 && digits.size() == range.width);
    if (same_width && value > range.last) {
      if (range.first == range.last) {
        range.step = value - range.last;
        range.last = value;
        return;
      }
      if (value - range.last == range.step) {
        range.last = value;
        return;
      }
    }
  }
  run.ranges.push_back({value, value, 1, width});
}

void append_range(std::string& to, const Range& range) {
  append_number(to, range.first, range.width);
  if (range.last == range.first) return;
  const bool two_far_apart = range.step > 1 && range.last - range.first == range.step;
  to += two_far_apart ? ',' : '-';
  append_number(to, range.last, range.width);
  if (range.step > 1 && !two_far_apart) to += "/" + std::to_string(range.step);
}

std::string text_of(const Run& run) {
  std::string text(run.split.head);
  if (run.split.digits.empty()) return text + std::string(run.split.tail);
  if (run.ranges.size() == 1 && run.ranges[0].first == run.ranges[0].last)
    return text + std::string(run.split.digits) + std::string(run.split.tail);
  text += '[';
  for (const Range& range : run.ranges) {
    if (&range != &run.ranges.front()) text += ',';
    append_range(text, range);
  }
  return text + "]" + std::string(run.split.tail);
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t limit) {
  TRY(const Parsed parsed, parse(text, limit));
  std::vector<std::string> names;
  names.reserve(parsed.count);
  for (const Item& item : parsed.items) expand_item(item, 0, "", names);
  std::unordered_set<std::string_view> seen;
  seen.reserve(names.size());
  for (const std::string& name : names)
    if (!seen.insert(name).second) return wrong(text, "'" + name + "' is in it twice");
  return names;
}

Result<std::size_t> count_hostlist(std::string_view text, std::size_t limit) {
  TRY(const Parsed parsed, parse(text, limit));
  return static_cast<std::size_t>(parsed.count);
}

std::optional<std::size_t> index_in_hostlist(std::string_view text, std::string_view name) {
  const auto parsed = parse(text, hostlist_limit);
  if (!parsed) return std::nullopt;
  std::uint64_t before = 0;
  for (const Item& item : parsed->items) {
    if (const auto at = index_in_item(item, 0, name)) return before + *at;
    before += item.count;
  }
  return std::nullopt;
}

void sort_names(std::vector<std::string>& names) {
  std::ranges::sort(names, [](const auto& a, const auto& b) { return compare_natural(a, b) < 0; });
}

std::string fold_hostlist(const std::vector<std::string>& names) {
  std::string text;
  Run run;
  bool open = false;
  const auto flush = [&] {
    if (open) text += (text.empty() ? "" : ",") + text_of(run);
  };
  for (const std::string& name : names) {
    const Split split = split_at_last_number(name);
    if (!open || !joins(run, split)) {
      flush();
      run = {split, {}};
      open = true;
    }
    if (!split.digits.empty()) add_to_run(run, split.digits);
  }
  flush();
  return text;
}

Result<PortList> split_port_list(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return PortList{std::string(text), ""};
  if (text.find(':', colon + 1) != text.npos)
    return wrong(text, "two ':'; write devices:ports once, with all ports in one list");
  if (colon == 0 || colon + 1 == text.size())
    return wrong(text, "write devices:ports, such as gpu[1-4]:rail[0-1]");
  return PortList{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

}  // namespace lockstep
