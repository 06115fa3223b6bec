#include "reconciler/agent/dead_man_rollback.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "specs/model/schema_rows.hpp"

namespace lockstep::agent {
namespace {

bool is_rounded(RowId row) {
  const Compare compare = schema_row(row).compare;
  return compare == Compare::quantised || compare == Compare::at_least;
}

bool shows_only_after_restart(RowId row) {
  const Takes takes = schema_row(row).takes;
  return takes == Takes::next_boot || takes == Takes::cold_power;
}

bool is_as(Path path, Value wanted, Value have) {
  return have == wanted || (wanted && have && is_rounded(path.row()) && satisfies(path.row(), wanted, have));
}

bool was_holds(const Change& change, Value have) {
  return is_as(change.path, change.was, have) ||
         (shows_only_after_restart(change.path.row()) && have == change.want);
}

// Of a commit unit: the unit's text and the keys that it shares; else the row's pattern.
std::string group_of(Path path) {
  const Row& row = schema_row(path.row());
  if (row.commit.empty()) return std::string(row.pattern);
  std::string out = "unit " + std::string(row.commit);
  std::size_t key = 0;
  for (std::size_t at = row.commit.find("[*]"); at != row.commit.npos; at = row.commit.find("[*]", at + 1))
    out.append("\n").append(path.key(key++));
  return out;
}

class Rollback {
 public:
  Rollback(Driver& driver, const ChangeSet& undo, const Guard& guard, const Call& call,
           std::set<Path>& doubtful)
      : driver_(driver), undo_(undo), guard_(guard), call_(call), doubtful_(doubtful) {
    for (const Change& one : undo_) chains_[one.path].push_back(&one);
  }

  RolledBack run() {
    const Result<Traits> traits = driver_.traits(call_);
    orders_itself_ = traits && traits->orders_itself;
    const Result<Observation> before = observe(undo_);
    if (!before) return {undo_, before.error().text()};
    const bool pending = std::ranges::any_of(chains_, [&](const auto& one) {
      return is_unread(before->unread, one.first) || is_pending(one.first, before->have.value(one.first));
    });
    if (!pending) return {};
    for (auto at = undo_.begin(); at != undo_.end();) {
      const auto end = end_of_group(at);
      make_group(ChangeSet(at, end));
      at = end;
    }
    return judge(observe(undo_));
  }

 private:
  Result<Observation> observe(const ChangeSet& changes) {
    Scope scope;
    std::set<RowId> rows;
    std::set<Path> paths;
    for (const Change& one : changes) {
      if (rows.insert(one.path.row()).second) scope.rows.push_back(one.path.row());
      if (paths.insert(one.path).second) scope.named.push_back(one.path);
    }
    return driver_.observe(scope, {}, call_);
  }

  Value end_of(Path path) const { return chains_.at(path).back()->want; }
  bool holds_any(Path path, Value have) const {
    return doubtful_.contains(path) ||
           std::ranges::any_of(chains_.at(path), [&](const Change* one) { return was_holds(*one, have); });
  }
  bool is_pending(Path path, Value have) const {
    if (shows_only_after_restart(path.row())) return holds_any(path, have);
    return have != end_of(path) && holds_any(path, have);
  }

  ChangeSet::const_iterator end_of_group(ChangeSet::const_iterator first) const {
    const std::string group = group_of(first->path);
    std::set<Path> paths;
    auto end = first;
    while (end != undo_.end() && (orders_itself_ || group_of(end->path) == group) &&
           paths.insert(end->path).second)
      ++end;
    return end;
  }

  void make_group(const ChangeSet& group) {
    const Result<Observation> now = observe(group);
    ChangeSet due;
    for (const Change& one : group) {
      if (!now)
        failed(one, now.error());
      else if (const Unread* const unread = unread_of(now->unread, one.path))
        failed(one, unread->why);
      else if (doubtful_.contains(one.path) || was_holds(one, now->have.value(one.path)))
        due.push_back(one);
    }
    if (!due.empty()) orders_itself_ ? make_whole(due) : make(due);
  }

  // Where nothing can be made together, what can be made apart is.
  void make_whole(const ChangeSet& changes) {
    const Result<Receipt> receipt = driver_.apply(changes, guard_, call_);
    const auto failed_too = [](const Receipt::Outcome& one) { return one.error.has_value(); };
    const bool is_anything_made = receipt && !std::ranges::all_of(receipt->outcomes, failed_too);
    if (is_anything_made || changes.size() == 1 || call_.must_end(Time::clock::now()))
      return note_failures(changes, receipt);
    std::map<std::string, ChangeSet> groups;
    std::vector<std::string> order;
    for (const Change& one : changes) {
      ChangeSet& group = groups[group_of(one.path)];
      if (group.empty()) order.push_back(group_of(one.path));
      group.push_back(one);
    }
    for (const std::string& one : order) make(groups.at(one));
  }

  void make(const ChangeSet& changes) {
    const Result<Receipt> receipt = driver_.apply(changes, guard_, call_);
    // A host policy, for one, refuses all changes of an apply for one of them.
    const bool separately = !receipt && changes.size() > 1 && !call_.must_end(Time::clock::now()) &&
                            schema_row(changes.front().path.row()).commit.empty();
    if (!separately) return note_failures(changes, receipt);
    for (const Change& one : changes) make({one});
  }

  void note_failures(const ChangeSet& changes, const Result<Receipt>& receipt) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!receipt)
        failed(changes[i], receipt.error());
      else if (i >= receipt->outcomes.size())
        failed(changes[i], Error{ErrorKind::unknown_outcome, "the driver reported nothing about it"});
      else if (receipt->outcomes[i].error)
        failed(changes[i], *receipt->outcomes[i].error);
    }
  }

  void failed(const Change& change, const Error& why) { failures_.try_emplace(change.path, why.text()); }

  RolledBack judge(const Result<Observation>& after) {
    if (!after) return {undo_, after.error().text()};
    RolledBack out;
    for (const auto& [path, chain] : chains_) {
      const auto failure = failures_.find(path);
      std::string why = failure == failures_.end() ? "" : failure->second;
      const Value have = after->have.value(path);
      if (const Unread* const unread = unread_of(after->unread, path)) {
        why = unread->why.text();
      } else if (shows_only_after_restart(path.row())) {
        if (why.empty()) continue;
      } else if (is_as(path, end_of(path), have)) {
        doubtful_.erase(path);
        continue;
      } else if (!holds_any(path, have)) {
        if (why.empty()) continue;  // another writer's
        doubtful_.insert(path);
      }
      if (why.empty()) why = "it is still " + have.to_string();
      if (out.why.empty()) out.why = path.text() + ": " + why;
      for (const Change* const one : chain) out.left.push_back(*one);
    }
    return out;
  }

  Driver& driver_;
  const ChangeSet& undo_;
  const Guard& guard_;
  const Call& call_;
  std::set<Path>& doubtful_;
  bool orders_itself_ = false;
  std::map<Path, std::vector<const Change*>> chains_;
  std::map<Path, std::string> failures_;
};

}  // namespace

ChangeSet all_undone(const ArmedTransaction& armed) {
  ChangeSet out = armed.way_back;
  out.insert(out.end(), armed.undo.begin(), armed.undo.end());
  return out;
}

RolledBack roll_back(Driver& driver, const ChangeSet& undo, const Guard& guard, const Call& call,
                     std::set<Path>& doubtful) {
  return Rollback(driver, undo, guard, call, doubtful).run();
}

}  // namespace lockstep::agent
