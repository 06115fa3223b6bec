#include "reconciler/report/folded_changes.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "specs/language/hostlist.hpp"
#include "specs/language/quantity.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// What makes two changes one line: all but the first key.
struct LineKey {
  RowId row;
  std::string other_keys;
  std::uint32_t origin;
  std::string was;
  std::string want;
  auto operator<=>(const LineKey&) const = default;
};

LineKey key_of(const FoldableChange& change) {
  LineKey key{change.path.row(), "", change.origin, change.was.to_string(), change.want.to_string()};
  for (std::size_t i = 1; i < change.path.key_count(); ++i) {
    key.other_keys += change.path.key(i);
    key.other_keys += '\n';
  }
  return key;
}

std::string folded_path(Path path, const std::vector<std::string>& first_keys) {
  if (first_keys.size() == 1) return path.text();
  const std::string text = path.text();
  const std::size_t open = text.find('[');
  const std::string first(path.key(0));
  return text.substr(0, open + 1) + fold_hostlist(first_keys) + text.substr(open + 1 + first.size());
}

// Keys that are names of ports fold; addresses and prefixes would only be torn apart.
bool folds(const FoldableChange& change) {
  return change.path.key_count() > 0 && change.path.key(0).find_first_of("./:") == std::string_view::npos;
}

}  // namespace

std::vector<FoldedChange> fold_changes(const std::vector<FoldableChange>& changes) {
  struct Group {
    const FoldableChange* first;
    std::vector<std::string> keys;
  };
  std::vector<Group> groups;
  std::map<LineKey, std::size_t> by_key;
  for (const FoldableChange& change : changes) {
    if (!folds(change)) {
      groups.push_back({&change, {""}});
      continue;
    }
    const auto [at, is_new] = by_key.try_emplace(key_of(change), groups.size());
    if (is_new) groups.push_back({&change, {}});
    groups[at->second].keys.emplace_back(change.path.key(0));
  }
  std::vector<FoldedChange> lines;
  for (const Group& group : groups)
    lines.push_back({folded_path(group.first->path, group.keys), group.first->path.row(), group.first->was,
                     group.first->want, group.first->origin, group.keys.size()});
  return lines;
}

namespace {

// "0-25, 27-47" of a list of numbers, whatever its order; empty when it is none. DSCPs come by the dozen.
std::string ranges_of(const std::vector<std::string_view>& elements) {
  std::vector<unsigned> numbers;
  for (const std::string_view element : elements) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(element.data(), element.data() + element.size(), number);
    if (error != std::errc{} || end != element.data() + element.size()) return "";
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) out += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace

std::string value_text(RowId row, Value value) {
  if (value.kind() == Value::Kind::list)
    if (std::string ranges = ranges_of(value.as_list()); !ranges.empty()) return ranges;
  if (value.kind() != Value::Kind::integer || value.as_integer() < 0) return value.to_string();
  const std::string_view unit = schema_row(row).unit;
  const auto number = static_cast<std::uint64_t>(value.as_integer());
  if (unit == "bit/s") return format(BitRate{number});
  constexpr std::uint64_t kMega = 1'000'000;
  if (unit == "Mbit/s" && number <= std::numeric_limits<std::uint64_t>::max() / kMega)
    return format(BitRate{number * kMega});
  if (unit == "B" && number >= 10'000) return format(ByteCount{number});
  constexpr std::uint64_t kOfPermille = 1000;  // parts per million
  if (unit == "‰" && number <= kOfPermille)
    return format(Ratio{static_cast<std::uint32_t>(number * kOfPermille)});
  return unit.empty() || unit == "B" ? value.to_string()
                                     : value.to_string() + (unit == "%" ? "" : " ") + std::string(unit);
}

}  // namespace lockstep
