#include "drivers/sonic/plan_words.hpp"

#include <algorithm>
#include <span>

#include "drivers/sonic/map.hpp"
#include "drivers/sonic/row_write.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

std::vector<std::string> lines_of_move(const ConfigMove& move, const ConfigRow* before) {
  const RowWrite one{move.table, move.key, std::nullopt, move.row};
  const Result<std::vector<StoredRowWrite>> stored = stored_writes(std::span(&one, 1));
  if (!stored) return {"# " + stored.error().text()};
  const Result<RedisHash> was = before == nullptr ? RedisHash() : redis_hash(*before);
  if (!was) return {"# " + was.error().text()};
  std::vector<std::string> out;
  for (const RedisCommand& command : row_commands(stored->front(), *was)) {
    std::string line = "sonic-db-cli CONFIG_DB " + command.front();
    for (const std::string& word : std::span(command).subspan(1)) line += " " + quoted_for_shell(word);
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::string quoted_for_shell(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string listed_names(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
    out += (i == 0 ? "" : ", ") + printable(names[i]);
  return names.size() > kShown ? out + " and " + std::to_string(names.size() - kShown) + " more" : out;
}

std::vector<std::string> native_lines(ConfigDb config, const ChangeSet& changes) {
  const Edited target = edited(config, changes);
  std::vector<std::string> out;
  const Result<ConfigPlan> plan = plan_config(nullptr, config, target.config, KnownFaults::stay);
  if (!plan) out.push_back("# " + plan.error().text());
  if (plan)
    for (const ConfigMove& move : plan->moves) {
      for (std::string& line : lines_of_move(move, config.find(move.table, move.key)))
        out.push_back(std::move(line));
      make_move(move, config);
    }
  for (const auto& error : target.outcomes)
    if (error) out.push_back("# " + error->text());
  if (std::ranges::any_of(changes, [](const Change& one) { return one.path.row() == saving_row(); }))
    out.emplace_back("config save -y");
  return out;
}

void note_interruptions(const ConfigPlan& plan, Receipt& receipt) {
  if (!plan.ports_down.empty())
    receipt.notes.push_back("shut down meanwhile: " + listed_names(plan.ports_down));
  std::vector<std::string> rows;
  for (const ConfigMove& row : plan.rebuilt) rows.push_back(redis_name(row.table, row.key));
  if (!rows.empty()) receipt.notes.push_back("deleted and made again: " + listed_names(rows));
}

}  // namespace lockstep::sonic
