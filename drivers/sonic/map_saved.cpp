// The part of map.hpp that holds a configuration against another: what is saved, and the way to it.
#include <algorithm>

#include "drivers/sonic/map.hpp"
#include "drivers/sonic/port_buffers.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::sonic {
namespace {

constexpr RowId kSaved = row("switch-config/saved");
constexpr RowId kTakenOver = row("switch-config/taken-over");
constexpr RowId kNamed = row("raw[*][*]");
constexpr RowId kAdmin = row("interface[*]/admin");

Tree settings_in(const ConfigDb& config, const Scope& scope) {
  TreeBuilder tree;
  add_entries(config, scope, tree);
  return tree.build();
}

}  // namespace

RowId saving_row() { return kSaved; }
void add_saved(TreeBuilder& tree) { tree.add(Path(kSaved, {}), Value::present()); }
Incapable unsavable() {
  return {kSaved, {}, "the switch's files can't be reached from here: lockstep-agent there can"};
}

RowId taken_over_row() { return kTakenOver; }
void add_taken_over(TreeBuilder& tree) { tree.add(Path(kTakenOver, {}), Value::present()); }
Incapable not_started() {
  return {kTakenOver, {}, "SONiC's daemons have not started: APPL_DB has no PORT_TABLE:PortInitDone"};
}

std::string first_difference(const ConfigDb& running, const ConfigDb& saved, const Scope& scope) {
  if (running == saved) return {};
  const Scope all{.rows = {}, .named = scope.named};
  const Tree now = settings_in(without_computed(running), all);
  const Tree then = settings_in(without_computed(saved), all);
  for (const Tree* const tree : {&now, &then})
    for (const Entry& one : tree->entries()) {
      const Path path = one.path;
      if (now.value(path) == then.value(path)) continue;
      if (path.row() == kNamed) return path.text() + " differs";  // it may be a secret
      return path.text() + " is " + now.value(path).to_string() + ", and " + then.value(path).to_string() +
             " there";
    }
  return {};
}

ChangeSet lost_settings(const ConfigDb& config, const ConfigDb& without, const ChangeSet& changes) {
  if (config == without) return {};
  Scope scope;
  for (const Change& one : changes) scope.named.push_back(one.path);
  const Tree had = settings_in(config, scope);
  const Tree has = settings_in(without, scope);
  ChangeSet out;
  for (const Entry& one : had.entries())
    if (!has.value(one.path)) out.push_back({one.path, {}, one.value, 0});
  return out;
}

Change coming_up(const std::string& port) {
  return {Path(kAdmin, {port}), Value::boolean(false), Value::boolean(true), 0};
}

ChangeSet settings_of(const Tree& have) {
  const std::vector<RowId> rows = rows_written();
  ChangeSet out;
  for (const Entry& one : have.entries())
    if (one.path.row() != kSaved && std::ranges::find(rows, one.path.row()) != rows.end())
      out.push_back({one.path, {}, one.value, 0});
  return out;
}

}  // namespace lockstep::sonic
