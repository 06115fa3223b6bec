#include "specs/model/path.hpp"

#include <array>
#include <mutex>
#include <vector>

#include "specs/model/append_only.hpp"
#include "specs/model/id_table.hpp"
#include "specs/model/near_miss.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kNoRow = 0xFFFF;
// Longer than nearly all paths: one allocation per text.
constexpr std::size_t kTextTypical = 63;

struct Interned {
  RowId row = kNoRow;
  std::uint16_t key_count = 0;
  std::array<TextId, Path::kKeysMax> keys{};
  bool operator==(const Interned&) const = default;
};

std::uint64_t hash_of(const Interned& entry) {
  // Mixes the words with the finaliser of splitmix64 (Steele, Lea, Flood 2014), whose upper and lower halves
  // are both well distributed.
  std::uint64_t hash = entry.row;
  for (const TextId key : entry.keys) {
    hash = (hash ^ key) + 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
    hash ^= hash >> 31;
  }
  return hash;
}

// Constant-initialised, so that reading needs no guard. Element 0 is the path without a row.
constinit AppendOnly<Interned> entries;

class PathPool {
 public:
  PathPool() { entries.push_back(Interned{}); }

  std::uint32_t intern(const Interned& entry) {
    return ids_.find_or_add(
        hash_of(entry), [&entry](std::uint32_t id) { return entries[id] == entry; },
        [this, &entry] {
          const std::scoped_lock lock(mutex_);
          return entries.push_back(entry);
        });
  }

 private:
  IdTable ids_;
  std::mutex mutex_;  // protects `entries`
};

PathPool& pool() {
  static PathPool the_pool;
  return the_pool;
}

constexpr Interned kNoEntry{};
const Interned& entry_of(std::uint32_t id) { return id == 0 ? kNoEntry : entries[id]; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Splits "a[x]/b[y]" into the pattern "a[*]/b[*]" and its keys. False when brackets do not match.
bool split(std::string_view text, std::string& pattern, std::array<TextId, Path::kKeysMax>& keys,
           std::uint16_t& count) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == ']') return false;
    pattern += text[i];
    if (text[i++] != '[') continue;
    int depth = 1;  // a key may contain matching brackets
    const std::size_t start = i;
    while (i < text.size() && depth > 0) {
      if (text[i] == '[') ++depth;
      if (text[i] == ']') --depth;
      ++i;
    }
    if (depth != 0 || count == Path::kKeysMax || i - 1 == start) return false;
    keys[count++] = intern(text.substr(start, i - 1 - start));
    pattern += "*]";
  }
  return true;
}

}  // namespace

std::strong_ordering compare_natural(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      std::size_t end_a = i;
      std::size_t end_b = j;
      while (end_a < a.size() && is_digit(a[end_a])) ++end_a;
      while (end_b < b.size() && is_digit(b[end_b])) ++end_b;
      if (end_a - i != end_b - j) return (end_a - i) <=> (end_b - j);
      if (const auto order = a.substr(i, end_a - i) <=> b.substr(j, end_b - j); order != 0) return order;
      i = end_a;
      j = end_b;
      continue;
    }
    if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) <=> static_cast<unsigned char>(b[j]);
    ++i;
    ++j;
  }
  if (const auto order = (a.size() - i) <=> (b.size() - j); order != 0) return order;
  return a <=> b;
}

Path::Path(RowId row, std::initializer_list<std::string_view> keys) {
  Interned entry{.row = row, .key_count = 0, .keys = {}};
  for (const std::string_view key : keys) {
    if (entry.key_count == kKeysMax) break;
    entry.keys[entry.key_count++] = intern(key);
  }
  id_ = pool().intern(entry);
}

Result<Path> Path::parse(std::string_view text) {
  Interned entry;
  std::string pattern;
  if (!split(text, pattern, entry.keys, entry.key_count))
    return Error{ErrorKind::invalid_spec,
                 "'" + std::string(text) + "' is not a path: brackets do not match or are empty"};
  std::vector<std::string_view> patterns;
  for (std::size_t i = 0; i < kSchema.size(); ++i) {
    if (kSchema[i].pattern == pattern) {
      entry.row = static_cast<RowId>(i);
      Path path;
      path.id_ = pool().intern(entry);
      return path;
    }
    patterns.push_back(kSchema[i].pattern);
  }
  std::string what = "no entry is called '" + pattern + "'";
  if (const std::string_view near = nearest(pattern, patterns); !near.empty())
    what += "; did you mean '" + std::string(near) + "'?";
  return Error{ErrorKind::invalid_spec, std::move(what)};
}

RowId Path::row() const { return entry_of(id_).row; }
std::size_t Path::key_count() const { return entry_of(id_).key_count; }
TextId Path::key_id(std::size_t index) const { return entry_of(id_).keys[index]; }
std::string_view Path::key(std::size_t index) const { return interned_text(key_id(index)); }

std::string Path::text() const {
  const Interned& entry = entry_of(id_);
  if (entry.row == kNoRow) return "(no entry)";
  std::string_view rest = kSchema[entry.row].pattern;
  std::string out;
  out.reserve(kTextTypical);
  for (std::size_t key = 0; key < entry.key_count; ++key) {
    const std::size_t star = rest.find("[*]");
    if (star == std::string_view::npos) break;
    out += rest.substr(0, star + 1);
    out += interned_text(entry.keys[key]);
    rest.remove_prefix(star + 2);
  }
  out += rest;
  return out;
}

std::strong_ordering Path::operator<=>(const Path& other) const {
  if (id_ == other.id_) return std::strong_ordering::equal;
  const Interned& a = entry_of(id_);
  const Interned& b = entry_of(other.id_);
  if (a.row != b.row) return a.row <=> b.row;
  for (std::size_t i = 0; i < kKeysMax; ++i) {
    if (a.keys[i] == b.keys[i]) continue;
    return compare_natural(interned_text(a.keys[i]), interned_text(b.keys[i]));
  }
  return a.key_count <=> b.key_count;
}

}  // namespace lockstep
