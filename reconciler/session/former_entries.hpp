// Former entries: entries that earlier changes wrote and no object sets any more. For objects with `onDelete:
// restore` the desired value is the one found before the first change, until it is reached. What an object
// created on a port that it still sets (an address of a pool that has changed) is to be removed. The others
// stay, and are reported once.
//
// Promises: only entries that lockstep's changes wrote and that no other object sets or owns; `found` is the
// value before the first change that wrote the entry, however many followed. What a failed or interrupted
// change tried to write counts as written only once it was observed there. Refuses nothing.
#pragma once

#include <string>
#include <vector>

#include "reconciler/session/cluster_session.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// Adds what is to be restored to the intents, with origins that name the removed object.
void want_restored(Compiled& compiled, const std::vector<WrittenEntry>& written);
// Whether an entry is desired for that reason alone.
bool is_restoration(const Origin& origin);
// Whether everything to be restored is already desired, or set by an object.
bool restores_all(const Compiled& compiled, const std::vector<WrittenEntry>& written);

// Settles, by a fresh observation, what failed and interrupted changes may have written: recorded as written
// if it is there, forgotten if the found value is; unread entries and other values stay open. Returns
// all that is written.
Result<std::vector<WrittenEntry>> settle_written(const Fleet& fleet, const std::vector<DeviceState>& states,
                                                 History& history);

// Whether some value of ours was observed there; otherwise it was only tried.
bool is_verified(const WrittenEntry& one);

// The entries that stay: on devices that are still in the specs, those that still have the value that we
// wrote; on removed devices, all.
std::vector<WrittenEntry> left_behind(const Fleet& fleet, const std::vector<DeviceState>& states,
                                      const std::vector<WrittenEntry>& written);

// After an apply: records the object that now sets each written entry, and forgets those in `left`.
Result<Done> note_written(const ClusterSession& session, const std::vector<WrittenEntry>& left,
                          History& history);

}  // namespace lockstep
