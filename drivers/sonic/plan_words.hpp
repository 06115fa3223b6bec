// What a plan means in words: the lines that an operator would type on the switch, and what it interrupts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/sonic/config_plan.hpp"

namespace lockstep::sonic {

// One word of a POSIX shell.
std::string quoted_for_shell(std::string_view text);

// The first eight, and how many more there are.
std::string listed_names(const std::vector<std::string>& names);

// What would be sent to CONFIG_DB for these changes of it (row_write.hpp), and "# why" for what can't be.
std::vector<std::string> native_lines(ConfigDb config, const ChangeSet& changes);

// What a change interrupts beyond its own rows.
void note_interruptions(const ConfigPlan& plan, Receipt& receipt);

}  // namespace lockstep::sonic
