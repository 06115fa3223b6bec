#include "reconciler/session/former_entries.hpp"

#include <algorithm>
#include <map>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr const char* kRestoration = "onDelete: restore";

std::vector<std::string> keys_of(Path path) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < path.key_count(); ++i) keys.emplace_back(path.key(i));
  return keys;
}

// Whether it is part of a member of a collection that is owned as a whole, and is removed with it.
bool goes_with_a_member(const Intent& intent, Path path) {
  return std::ranges::any_of(intent.claims, [path](const Claim& claim) {
    return schema_row(path.row()).is_part_of(schema_row(claim.collection).pattern) && !claim.within &&
           has_leading_keys(path, claim.keys);
  });
}

// Whether today's specs set it, or require that it does not exist.
bool is_said(const Intent& intent, Path path) {
  return intent.want.find(path) != nullptr || claim_of(intent, path) != nullptr ||
         goes_with_a_member(intent, path);
}

// A single entry that does not exist was not read: drivers read some rows (sysctls) only if they are named.
bool is_seen(const DeviceState& state, Path path) {
  return state.reachable && !is_unread(state.observation.unread, path) &&
         (state.observation.have.value(path) || schema_row(path.row()).collection);
}

// The entry if our value is still there; none: it is not, or this is unknown for a write that failed.
std::optional<WrittenEntry> left_of(const WrittenEntry& one, const DeviceState& state) {
  const Value have = state.observation.have.value(one.path);
  WrittenEntry left = one;
  left.tried.reset();
  if (one.tried && have == *one.tried && is_seen(state, one.path)) left.wrote = *one.tried;
  const bool there = have == left.wrote || (!have && !schema_row(one.path.row()).collection);
  return is_verified(left) && there ? std::optional(std::move(left)) : std::nullopt;
}

// A member of a collection that an object created on a port, and no longer sets although it still sets that
// port: a loopback address of a pool that has changed. Ports that the object no longer sets are left as they
// are.
bool is_moved(const Compiled& compiled, const Intent& intent, const WrittenEntry& one) {
  const Row& row = schema_row(one.path.row());
  if (one.found || !row.collection || !row.is_of_port() || one.path.key_count() < 2) return false;
  return std::ranges::any_of(intent.want.entries(), [&](const Entry& want) {
    return schema_row(want.path.row()).is_of_port() && want.path.key(0) == one.path.key(0) &&
           compiled.origins[want.origin].object == one.object;
  });
}

// Entries that no object sets any more and that are to be restored, with the index of their device's intent.
std::vector<std::pair<std::size_t, const WrittenEntry*>> to_restore(
    const Compiled& compiled, const std::vector<WrittenEntry>& written) {
  std::map<std::string_view, std::size_t> intents;
  for (std::size_t i = 0; i < compiled.intents.size(); ++i) intents.emplace(compiled.intents[i].device, i);
  std::vector<std::pair<std::size_t, const WrittenEntry*>> out;
  for (const WrittenEntry& one : written) {
    const auto intent = intents.find(one.device);
    if (!schema_row(one.path.row()).saves.empty()) continue;  // nothing is unsaved
    if (intent == intents.end() || is_said(compiled.intents[intent->second], one.path)) continue;
    if (one.restore || is_moved(compiled, compiled.intents[intent->second], one))
      out.emplace_back(intent->second, &one);
  }
  return out;
}

}  // namespace

bool is_verified(const WrittenEntry& one) { return one.wrote != one.found; }

void want_restored(Compiled& compiled, const std::vector<WrittenEntry>& written) {
  std::map<std::pair<std::string_view, bool>, OriginId> origins;
  for (const auto& [index, one] : to_restore(compiled, written)) {
    const auto [origin, is_new] = origins.try_emplace({one->object, one->restore}, 0);
    // It stays to be restored until that is done, also if this apply does not get to it.
    if (is_new)
      origin->second = compiled.origins.add(Origin{.at = {},
                                                   .object = one->object,
                                                   .rule = one->restore ? kRestoration : "owned-whole",
                                                   .restore_on_delete = one->restore});
    Intent& intent = compiled.intents[index];
    if (one->found)
      intent.want.set(one->path, one->found, origin->second);
    else
      intent.claims.push_back({one->path.row(), keys_of(one->path), origin->second});
  }
}

bool is_restoration(const Origin& origin) { return origin.rule == kRestoration; }

bool restores_all(const Compiled& compiled, const std::vector<WrittenEntry>& written) {
  return to_restore(compiled, written).empty();
}

Result<std::vector<WrittenEntry>> settle_written(const Fleet& fleet, const std::vector<DeviceState>& states,
                                                 History& history) {
  TRY(const std::vector<WrittenEntry> written, history.written());
  std::vector<WrittenEntry> settled;
  for (const WrittenEntry& one : written) {
    const auto device = fleet.find(one.device);
    if (!one.tried || !device || !is_seen(states[*device], one.path)) continue;
    const Value have = states[*device].observation.have.value(one.path);
    if (have != one.found && have != one.wrote && have != *one.tried) continue;
    settled.push_back(one);
    settled.back().wrote = have;
    settled.back().tried.reset();
  }
  if (settled.empty()) return written;
  TRY_DONE(history.note(settled));
  return history.written();
}

std::vector<WrittenEntry> left_behind(const Fleet& fleet, const std::vector<DeviceState>& states,
                                      const std::vector<WrittenEntry>& written) {
  std::vector<WrittenEntry> left;
  for (const WrittenEntry& one : written) {
    const auto device = fleet.find(one.device);
    if (device && is_said(*fleet[*device].intent, one.path)) continue;
    if (!device)
      left.push_back(one);
    else if (std::optional<WrittenEntry> there = left_of(one, states[*device]))
      left.push_back(*std::move(there));
  }
  return left;
}

Result<Done> note_written(const ClusterSession& session, const std::vector<WrittenEntry>& left,
                          History& history) {
  TRY(const std::vector<WrittenEntry> written, history.written());
  const Origins& origins = session.origins();
  std::vector<WrittenEntry> changed;
  for (const WrittenEntry& one : written) {
    const auto device = session.fleet().find(one.device);
    const Entry* const want = device ? session.fleet()[*device].intent->want.find(one.path) : nullptr;
    if (want == nullptr) continue;
    const Origin& origin = origins[want->origin];
    if (origin.restore_on_delete == one.restore && origin.object == one.object) continue;
    changed.push_back(one);
    changed.back().restore = origin.restore_on_delete;
    changed.back().object = origin.object;
  }
  if (!changed.empty()) TRY_DONE(history.note(changed));
  return left.empty() ? Result<Done>(Done{}) : history.forget(left);
}

}  // namespace lockstep
