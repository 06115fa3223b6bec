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

// Changes that are equal in everything but the port share a line.
struct LineKey {
  RowId row;
  std::string other;
  std::uint32_t origin;
  std::string was;
  std::string want;
  auto operator<=>(const LineKey&) const = default;
};

// The position of a port's name in an entry's text: the first key, or for a kernel parameter of a port a part
// of it (net.ipv4.conf.rail0.rp_filter). Addresses and prefixes are not folded, which would only make them
// unreadable.
struct PortSpan {
  std::size_t begin = 0;
  std::size_t size = 0;  // 0: none
};

PortSpan port_in(const Path& path, const std::string& text) {
  if (path.key_count() == 0) return {};
  const std::string_view key = path.key(0);
  const std::size_t open = text.find('[') + 1;
  if (key.find_first_of("./:") == std::string_view::npos) return {open, key.size()};
  for (const std::string_view prefix : {"net.ipv4.conf.", "net.ipv6.conf."}) {
    if (!key.starts_with(prefix)) continue;
    const std::size_t end = key.rfind('.');
    const std::string_view name = key.substr(prefix.size(), end - prefix.size());
    if (end > prefix.size() && name != "all" && name != "default") return {open + prefix.size(), name.size()};
  }
  return {};
}

// Whether the first key is a port's name, and not a profile's or similar.
bool is_by_port(const Path& path) {
  const Row& row = schema_row(path.row());
  return row.is_of_port() || row.is_of_bond() || row.tells == Tells::session ||
         row.refers_to == "bgp/neighbor[*]" || row.pattern == "bgp/neighbor[*]" || row.pattern == "sysctl[*]";
}

}  // namespace

std::vector<FoldedChange> fold_changes(const std::vector<FoldableChange>& changes) {
  struct Group {
    const FoldableChange* first;
    std::string text;
    PortSpan port;
    std::vector<std::string> ports;
    std::vector<std::size_t> ids;
  };
  std::vector<Group> groups;
  std::map<LineKey, std::size_t> by_key;
  for (const FoldableChange& change : changes) {
    const std::string text = change.path.text();
    const PortSpan port = port_in(change.path, text);
    const std::string name = text.substr(port.begin, port.size);
    LineKey key{change.path.row(), text.substr(0, port.begin) + "*" + text.substr(port.begin + port.size),
                change.origin, change.was.to_string(), change.want.to_string()};
    const auto [at, is_new] = by_key.try_emplace(std::move(key), groups.size());
    if (is_new || port.size == 0) groups.push_back({&change, text, port, {name}, {change.id}});
    if (!is_new && port.size != 0) {
      groups[at->second].ports.push_back(name);
      groups[at->second].ids.push_back(change.id);
    }
  }
  std::vector<FoldedChange> lines;
  for (Group& group : groups) {
    sort_names(group.ports);
    FoldedChange line{group.text,        group.first->path.row(), group.first->was,
                      group.first->want, group.first->origin,     group.ports.size()};
    line.ids = std::move(group.ids);
    if (group.port.size != 0) {
      const std::string ports = fold_hostlist(group.ports);
      line.path.replace(group.port.begin, group.port.size, ports);
      if (is_by_port(group.first->path)) {
        line.ports = std::move(group.ports);
        line.ports_begin = group.port.begin;
        line.ports_size = ports.size();
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

namespace {

// "0-25, 27-47" for a list of numbers in any order; empty if it is not one. DSCPs come by the dozen.
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

// "19.456KB", exactly: sizes of one plan are compared with each other, so that all have one unit.
std::string kilobytes(std::uint64_t bytes) {
  constexpr std::uint64_t kKilo = 1000;
  std::string out = std::to_string(bytes / kKilo);
  if (std::string rest = std::to_string(kKilo + bytes % kKilo); bytes % kKilo > 0)
    out += "." + rest.substr(1, rest.find_last_not_of('0'));
  return out + "KB";
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
  if (unit == "B" && number >= 10'000) return kilobytes(number);
  constexpr std::uint64_t kOfPermille = 1000;  // parts per million
  if (unit == "‰" && number <= kOfPermille)
    return format(Ratio{static_cast<std::uint32_t>(number * kOfPermille)});
  return unit.empty() || unit == "B" ? value.to_string()
                                     : value.to_string() + (unit == "%" ? "" : " ") + std::string(unit);
}

}  // namespace lockstep
