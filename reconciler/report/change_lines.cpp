#include "reconciler/report/change_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "specs/language/hostlist.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Where the last part of an entry's name begins, after its '/'; npos: it has one part. A key may contain
// slashes.
std::size_t last_part(const std::string& path) {
  int depth = 0;
  for (std::size_t i = path.size(); i-- > 0;) {
    if (path[i] == ']') ++depth;
    if (path[i] == '[') --depth;
    if (path[i] == '/' && depth == 0) return i + 1;
  }
  return std::string::npos;
}

std::string shown(const FoldedChange& change) {
  const std::string was = change.was ? value_text(change.row, change.was) : "";
  const std::string want = change.want ? value_text(change.row, change.want) : "";
  if (!was.empty() && !want.empty()) return was + " → " + want;
  const std::string& only = want.empty() ? was : want;
  return only == "present" ? "" : only;
}

ChangeLine line_of(const FoldedChange& change, const std::vector<PlanOrigin>& origins) {
  return {!change.was    ? '+'
          : !change.want ? '-'
                         : '~',
          change.path,
          shown(change),
          change.origin < origins.size() ? origin_text(origins[change.origin]) : "",
          change.count,
          change.ports,
          change.ports_begin,
          change.ports_size,
          change.ids};
}

void add_changes(ChangeLine& to, const ChangeLine& of) {
  to.count += of.count;
  to.ids.insert(to.ids.end(), of.ids.begin(), of.ids.end());
}

// Fields added or removed with their object are shown in its line; those of a removed object are omitted.
std::vector<ChangeLine> with_fields(std::vector<ChangeLine> lines) {
  std::map<std::string, std::size_t> objects;
  std::vector<ChangeLine> out;
  for (ChangeLine& line : lines) {
    const std::size_t at = last_part(line.path);
    const bool is_field = at != std::string::npos && line.path.find('[', at) == std::string::npos;
    const auto object = is_field ? objects.find(line.sign + line.path.substr(0, at - 1)) : objects.end();
    if (line.sign == '~' || object == objects.end()) {
      if (line.sign != '~' && line.value.empty()) objects.emplace(line.sign + line.path, out.size());
      out.push_back(std::move(line));
      continue;
    }
    ChangeLine& of = out[object->second];
    add_changes(of, line);
    if (line.sign == '+')
      of.value += (of.value.empty() ? "" : ", ") + line.path.substr(at) + " " + line.value;
  }
  return out;
}

// "interface[rail0]/offload[gso]": folds the last key, unless it is an address or similar.
std::vector<ChangeLine> with_last_keys(std::vector<ChangeLine> lines) {
  struct Group {
    std::size_t line;
    std::size_t open;  // the bracket of the last key
    std::vector<std::string> keys;
  };
  std::vector<ChangeLine> out;
  std::vector<Group> groups;
  std::map<std::tuple<char, std::string, std::string, std::string>, std::size_t> by_rest;
  for (ChangeLine& line : lines) {
    const std::size_t at = last_part(line.path);
    const std::size_t open = at == std::string::npos ? std::string::npos : line.path.find('[', at);
    const std::string key =
        open == std::string::npos ? "" : line.path.substr(open + 1, line.path.size() - open - 2);
    if (key.empty() || line.value.empty() || key.find_first_of("./:[,") != std::string::npos) {
      out.push_back(std::move(line));
      continue;
    }
    const auto [group, is_new] =
        by_rest.try_emplace({line.sign, line.path.substr(0, open), line.value, line.origin}, groups.size());
    if (is_new) {
      groups.push_back({out.size(), open, {key}});
      out.push_back(std::move(line));
    } else {
      add_changes(out[groups[group->second].line], line);
      groups[group->second].keys.push_back(key);
    }
  }
  for (Group& group : groups) {
    sort_names(group.keys);
    std::string& path = out[group.line].path;
    path = path.substr(0, group.open + 1) + fold_hostlist(group.keys) + "]";
  }
  return out;
}

std::vector<std::string> parts_of(const std::string& text) {
  constexpr std::string_view between = ", ";
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t at = text.find(between); at != std::string::npos; at = text.find(between, from)) {
    out.push_back(text.substr(from, at - from));
    from = at + between.size();
  }
  out.push_back(text.substr(from));
  return out;
}

std::string in_order(std::vector<std::string> texts, std::string_view between) {
  sort_names(texts);
  return texts.front() == texts.back() ? texts.front() : texts.front() + std::string(between) + texts.back();
}

// Names and the text between them: "interface", "[", "swp1", "]/", "address", ...
std::vector<std::string> split_words(const std::string& text) {
  static constexpr std::string_view kBetween = "[], ";
  const auto is_between = [](char c) { return kBetween.find(c) != std::string_view::npos; };
  std::vector<std::string> out;
  for (const char c : text)
    if (out.empty() || is_between(out.back().back()) != is_between(c))
      out.emplace_back(1, c);
    else
      out.back() += c;
  return out;
}

bool is_name(const std::string& word) {
  return !word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) != 0 && is_digit(word.back()) &&
         word.find_first_of("./:") == std::string::npos;
}

// "10.64.0.0/25", "fd00::1", "1000:0.0.0.0/0": the text before the address is kept.
std::optional<std::size_t> address_in(const std::string& word) {
  const auto is_one = [](std::string_view text) {
    return IpPrefix::parse(text).has_value() || IpAddress::parse(text).has_value();
  };
  if (is_one(word)) return 0;
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos || !is_one(std::string_view(word).substr(colon + 1))) return std::nullopt;
  return is_digit(word[0]) ? 0 : colon + 1;
}

std::string numberless(const std::string& word) {
  if (const auto address = address_in(word))
    return word.substr(0, *address) + (word.find('.') == std::string::npos ? "#ipv6" : "#ipv4");
  if (is_name(word)) return word.substr(0, word.find_last_not_of("0123456789") + 1) + "#";
  if (!is_digit(word[0])) return word;
  return "#" + word.substr(std::min(word.find_first_not_of("0123456789"), word.size()));
}

}  // namespace

std::string without_numbers(const std::string& text) {
  std::string out;
  for (const std::string& word : split_words(text)) out += numberless(word);
  return out;
}

// "a[1.0]" and "a[1.7]": "a[1.0 … 1.7]", word by word; names of ports as a list: "a[swp[1-4]]".
std::string from_least_to_greatest(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> columns(split_words(texts.front()).size());
  for (const std::string& text : texts) {
    const std::vector<std::string> words = split_words(text);
    if (words.size() != columns.size()) return in_order(texts, " … ");
    for (std::size_t i = 0; i < words.size(); ++i) columns[i].push_back(words[i]);
  }
  std::string out;
  for (std::vector<std::string>& column : columns) {
    const bool folds = std::ranges::all_of(column, is_name);
    sort_names(column);
    column.erase(std::unique(column.begin(), column.end()), column.end());
    out += folds ? fold_hostlist(column) : in_order(column, " … ");
  }
  return out;
}

// Each part separately: "asn 1 … 2, router-id 10.0.0.1 … 10.0.0.2".
std::string each_from_least_to_greatest(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> columns(parts_of(texts.front()).size());
  for (const std::string& text : texts) {
    const std::vector<std::string> parts = parts_of(text);
    if (parts.size() != columns.size()) return from_least_to_greatest(texts);
    for (std::size_t i = 0; i < parts.size(); ++i) columns[i].push_back(parts[i]);
  }
  std::string out;
  for (std::vector<std::string>& column : columns)
    out += (out.empty() ? "" : ", ") + from_least_to_greatest(column);
  return out;
}

std::string ChangeLine::entry() const {
  std::string out = path;
  return ports_size == 0 ? out : out.replace(ports_begin, ports_size, "*");
}

std::string origin_text(const PlanOrigin& origin) {
  if (origin.file.empty()) return origin.object.empty() ? "" : origin.object + " " + origin.rule;
  const std::size_t slash = origin.file.rfind('/');
  return fmt::format("{}:{} {}", slash == std::string::npos ? origin.file : origin.file.substr(slash + 1),
                     origin.line, origin.rule);
}

std::vector<ChangeLine> change_lines(const std::vector<FoldedChange>& folded,
                                     const std::vector<PlanOrigin>& origins) {
  std::vector<ChangeLine> lines;
  for (const FoldedChange& change : folded) lines.push_back(line_of(change, origins));
  return with_last_keys(with_fields(std::move(lines)));
}

std::vector<ChangeLine> unfolded_lines(const std::vector<FoldableChange>& changes,
                                       const std::vector<PlanOrigin>& origins) {
  std::vector<ChangeLine> out;
  for (const FoldableChange& change : changes)
    out.push_back(
        line_of({change.path.text(), change.path.row(), change.was, change.want, change.origin, 1}, origins));
  return out;
}

std::string without_numbers(const std::vector<ChangeLine>& lines) {
  std::string out;
  for (const ChangeLine& line : lines)
    out += line.sign + without_numbers(line.path) + "\t" + without_numbers(line.value) + "\t" + line.origin +
           "\n";
  return out;
}

std::optional<std::vector<ChangeLine>> merged(const std::vector<std::vector<ChangeLine>>& devices) {
  std::vector<ChangeLine> out = devices.front();
  for (const std::vector<ChangeLine>& device : devices)
    if (without_numbers(device) != without_numbers(out)) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::vector<std::string> paths;
    std::vector<std::string> values;
    out[i].count = 0;
    out[i].ids.clear();
    for (const std::vector<ChangeLine>& device : devices) {
      paths.push_back(device[i].path);
      values.push_back(device[i].value);
      add_changes(out[i], device[i]);
    }
    out[i].path = from_least_to_greatest(paths);
    out[i].value = each_from_least_to_greatest(values);
  }
  return out;
}

}  // namespace lockstep
