#include "specs/model/diff.hpp"

#include <algorithm>
#include <unordered_map>

#include "specs/model/schema_rows.hpp"
#include "specs/model/version.hpp"

namespace lockstep {
namespace {

// Whether a path of the claim's row is a member that the claim owns.
bool covers(const Claim& claim, Path path) {
  if (!has_leading_keys(path, claim.keys)) return false;
  if (!claim.within) return true;
  const auto member = IpPrefix::parse(path.key(path.key_count() - 1));
  return member && claim.within->contains(member->address);
}

// Claims by row, so that a large tree is traversed once.
class Claims {
 public:
  explicit Claims(const std::vector<Claim>& claims) {
    for (const Claim& claim : claims) by_row_[claim.collection].push_back(&claim);
  }
  const Claim* of(Path path) const {
    const auto found = by_row_.find(path.row());
    if (found == by_row_.end()) return nullptr;
    for (const Claim* claim : found->second)
      if (covers(*claim, path)) return claim;
    return nullptr;
  }

 private:
  std::unordered_map<RowId, std::vector<const Claim*>> by_row_;
};

void compare_wanted(const Entry& want, Value have, const Observation& observation, Difference& out) {
  if (want.value == have || satisfies(want.path.row(), want.value, have)) return;  // nearly all are equal
  if (!observation.unread.empty() && is_unread(observation.unread, want.path)) {
    out.unobserved.push_back(want);
    return;
  }
  auto& list = schema_row(want.path.row()).facet == Facet::effect ? out.effects : out.changes;
  list.push_back({want.path, have, want.value, want.origin});
}

// An entry for several components is a list if their versions differ: each must meet the constraint.
bool versions_meet(Value have, Value constraint) {
  if (have.kind() == Value::Kind::text) return version_meets(have.as_text(), constraint.as_text());
  if (have.kind() != Value::Kind::list) return false;
  const std::vector<std::string_view> all = have.as_list();
  return std::all_of(all.begin(), all.end(),
                     [&](std::string_view one) { return version_meets(one, constraint.as_text()); });
}

// Both are built by Value::set, sorted.
bool is_within(Value have, Value want) {
  if (have.kind() != Value::Kind::list || want.kind() != Value::Kind::list) return false;
  return std::ranges::includes(want.as_list(), have.as_list());
}

template <class Scope>
const Scope* first_of(const std::vector<Scope>& scopes, Path path) {
  for (const Scope& one : scopes)
    if (one.row == path.row() && has_leading_keys(path, one.keys)) return &one;
  return nullptr;
}

// Calls `visit(a's, b's)` for each path in either tree, in order; null: the tree lacks it.
template <class Visit>
void side_by_side(const Tree& a, const Tree& b, const Visit& visit) {
  const std::span<const Entry> left = a.entries();
  const std::span<const Entry> right = b.entries();
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.size() || r < right.size()) {
    const auto order = l == left.size()    ? std::strong_ordering::greater
                       : r == right.size() ? std::strong_ordering::less
                                           : left[l].path <=> right[r].path;
    visit(order <= 0 ? &left[l] : nullptr, order >= 0 ? &right[r] : nullptr);
    l += order <= 0 ? 1 : 0;
    r += order >= 0 ? 1 : 0;
  }
}

}  // namespace

bool satisfies(RowId row, Value want, Value have) {
  if (want == have) return true;
  // An unresolved reference is pending, not drift.
  if (want.kind() == Value::Kind::reference) return true;
  const Compare compare = schema_row(row).compare;
  if (compare == Compare::within) return is_within(have, want);
  if (compare == Compare::noted) return have.kind() == Value::Kind::list;
  if (compare == Compare::version) return want.kind() == Value::Kind::text && versions_meet(have, want);
  if (want.kind() != Value::Kind::integer || have.kind() != Value::Kind::integer) return false;
  if (compare != Compare::at_least && compare != Compare::quantised) return false;
  if (have.as_integer() < want.as_integer()) return false;
  // The distance of two numbers of different sign can exceed a signed integer.
  const auto above =
      static_cast<std::uint64_t>(have.as_integer()) - static_cast<std::uint64_t>(want.as_integer());
  return compare == Compare::at_least || above < static_cast<std::uint64_t>(kQuantum);
}

std::vector<std::string> beyond(Value want, Value have) {
  std::vector<std::string> out;
  if (have.kind() != Value::Kind::list) return out;
  const auto wanted = want.kind() == Value::Kind::list ? want.as_list() : std::vector<std::string_view>();
  for (const std::string_view one : have.as_list())
    if (!std::ranges::binary_search(wanted, one)) out.emplace_back(one);
  return out;
}

bool has_leading_keys(Path path, const std::vector<std::string>& keys) {
  if (keys.size() > path.key_count()) return false;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (path.key(i) != keys[i]) return false;
  return true;
}

const Claim* claim_of(const Intent& intent, Path path) {
  for (const Claim& claim : intent.claims)
    if (claim.collection == path.row() && covers(claim, path)) return &claim;
  return nullptr;
}

const Unread* unread_of(const std::vector<Unread>& unread, Path path) { return first_of(unread, path); }

bool is_unread(const std::vector<Unread>& unread, Path path) { return unread_of(unread, path) != nullptr; }

const Incapable* incapable_of(const std::vector<Incapable>& incapable, Path path) {
  return first_of(incapable, path);
}

Difference diff(const Intent& intent, const Observation& observation) {
  Difference out;
  const Claims claims(intent.claims);
  side_by_side(intent.want, observation.have, [&](const Entry* want, const Entry* have) {
    if (want != nullptr)
      return compare_wanted(*want, have == nullptr ? Value{} : have->value, observation, out);
    const Entry& extra = *have;
    const Claim* const claim = claims.of(extra.path);
    if (claim != nullptr && !is_unread(observation.unread, extra.path))
      out.changes.push_back({extra.path, extra.value, Value{}, claim->origin});
  });
  return out;
}

ChangeSet changes_between(const Tree& was, const Tree& want) {
  ChangeSet out;
  side_by_side(was, want, [&out](const Entry* before, const Entry* after) {
    if (after == nullptr)
      out.push_back({before->path, before->value, Value{}, before->origin});
    else if (before == nullptr || before->value != after->value)
      out.push_back({after->path, before == nullptr ? Value{} : before->value, after->value, after->origin});
  });
  return out;
}

}  // namespace lockstep
