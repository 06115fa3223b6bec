// Compares what FRR's next start would load with what it runs, as far as the driver's rows cover it.
//
// Promises: only reads; lines outside the driver's rows (comments, passwords, route maps, other daemons) are
// ignored, and no line of the file is ever printed: a difference is reported by the entry's name and its
// values. If a daemon does not run and the file has nothing for it, nothing differs. Returns an error if the
// file has something for a daemon that can't be queried. A file that can't be read, or is not a file, counts
// as different from what runs.
#pragma once

#include <string>

#include "drivers/frr/state.hpp"
#include "specs/files/read_file.hpp"

namespace lockstep::frr {

// Where FRR loads from (lib/vty.c, vty_read_config): the integrated file if there is one; else each daemon
// has its own file beside it.
enum class SavedLayout : std::uint8_t { integrated, per_daemon };
// Where a save goes: the layout that is loaded now, or, on a device with nothing saved yet, the one from
// vtysh.conf.
SavedLayout saved_layout(const std::string& config_file);

// For messages: the file, or the files.
std::string saved_place(const std::string& config_file);

// Fills in State::saved from what has already been read from the daemons.
void hold_against_saved(const std::string& run_dir, const std::string& config_file, State& state);

// The text of one of FRR's files; the folder belongs to FRR's user, who could place a symbolic link there.
FileText text_of_config(const std::string& file);

}  // namespace lockstep::frr
