#include "reconciler/engine/columns.hpp"

#include <charconv>
#include <string>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::size_t count_keys(std::string_view pattern) {
  std::size_t keys = 0;
  for (const char c : pattern) keys += c == '*';
  return keys;
}

// Keys in the segments that both patterns begin with.
std::size_t shared_keys(std::string_view a, std::string_view b) {
  std::size_t keys = 0;
  while (!a.empty() && !b.empty()) {
    const std::string_view first = a.substr(0, a.find('/'));
    if (first != b.substr(0, b.find('/'))) break;
    keys += count_keys(first);
    a.remove_prefix(std::min(a.size(), first.size() + 1));
    b.remove_prefix(std::min(b.size(), first.size() + 1));
  }
  return keys;
}

Value parse_guard(EntryType type, std::string_view text) {
  if (type == EntryType::boolean) return Value::boolean(text == "true");
  if (type == EntryType::integer) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return Value::integer(number);
  }
  if (type == EntryType::present) return Value::present();
  return Value::text(text);
}

std::optional<RowId> find_row(const Row& (*row)(RowId), std::string_view pattern) {
  for (std::size_t i = 0; i < kSchema.size(); ++i)
    if (row(static_cast<RowId>(i)).pattern == pattern) return static_cast<RowId>(i);
  return std::nullopt;
}

}  // namespace

std::string_view to_string(LinkMatter matter) {
  switch (matter) {
    case LinkMatter::none: break;
    case LinkMatter::mtu: return "the MTU";
    case LinkMatter::lossless: return "lossless priorities and classes";
    case LinkMatter::fec: return "FEC";
    case LinkMatter::speed: return "the speed";
  }
  return "nothing";
}

Columns::Columns(const Row& (*rows)(RowId)) : row_(rows) {
  for (std::size_t i = 0; i < kSchema.size(); ++i) {
    const Row& one = rows(static_cast<RowId>(i));
    if (one.collection && one.facet == Facet::config && one.disruption >= Disruption::traffic)
      traffic_collections_.push_back(static_cast<RowId>(i));
    auto& reference = refers_to_.emplace_back();
    auto& guard = guards_.emplace_back();
    commit_keys_.push_back(count_keys(one.commit));
    if (!one.refers_to.empty())
      if (const auto target = find_row(rows, one.refers_to))
        reference = Reference{*target, shared_keys(one.pattern, one.refers_to)};
    if (const std::size_t equals = one.guard.find('='); equals != std::string_view::npos) {
      const std::string_view pattern = one.guard.substr(0, equals);
      if (const auto target = find_row(rows, pattern))
        guard = GuardColumn{*target, shared_keys(one.pattern, pattern),
                            parse_guard(rows(*target).type, one.guard.substr(equals + 1))};
    }
  }
  priority_rows_ = {.pfc = find_row(rows, "interface[*]/pfc"),
                    .class_itself = find_row(rows, "interface[*]/class[*]"),
                    .class_dscp = find_row(rows, "interface[*]/class[*]/dscp"),
                    .class_priority = find_row(rows, "interface[*]/class[*]/priority"),
                    .class_share = find_row(rows, "interface[*]/class[*]/share"),
                    .buffer_size = find_row(rows, "interface[*]/buffer[*]/size"),
                    .buffer_xoff = find_row(rows, "interface[*]/buffer[*]/xoff")};
  mtu_rows_ = {.port = find_row(rows, "interface[*]/mtu"),
               .lock = find_row(rows, "route-mtu[*]"),
               .address = find_row(rows, "interface[*]/address[*]"),
               .admin = find_row(rows, "interface[*]/admin"),
               .route = find_row(rows, "route[*]"),
               .rule = find_row(rows, "rule[*]")};
  saved_by_.resize(kSchema.size());
  for (std::size_t saver = 0; saver < kSchema.size(); ++saver) {
    const Row& one = rows(static_cast<RowId>(saver));
    for (std::size_t i = 0; !one.saves.empty() && i < kSchema.size(); ++i) {
      const Row& saved = rows(static_cast<RowId>(i));
      if (saved.is_saved_by(one.saves) && is_written(static_cast<RowId>(i)))
        saved_by_[i].push_back({static_cast<RowId>(saver), shared_keys(saved.pattern, one.pattern)});
    }
  }
}

bool Columns::is_written(RowId id) const {
  const Row& one = row_(id);
  return one.facet == Facet::config && one.takes != Takes::read_only;
}

bool Columns::is_part_of(Path part, Path whole) const {
  return row_(part.row()).is_part_of(row_(whole.row()).pattern) && same_keys(part, whole, whole.key_count());
}

const Columns& schema_columns() {
  static const Columns columns([](RowId id) -> const Row& { return schema_row(id); });
  return columns;
}

bool same_keys(Path a, Path b, std::size_t count) {
  if (a.key_count() < count || b.key_count() < count) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (a.key_id(i) != b.key_id(i)) return false;
  return true;
}

Path with_keys_of(RowId row, Path path, std::size_t count) {
  if (count >= 3) return Path(row, {path.key(0), path.key(1), path.key(2)});
  if (count == 2) return Path(row, {path.key(0), path.key(1)});
  if (count == 1) return Path(row, {path.key(0)});
  return Path(row, {});
}

}  // namespace lockstep
