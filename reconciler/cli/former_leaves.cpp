#include "reconciler/cli/former_leaves.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/report/table.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::vector<std::string> keys_of(Path path) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < path.key_count(); ++i) keys.emplace_back(path.key(i));
  return keys;
}

// What the specs of today say of it, if only that it must not be there.
bool is_said(const Intent& intent, Path path) {
  return intent.want.find(path) != nullptr || claim_of(intent, path) != nullptr;
}

// A single leaf that was not read may be so: drivers read some rows (sysctls) only where they are named.
bool is_as_written(const WrittenLeaf& one, Value have) {
  return have == one.wrote || (!have && !schema_row(one.path.row()).collection);
}

}  // namespace

void want_restored(Compiled& compiled, const std::vector<WrittenLeaf>& written) {
  std::map<std::string_view, Intent*> intents;
  for (Intent& intent : compiled.intents) intents.emplace(intent.device, &intent);
  std::map<std::string_view, OriginId> origins;
  for (const WrittenLeaf& one : written) {
    const auto intent = intents.find(one.device);
    if (!one.restore || intent == intents.end() || is_said(*intent->second, one.path)) continue;
    const auto [origin, is_new] = origins.try_emplace(one.object, 0);
    if (is_new)
      origin->second =
          compiled.origins.add(Origin{.at = {}, .object = one.object, .rule = "onDelete: restore"});
    if (one.found)
      intent->second->want.set(one.path, one.found, origin->second);
    else
      intent->second->claims.push_back({one.path.row(), keys_of(one.path), origin->second});
  }
}

std::vector<WrittenLeaf> left_behind(const LoopSession& session, const std::vector<DeviceState>& states,
                                     const std::vector<WrittenLeaf>& written) {
  std::vector<WrittenLeaf> left;
  for (const WrittenLeaf& one : written) {
    const auto device = session.fleet().find(one.device);
    if (device && is_said(*session.fleet()[*device].intent, one.path)) continue;
    if (!device || is_as_written(one, states[*device].observation.have.value(one.path))) left.push_back(one);
  }
  return left;
}

std::string left_behind_text(const std::vector<WrittenLeaf>& left) {
  std::map<std::string, std::pair<std::size_t, std::set<std::string>>> by_object;
  for (const WrittenLeaf& one : left) {
    auto& [count, devices] = by_object[one.object];
    ++count;
    devices.insert(one.device);
  }
  std::string out;
  for (const auto& [object, what] : by_object)
    out += fmt::format("left as {}: {} that earlier changes wrote{} and nothing here says any more, on {}\n",
                       what.first == 1 ? "it is" : "they are", counted(what.first, "leaf", "leaves"),
                       object.empty() ? "" : " for " + object,
                       fold_hostlist({what.second.begin(), what.second.end()}));
  return out;
}

nlohmann::json left_behind_json(const std::vector<WrittenLeaf>& left) {
  nlohmann::json all = nlohmann::json::array();
  for (const WrittenLeaf& one : left)
    all.push_back({{"device", one.device},
                   {"path", one.path.text()},
                   {"found", to_json(one.found)},
                   {"wrote", to_json(one.wrote)},
                   {"object", one.object}});
  return all;
}

Result<Done> note_written(const LoopSession& session, const std::vector<WrittenLeaf>& left,
                          Journal& journal) {
  TRY(const std::vector<WrittenLeaf> written, journal.written());
  const Origins& origins = session.origins();
  std::vector<WrittenLeaf> changed;
  for (const WrittenLeaf& one : written) {
    const auto device = session.fleet().find(one.device);
    const Leaf* const want = device ? session.fleet()[*device].intent->want.find(one.path) : nullptr;
    if (want == nullptr) continue;
    const Origin& origin = origins[want->origin];
    if (origin.restore_on_delete == one.restore && origin.object == one.object) continue;
    changed.push_back(one);
    changed.back().restore = origin.restore_on_delete;
    changed.back().object = origin.object;
  }
  if (!changed.empty()) TRY_DONE(journal.note_kept(changed));
  return left.empty() ? Result<Done>(Done{}) : journal.forget(left);
}

}  // namespace lockstep
