// Former leaves: what earlier changes wrote and no object says any more. Those of objects with
// `onDelete: restore` are wanted as they were found before the first change, until they are that; the others
// stay, and are told once.
//
// Promises: only what changes of ours wrote and another object does not say or own; what was found is that of
// the first change that wrote the leaf, however many followed. Refuses nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/cli/loop_session.hpp"
#include "reconciler/engine/journal.hpp"

namespace lockstep {

// Wants back what is to be restored: adds to the intents, with origins that name the object that is gone.
void want_restored(Compiled& compiled, const std::vector<WrittenLeaf>& written);

// What stays: on devices that are still in the specs, where it still is as we wrote it; and all of devices
// that are not.
std::vector<WrittenLeaf> left_behind(const LoopSession& session, const std::vector<DeviceState>& states,
                                     const std::vector<WrittenLeaf>& written);
// "left as they are: ..." for each object; empty: nothing is.
std::string left_behind_text(const std::vector<WrittenLeaf>& left);
nlohmann::json left_behind_json(const std::vector<WrittenLeaf>& left);

// After an apply: how each written leaf is kept now, and no more of what stays.
Result<Done> note_written(const LoopSession& session, const std::vector<WrittenLeaf>& left, Journal& journal);

}  // namespace lockstep
