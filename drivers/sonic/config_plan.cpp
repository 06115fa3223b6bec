#include "drivers/sonic/config_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "drivers/sonic/builtin_rules.hpp"
#include "drivers/sonic/plan_rules.hpp"
#include "drivers/sonic/text_parts.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::string_view kAdmin = "admin_status";

bool is_up(const ConfigRow* port) { return port != nullptr && is_port_up(*port); }

ConfigRow shut_down(ConfigRow port) {
  port[std::string(kAdmin)] = "down";
  return port;
}

// Both are there and equal, or neither is there.
bool same_row(const ConfigRow* one, const ConfigRow* other) {
  return one == nullptr || other == nullptr ? one == other : *one == *other;
}

struct RowName {
  std::string table;
  std::string key;
  auto operator<=>(const RowName&) const = default;
  std::string text() const { return printable(redis_name(table, key)); }
};

class Planning {
 public:
  Planning(StateCheck& check, const ConfigDb& target, bool may_clear_away)
      : check_(check), target_(target), cleared_away_(!may_clear_away) {}

  Result<ConfigPlan> all() {
    find_differences();
    const std::size_t most = kMovesOfRow * (rows_of(check_.state()) + rows_of(target_) + 1);
    while (!pending_.empty()) {
      if (plan_.moves.size() > most)
        return Error{ErrorKind::refused, "no order of moves was found: rows stand in each other's way"};
      if (pass() || relax() || unblock() || clear_away()) continue;
      return Error{ErrorKind::refused, why_not()};
    }
    return std::move(plan_);
  }

 private:
  // The order in which rows are tried: what is made for all ports, each port with its rows, what is deleted
  // of all ports.
  enum class Stage : std::uint8_t { make, port, remove };
  using Turn = std::tuple<Stage, std::string, std::size_t, RowName>;

  const ConfigRow* now(const RowName& name) const { return check_.state().find(name.table, name.key); }
  const ConfigRow* wanted(const RowName& name) const { return target_.find(name.table, name.key); }
  // "Ethernet0|3", and with host and ASIC before it where queues are virtual.
  static std::string port_of(const RowName& name) {
    if (!changes_while_port_is_down(name.table)) return "";
    const std::vector<std::string> parts = parts_of(name.key, '|');
    return parts.size() == 4 ? parts[2] : parts[0];
  }
  static std::size_t rows_of(const ConfigDb& config) {
    std::size_t rows = 0;
    for (const auto& [table, keys] : config.tables) rows += keys.size();
    return rows;
  }

  void find_differences() {
    for (const ConfigDb* const config : {&check_.state(), &target_})
      for (const auto& [table, rows] : config->tables)
        for (const auto& [key, row] : rows) note({table, key});
  }

  // Whether the row is as wanted, and else its turn.
  void note(const RowName& name) {
    const ConfigRow* const want = wanted(name);
    const bool equal = same_row(now(name), want);
    const auto known = turns_.find(name);
    if (known != turns_.end()) {
      pending_.erase(known->second);
      turns_.erase(known);
    }
    if (const std::string port = port_of(name); !port.empty()) {
      auto& rows = of_port_[port];
      if (equal)
        rows.erase(name);
      else
        rows.insert(name);
    }
    if (std::string address = address_of_row(name.table, name.key); !address.empty() && want == nullptr) {
      if (equal)
        leaving_.erase(address);
      else
        leaving_.insert(std::move(address));
    }
    if (equal) return;
    const Turn turn = turn_of(name, want == nullptr);
    pending_.insert(turn);
    turns_.emplace(name, turn);
  }

  Turn turn_of(const RowName& name, bool goes) const {
    const std::size_t rank = table_rank(name.table);
    if (const std::string port = port_of(name); !port.empty() && wanted({"PORT", port}) != nullptr)
      return {Stage::port, port, goes ? kTableOrder.size() - rank : 2 * kTableOrder.size() + rank, name};
    // A port comes up behind its rows.
    if (name.table == "PORT" && !goes && (lowered_.contains(name.key) || has_rows_pending(name.key)) &&
        now(name) != nullptr)
      return {Stage::port, name.key, 4 * kTableOrder.size(), name};
    if (goes) return {Stage::remove, "", kTableOrder.size() - rank, name};
    return {Stage::make, "", rank, name};
  }

  bool has_rows_pending(const std::string& port) const {
    const auto rows = of_port_.find(port);
    return rows != of_port_.end() && !rows->second.empty();
  }

  // One turn for each row that differs; whether a move was made.
  bool pass() {
    bool moved = false;
    for (auto at = pending_.begin(); at != pending_.end();) {
      const Turn turn = *at;
      moved = advance(std::get<RowName>(turn)) || moved;
      at = pending_.upper_bound(turn);
    }
    return moved;
  }

  // What stands in the way of a row's move without making a state invalid.
  bool must_wait(const RowName& name) const {
    if (waits_for_rows(name)) return true;
    return !relaxed_ && holds_address(name);
  }

  // A port that is to come up behind its rows.
  bool waits_for_rows(const RowName& name) const {
    return name.table == "PORT" && is_up(wanted(name)) && now(name) != nullptr && has_rows_pending(name.key);
  }

  // Whether another interface has the row's address and is to lose it.
  bool holds_address(const RowName& name) const {
    return wanted(name) != nullptr && leaving_.contains(address_of_row(name.table, name.key));
  }

  // The row's next move, if the state after it is valid.
  bool advance(const RowName& name) {
    if (must_wait(name)) return false;
    if (!lower_port(name)) return false;
    return make(next_move(name));
  }

  ConfigMove next_move(const RowName& name) const {
    const ConfigRow* const want = wanted(name);
    const ConfigRow* const is = now(name);
    if (want == nullptr || (is != nullptr && needs_rebuild(name, *is, *want)))
      return {name.table, name.key, std::nullopt};
    const bool comes_up_later =
        name.table == "PORT" && is == nullptr && is_up(want) && has_rows_pending(name.key);
    return {name.table, name.key, comes_up_later ? shut_down(*want) : *want};
  }

  static bool needs_rebuild(const RowName& name, const ConfigRow& is, const ConfigRow& want) {
    const auto differs = [&](const ConfigRow& one, const ConfigRow& other) {
      return std::ranges::any_of(one, [&](const auto& field) {
        const auto found = other.find(field.first);
        return is_create_only(name.table, field.first) &&
               (found == other.end() || found->second != field.second);
      });
    };
    return differs(is, want) || differs(want, is);
  }

  // Shuts the row's port down where the row may change only then. False: it can't be.
  bool lower_port(const RowName& name) {
    const RowName port{"PORT", port_of(name)};
    if (port.key.empty() || !is_up(now(port))) return true;
    return make({port.table, port.key, shut_down(*now(port))});
  }

  bool make(const ConfigMove& move) {
    const RowName name{move.table, move.key};
    const bool was_up = move.table == "PORT" && is_up(now(name));
    faults_ = check_.attempt(move);
    if (!faults_.empty()) return false;
    if (move.table == "PORT" && move.row && !is_up(&*move.row) && is_up(wanted(name)) &&
        lowered_.insert(move.key).second && was_up)
      plan_.ports_down.push_back(move.key);
    if (!move.row && wanted(name) != nullptr) plan_.rebuilt.push_back({move.table, move.key, std::nullopt});
    plan_.moves.push_back(move);
    note(name);
    // A port's own turn depends on its rows.
    if (const std::string port = port_of(name); !port.empty()) note({"PORT", port});
    return true;
  }

  // Nothing moves: what only good order wants is left aside once.
  bool relax() {
    relaxed_ = true;
    const bool moved = pass();
    relaxed_ = false;
    return moved;
  }

  // Nothing moves by itself: rows that refer to each other in a circle are made in parts, and what stands in
  // the way of a row is taken away for a while.
  bool unblock() {
    for (const auto& [name, turn] : std::map(turns_))
      if (!waits_for_rows(name) && lower_port(name) && (in_parts(name) || after_others(name))) return true;
    return false;
  }

  // The row without the fields that can't be as wanted yet.
  bool in_parts(const RowName& name) {
    const ConfigMove whole = next_move(name);
    if (make(whole)) return true;
    if (!whole.row) return false;
    ConfigRow row = *whole.row;
    const ConfigRow* const is = now(name);
    for (const ConfigFault& fault : faults_) {
      if (fault.table != name.table || fault.key != name.key || fault.field.empty()) return false;
      row.erase(fault.field);
      if (is == nullptr) continue;
      if (const auto before = is->find(fault.field); before != is->end()) row.insert(*before);
    }
    if (is != nullptr && *is == row) return false;
    return make({name.table, name.key, std::move(row)});
  }

  // The rows at fault after the move go first, each at most once: they come back by their own turn.
  bool after_others(const RowName& name) {
    for (std::size_t tries = 0; tries < kTries; ++tries) {
      const ConfigMove move = next_move(name);
      if (make(move)) return true;
      const std::vector<ConfigFault> faults = faults_;
      bool cleared = false;
      for (const ConfigFault& fault : faults)
        if (RowName other{fault.table, fault.key}; other != name || !move.row)
          cleared = step_aside(other, fault.field, 0) || cleared;
      if (!cleared) return false;
    }
    return false;
  }

  // Without the field, or else deleted, after those that refer to it.
  bool step_aside(const RowName& name, const std::string& field, std::size_t depth) {
    const ConfigRow* const is = now(name);
    if (is == nullptr || depth == kDepth || !lower_port(name)) return false;
    if (!field.empty() && is->contains(field) && aside_.emplace(name, field).second) {
      ConfigRow row = *is;
      row.erase(field);
      if (make({name.table, name.key, std::move(row)})) return true;
    }
    if (!aside_.emplace(name, "").second) return false;
    for (std::size_t tries = 0; tries < kTries; ++tries) {
      if (make({name.table, name.key, std::nullopt})) return true;
      bool cleared = false;
      for (const ConfigFault& fault : std::vector(faults_))
        if (RowName other{fault.table, fault.key}; other != name)
          cleared = step_aside(other, fault.field, depth + 1) || cleared;
      if (!cleared) return false;
    }
    return false;
  }

  // The last resort, once: everything that can go goes, and is made from nothing.
  bool clear_away() {
    if (std::exchange(cleared_away_, true)) return false;
    bool any = false;
    for (bool moved = true; moved;) {
      moved = false;
      std::vector<std::pair<std::size_t, RowName>> rows;
      for (const auto& [table, keys] : check_.state().tables)
        for (const auto& [key, row] : keys)
          rows.emplace_back(kTableOrder.size() - table_rank(table), RowName{table, key});
      std::ranges::sort(rows);
      for (const auto& [rank, name] : rows)
        moved = (lower_port(name) && make({name.table, name.key, std::nullopt})) || moved;
      any = any || moved;
    }
    return any;
  }

  std::string why_not() {
    const auto& [name, turn] = *turns_.begin();
    const ConfigMove move = next_move(name);
    const std::vector<ConfigFault> faults = check_.attempt(move);
    return "no order of moves keeps every state valid: " + std::string(move.row ? "setting " : "deleting ") +
           name.text() + " leaves " + faults_text(faults);
  }

  static constexpr std::size_t kMovesOfRow = 8;  // more of one row than any order needs
  static constexpr std::size_t kTries = 64;      // rounds of rows that step aside for one
  static constexpr std::size_t kDepth = 8;       // of rows that refer to rows

  StateCheck& check_;
  const ConfigDb& target_;
  ConfigPlan plan_;
  std::set<Turn> pending_;
  std::map<RowName, Turn> turns_;
  std::map<std::string, std::set<RowName>> of_port_;  // rows that differ and change while the port is down
  std::set<std::string, std::less<>> lowered_;        // ports that are to come up again
  std::set<std::string, std::less<>> leaving_;        // addresses of rows that are to be deleted
  std::set<std::pair<RowName, std::string>> aside_;
  std::vector<ConfigFault> faults_;  // of the last attempt
  bool relaxed_ = false;
  bool cleared_away_ = false;
};

ConfigFindings judged(const YangModels* models, const ConfigDb& config) {
  return models == nullptr ? check_by_builtin_rules(config) : models->check(config);
}

// From a state that is not valid there may be one move to one that is: of several, one that needs no other
// move before it.
std::optional<ConfigMove> move_to_valid(const YangModels* models, const ConfigDb& from,
                                        const ConfigDb& target) {
  std::optional<ConfigMove> found;
  const auto try_row = [&](const std::string& table, const std::string& key) {
    const ConfigRow* const want = target.find(table, key);
    const bool equal = same_row(from.find(table, key), want);
    const bool is_plain =
        !changes_while_port_is_down(table) &&
        std::ranges::none_of(kCreateOnly, [&](const CreateOnlyField& one) { return one.table == table; });
    if (equal || (found && !is_plain)) return false;
    ConfigMove move{table, key, want == nullptr ? std::nullopt : std::optional(*want)};
    ConfigDb after = from;
    make_move(move, after);
    if (!judged(models, after).valid()) return false;
    found = std::move(move);
    return is_plain;
  };
  for (const ConfigDb* const config : {&from, &target})
    for (const auto& [table, rows] : config->tables)
      for (const auto& [key, row] : rows)
        if (try_row(table, key)) return found;
  return found;
}

// `from` is valid.
std::unique_ptr<StateCheck> begun(const YangModels* models, const ConfigDb& from) {
  if (models == nullptr) return check_by_builtin_rules_only(from, {});
  if (auto by_rows = check_changed_rows(*models, from)) return by_rows;
  return check_whole_states(*models, from);
}

}  // namespace

bool is_port_up(const ConfigRow& port) {
  const auto found = port.find(kAdmin);
  return found != port.end() && found->second == ConfigField("up");
}

std::string faults_text(const std::vector<ConfigFault>& faults) {
  constexpr std::size_t kShown = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, faults.size()); ++i) {
    const ConfigFault& one = faults[i];
    out += (i == 0 ? "" : "; ") + printable(redis_name(one.table, one.key)) +
           (one.field.empty() ? "" : " " + printable(one.field)) + ": " + printable(one.message);
  }
  if (faults.size() > kShown) out += "; and " + std::to_string(faults.size() - kShown) + " more";
  return out;
}

Result<ConfigPlan> plan_config(StateCheck& check, const ConfigDb& target) {
  return Planning(check, target, true).all();
}

namespace {

// By the built-in rules: they find all faults, and so the new ones.
Result<ConfigPlan> plan_beside_faults(const ConfigDb& current, const ConfigDb& target) {
  const ConfigFindings before = check_by_builtin_rules(current);
  if (before.unlisted != 0)
    return Error{ErrorKind::refused, "the configuration has more than " +
                                         std::to_string(ConfigFindings::kFaultsMax) +
                                         " faults: " + faults_text(before.faults)};
  const std::vector<ConfigFault> wrong = new_faults(check_by_builtin_rules(target).faults, before.faults);
  if (!wrong.empty()) return Error{ErrorKind::refused, "the target is not valid: " + faults_text(wrong)};
  return Planning(*check_by_builtin_rules_only(current, before.faults), target, false).all();
}

}  // namespace

Result<ConfigPlan> plan_config(const YangModels* models, const ConfigDb& current, const ConfigDb& target,
                               KnownFaults known) {
  if (current == target) return ConfigPlan{};
  const ConfigFindings before = judged(models, current);
  const bool stay = known == KnownFaults::stay;
  if (stay && !before.valid()) return plan_beside_faults(current, target);
  if (const ConfigFindings wrong = judged(models, target); !wrong.valid())
    return Error{ErrorKind::refused, "the target is not valid: " + faults_text(wrong.faults)};
  std::optional<ConfigMove> first;
  ConfigDb from = current;
  if (!before.valid()) {
    first = move_to_valid(models, current, target);
    if (!first)
      return Error{ErrorKind::refused,
                   "the current configuration is not valid, and no single move makes it so: " +
                       faults_text(before.faults)};
    make_move(*first, from);
  }
  const std::unique_ptr<StateCheck> check = begun(models, from);
  TRY(ConfigPlan plan, Planning(*check, target, !stay).all());
  if (first) plan.moves.insert(plan.moves.begin(), *std::move(first));
  return plan;
}

}  // namespace lockstep::sonic
