// Former entries: what earlier changes wrote and no object says any more. Those of objects with
// `onDelete: restore` are wanted as they were found before the first change, until they are that. What an
// object made on a port that it still says (an address of a pool that is another now) is wanted gone. The
// others stay, and are reported once.
//
// Promises: only what changes of ours wrote and another object does not say or own; what was found is that of
// the first change that wrote the entry, however many followed. What a failed or interrupted change tried to
// write counts as ours only once it was seen there. Refuses nothing.
#pragma once

#include <string>
#include <vector>

#include "reconciler/session/cluster_session.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// Wants back what is to be restored: adds to the intents, with origins that name the object that is gone.
void want_restored(Compiled& compiled, const std::vector<WrittenEntry>& written);
// Of an entry that is wanted for that alone.
bool is_restoration(const Origin& origin);
// Whether all of it is wanted back already, or said by an object.
bool restores_all(const Compiled& compiled, const std::vector<WrittenEntry>& written);

// Settles, by a fresh observation, what failed and interrupted changes may have written: ours where it is
// there, forgotten where what was found is; what was not read, or is neither, stays open. The answer: all
// that is written.
Result<std::vector<WrittenEntry>> settle_written(const Fleet& fleet, const std::vector<DeviceState>& states,
                                                 History& history);

// Some value of ours was seen there; else it was only tried.
bool is_verified(const WrittenEntry& one);

// What stays: on devices that are still in the specs, where it still is as we wrote it; and all of devices
// that are not.
std::vector<WrittenEntry> left_behind(const Fleet& fleet, const std::vector<DeviceState>& states,
                                      const std::vector<WrittenEntry>& written);

// After an apply: how each written entry is kept now, and no more of what stays.
Result<Done> note_written(const ClusterSession& session, const std::vector<WrittenEntry>& left,
                          History& history);

}  // namespace lockstep
