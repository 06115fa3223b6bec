#include "reconciler/engine/atoms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "reconciler/engine/ladders.hpp"
#include "reconciler/engine/replacements.hpp"

namespace lockstep {
namespace {

// The longest chain of references that is followed; the schema's longest is 6.
constexpr int kChainMax = 16;

constexpr std::string_view kBeside =
    "adds what takes the place of something lossless beside it: a port that has no room for both refuses "
    "this, and loses nothing";
constexpr std::string_view kGoes =
    "removes what was lossless: queue pairs that are open keep the ToS that they have, and what they still "
    "send with the old one may be dropped";

std::string in_one_write(const std::string& why) {
  return fmt::format(
      "replaces what is lossless in one write{}{}: RoCE packets that are sent meanwhile may be "
      "dropped. Drain the port first, and change both ends of its cable together",
      why.empty() ? "" : ", as ", why);
}

bool is_removal(const AtomChange& change) { return !change.want; }

// The changes of a device, indexed by row.
class Index {
 public:
  explicit Index(const std::vector<AtomChange>& changes) {
    for (std::uint32_t i = 0; i < changes.size(); ++i) by_row_[changes[i].path.row()].push_back(i);
  }
  const std::vector<std::uint32_t>* of(RowId row) const {
    const auto found = by_row_.find(row);
    return found == by_row_.end() ? nullptr : &found->second;
  }

 private:
  std::map<RowId, std::vector<std::uint32_t>> by_row_;
};

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// The order between a change and one of the row that it refers to. False: there is none.
bool relate(const std::vector<AtomChange>& changes, std::uint32_t one, std::uint32_t target, Edges& out) {
  if (one == target) return false;
  if (is_removal(changes[target])) {
    out.emplace_back(one, target);
    return true;
  }
  if (is_removal(changes[one])) return false;
  out.emplace_back(target, one);
  return true;
}

// Follows the chain of references to the nearest row that changes too.
void reference_edges(const std::vector<AtomChange>& changes, const Columns& columns, Edges& out) {
  const Index index(changes);
  for (std::uint32_t i = 0; i < changes.size(); ++i) {
    RowId row = changes[i].path.row();
    std::size_t shared = Path::kKeysMax;
    for (int depth = 0; depth < kChainMax; ++depth) {
      const auto& reference = columns.refers_to(row);
      if (!reference) break;
      row = reference->row;
      shared = std::min(shared, reference->shared);
      const auto* const targets = index.of(row);
      bool found = false;
      if (targets != nullptr)
        for (const std::uint32_t target : *targets)
          if (same_keys(changes[i].path, changes[target].path, shared))
            found = relate(changes, i, target, out) || found;
      if (found) break;
    }
  }
}

// How far an entry is from `root` along its references; 0: it is root; none: it does not depend on it.
std::optional<int> distance(Path entry, Path root, const Columns& columns) {
  RowId row = entry.row();
  std::size_t shared = Path::kKeysMax;
  for (int depth = 0; depth < kChainMax; ++depth) {
    if (row == root.row() && same_keys(entry, root, std::min(shared, root.key_count()))) return depth;
    const auto& reference = columns.refers_to(row);
    if (!reference) return std::nullopt;
    row = reference->row;
    shared = std::min(shared, reference->shared);
  }
  return std::nullopt;
}

// Builds the atoms of one device, in this order: rows that must be saved after the changes; recreations (they
// absorb changes), guards, commit units.
class Builder {
 public:
  Builder(const DeviceInput& device, const Columns& columns) : device_(device), columns_(columns) {
    for (const Change& change : device.changes)
      pending_.push_back({change.path, change.was, change.want, change.origin, false});
    spell_out_parts();
  }

  DeviceAtoms build() {
    Replacements replaced = cut_replacements(device_.observation, std::move(pending_), columns_);
    pending_ = std::move(replaced.changes);
    for (const Path path : replaced.read) note_read(path);
    Edges edges = std::move(replaced.order);
    add_saves(edges);
    reference_edges(pending_, columns_, edges);
    const PortOrder ports = order_at_ports(device_.observation, pending_, columns_);
    owner_.assign(pending_.size(), kNobody);
    for (std::uint32_t i = 0; i < pending_.size(); ++i)
      if (owner_[i] == kNobody && columns_.row(pending_[i].path.row()).takes == Takes::recreate &&
          pending_[i].was && pending_[i].want)
        recreate(i);
    for (std::uint32_t i = 0; i < pending_.size(); ++i)
      if (owner_[i] == kNobody && needs_guard(pending_[i])) bracket(i);
    for (std::uint32_t i = 0; i < pending_.size(); ++i)
      if (owner_[i] == kNobody) join_unit(i);
    Edges inside = edges;
    for (const LadderEdge& one : ports.edges) inside.emplace_back(one.first, one.second);
    finish_units(inside);
    atom_edges(edges);
    ladder_edges(ports.edges);
    note_replacements(ports.replacements, replaced.in_one_write);
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNobody = 0xFFFF'FFFF;

  // Removing an entry removes its parts: they are added to the plan, so that it shows everything and a
  // rollback restores everything.
  void spell_out_parts() {
    if (device_.observation == nullptr) return;
    std::set<Path> known;
    for (const AtomChange& change : pending_) known.insert(change.path);
    const std::size_t given = pending_.size();
    for (std::size_t i = 0; i < given; ++i) {
      const AtomChange whole = pending_[i];
      if (!is_removal(whole) || columns_.row(whole.path.row()).type != EntryType::present) continue;
      for (const Entry& have : device_.observation->have.entries()) {
        if (!columns_.is_part_of(have.path, whole.path) || !columns_.is_written(have.path.row())) continue;
        if (carrier(have.path.row()) != carrier(whole.path.row()) || !known.insert(have.path).second)
          continue;
        pending_.push_back({have.path, have.value, Value{}, whole.origin, false});
        note_read(have.path);
      }
    }
  }

  bool can_tell(Path path) const {
    return device_.observation != nullptr && !is_unread(device_.observation->unread, path) &&
           incapable_of(device_.observation->incapable, path) == nullptr;
  }

  // The row that makes changes persistent comes after the last of them. It may exist now but will not after
  // the changes, so the plan always writes it.
  void add_saves(Edges& edges) {
    const std::size_t given = pending_.size();
    for (std::uint32_t i = 0; i < given; ++i)
      for (const Columns::Reference& saver : columns_.saved_by(pending_[i].path.row()))
        add_save(i, saver, edges);
  }

  void add_save(std::uint32_t changed, const Columns::Reference& saver, Edges& edges) {
    if (carrier(saver.row) != carrier(pending_[changed].path.row())) return;
    const Path path = with_keys_of(saver.row, pending_[changed].path, saver.shared);
    auto at = std::find_if(pending_.begin(), pending_.end(),
                           [path](const AtomChange& one) { return one.path == path; });
    if (at == pending_.end()) {
      const Entry* const want = device_.intent != nullptr ? device_.intent->want.find(path) : nullptr;
      if (want == nullptr || !can_tell(path)) return;
      at = pending_.insert(at, {path, Value{}, want->value, want->origin, false});
      note_read(path);
    }
    edges.emplace_back(changed, static_cast<std::uint32_t>(at - pending_.begin()));
  }

  std::string carrier(RowId row) const { return device_.carrier ? device_.carrier(row) : std::string(); }
  Value seen(Path path) const {
    return device_.observation != nullptr ? device_.observation->have.value(path) : Value{};
  }
  void note_read(Path path) { out_.read.emplace_back(path, seen(path)); }

  std::uint32_t new_atom(const std::string& driver) {
    out_.atoms.push_back({});
    out_.atoms.back().driver = driver;
    return static_cast<std::uint32_t>(out_.atoms.size() - 1);
  }
  void add(std::uint32_t atom, const AtomChange& change) {
    Atom& to = out_.atoms[atom];
    to.changes.push_back(change);
    to.disruption = std::max(to.disruption, columns_.row(change.path.row()).disruption);
    if (change.half != Half::none) to.half = change.half;
  }

  // The final value of an entry: that of the pending change, else the current one.
  Value final_value(Path path, Value now) const {
    for (auto change = pending_.rbegin(); change != pending_.rend(); ++change)
      if (change->path == path) return change->want;
    return now;
  }
  void absorb(Path path, std::uint32_t atom) {
    for (std::uint32_t i = 0; i < pending_.size(); ++i)
      if (pending_[i].path == path) owner_[i] = atom;
  }
  OriginId origin_of(Path path) const {
    for (const AtomChange& change : pending_)
      if (change.path == path) return change.origin;
    const Entry* const wanted = device_.intent != nullptr ? device_.intent->want.find(path) : nullptr;
    return wanted != nullptr ? wanted->origin : 0;
  }

  // Takes::recreate: removes the object that the entry is a part of, with everything that depends on it, and
  // creates it again.
  void recreate(std::uint32_t at) {
    const Path entry = pending_[at].path;
    const auto& reference = columns_.refers_to(entry.row());
    const Path root = reference ? with_keys_of(reference->row, entry, reference->shared) : entry;
    const std::string driver = carrier(entry.row());
    struct Part {
      int depth;
      Path path;
      Value now;
    };
    std::vector<Part> parts;
    if (device_.observation != nullptr)
      for (const Entry& have : device_.observation->have.entries())
        if (columns_.is_written(have.path.row()) && carrier(have.path.row()) == driver)
          if (const auto depth = distance(have.path, root, columns_))
            parts.push_back({*depth, have.path, have.value});
    // Additions below the object come after it was created again.
    for (const AtomChange& change : pending_)
      if (!change.was && change.want && carrier(change.path.row()) == driver)
        if (const auto depth = distance(change.path, root, columns_))
          parts.push_back({*depth, change.path, Value{}});
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.depth < b.depth; });
    const std::uint32_t atom = new_atom(driver);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (!part->now) continue;
      note_read(part->path);
      const bool comes_back = static_cast<bool>(final_value(part->path, part->now));
      add(atom, {part->path, part->now, Value{}, origin_of(part->path), comes_back});
    }
    for (const Part& part : parts) {
      const Value end = final_value(part.path, part.now);
      if (end) add(atom, {part.path, Value{}, end, origin_of(part.path), end == part.now});
      absorb(part.path, atom);
    }
    owner_[at] = atom;
    out_.atoms[atom].notes.push_back(root.text() +
                                     " is deleted and created again, with all that depends on it");
  }

  bool needs_guard(const AtomChange& change) const {
    const RowId row = change.path.row();
    return columns_.row(row).takes == Takes::under_guard && columns_.guard(row).has_value();
  }

  // Takes::under_guard: sets the guard, makes all changes that need it, and restores the guard's entry.
  void bracket(std::uint32_t at) {
    const auto& guard = *columns_.guard(pending_[at].path.row());
    const Path path = with_keys_of(guard.row, pending_[at].path, guard.shared);
    const std::string driver = carrier(pending_[at].path.row());
    const Value now = seen(path);
    const Value end = final_value(path, now);
    note_read(path);
    const std::uint32_t atom = new_atom(driver);
    if (now != guard.value) add(atom, {path, now, guard.value, origin_of(path), true});
    for (std::uint32_t i = at; i < pending_.size(); ++i) {
      if (owner_[i] != kNobody || !needs_guard(pending_[i]) || carrier(pending_[i].path.row()) != driver)
        continue;
      const auto& other = *columns_.guard(pending_[i].path.row());
      if (other.value != guard.value || with_keys_of(other.row, pending_[i].path, other.shared) != path)
        continue;
      add(atom, pending_[i]);
      owner_[i] = atom;
    }
    if (end != guard.value) add(atom, {path, guard.value, end, origin_of(path), end == now});
    absorb(path, atom);
  }

  // Adds a change to the atom of its commit unit, or creates one for it.
  void join_unit(std::uint32_t at) {
    const RowId row = pending_[at].path.row();
    const Row& columns = columns_.row(row);
    const std::string driver = carrier(row);
    if (columns.commit.empty()) {
      owner_[at] = new_atom(driver);
      out_.atoms[owner_[at]].apart = columns.saves_once_kept;
      add(owner_[at], pending_[at]);
      return;
    }
    std::string unit = std::string(columns.commit) + '\n' + driver;
    for (std::size_t key = 0; key < columns_.commit_keys(row); ++key)
      unit += '\n' + std::string(pending_[at].path.key(key));
    if (pending_[at].half == Half::removes) unit += "\n-";
    const auto [found, is_new] = units_.try_emplace(unit, 0);
    if (is_new) found->second = new_atom(driver);
    owner_[at] = found->second;
    members_[found->second].push_back(at);
  }

  // Inside a unit: references first, then path order. Kahn's algorithm, smallest first.
  void finish_units(const Edges& edges) {
    std::map<std::uint32_t, Edges> inside;
    for (const auto& edge : edges)
      if (owner_[edge.first] == owner_[edge.second]) inside[owner_[edge.first]].push_back(edge);
    for (const auto& [atom, members] : members_) {
      std::map<std::uint32_t, int> waits;
      for (const std::uint32_t member : members) waits[member] = 0;
      for (const auto& [first, second] : inside[atom]) ++waits[second];
      while (!waits.empty()) {
        auto next = std::find_if(waits.begin(), waits.end(), [](const auto& one) { return one.second == 0; });
        if (next == waits.end()) next = waits.begin();  // never for a schema without reference cycles
        const std::uint32_t chosen = next->first;
        add(atom, pending_[chosen]);
        waits.erase(next);
        for (const auto& [first, second] : inside[atom])
          if (first == chosen && waits.contains(second)) --waits[second];
      }
    }
  }

  void atom_edges(const Edges& edges) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen_edges;
    for (const auto& [first, second] : edges) {
      const std::pair edge{owner_[first], owner_[second]};
      if (edge.first != edge.second && seen_edges.insert(edge).second) out_.order.push_back(edge);
    }
  }

  void ladder_edges(const std::vector<LadderEdge>& ladders) {
    std::set<std::tuple<Ladder, std::uint32_t, std::uint32_t>> seen_edges;
    for (const LadderEdge& one : ladders) {
      const std::uint32_t first = owner_[one.first];
      const std::uint32_t second = owner_[one.second];
      if (first != second && seen_edges.emplace(one.ladder, first, second).second)
        out_.rungs.push_back({one.ladder, first, second});
    }
  }

  // `whole`: by port, why its classes are not split.
  void note_replacements(const std::vector<std::uint32_t>& in_one,
                         const std::map<std::string_view, std::string>& whole) {
    for (Atom& atom : out_.atoms)
      if (atom.half != Half::none && has_order_across(atom))
        atom.notes.emplace_back(atom.half == Half::adds ? kBeside : kGoes);
    for (const std::uint32_t change : in_one) {
      const auto why = whole.find(pending_[change].path.key(0));
      std::string note = in_one_write(why == whole.end() ? "" : why->second);
      std::vector<std::string>& notes = out_.atoms[owner_[change]].notes;
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
    }
  }

  bool has_order_across(const Atom& atom) const {
    return std::ranges::any_of(atom.changes, [this](const AtomChange& change) {
      return columns_.row(change.path.row()).crosses(Ladder::lossless);
    });
  }

  const DeviceInput& device_;
  const Columns& columns_;
  std::vector<AtomChange> pending_;
  std::vector<std::uint32_t> owner_;  // the atom of each pending change
  std::map<std::string, std::uint32_t> units_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> members_;
  DeviceAtoms out_;
};

}  // namespace

DeviceAtoms make_atoms(const DeviceInput& device, const Columns& columns) {
  return Builder(device, columns).build();
}

}  // namespace lockstep
