// What FRR's next start would load, held against what it runs: as far as the rows of the driver stand for it.
//
// Promises: only reads; lines that are nobody's here (comments, passwords, route maps, other daemons) decide
// nothing, and no line of the file is ever told: what differs is told by the entry's name and its values.
// Where a daemon does not run and the file has nothing for it, nothing differs. Refuses to tell (an error)
// where the file has something for a daemon that can't be asked. A file that can't be read, or is none, is
// not what runs.
#pragma once

#include <string>

#include "drivers/frr/state.hpp"
#include "specs/files/read_file.hpp"

namespace lockstep::frr {

// Where it loads from (lib/vty.c, vty_read_config): the integrated file, where there is one; else each daemon
// has a file of its own beside it.
enum class SavedLayout : std::uint8_t { integrated, per_daemon };
// Where a save goes: what is loaded now, or on a device with nothing saved yet what vtysh.conf says.
SavedLayout saved_layout(const std::string& config_file);

// In words: the file, or the files.
std::string saved_place(const std::string& config_file);

// Fills in State::saved, from what is read of the daemons already.
void hold_against_saved(const std::string& run_dir, const std::string& config_file, State& state);

// The text of a file of FRR's; its user owns the folder, and might put a link there.
FileText text_of_config(const std::string& file);

}  // namespace lockstep::frr
