// Manual pages in section 1, generated from the table of subcommands and options that the parser uses.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>

namespace lockstep {

// By file name: lockstep.1, and lockstep-COMMAND.1 for each command, including its subcommands.
std::map<std::string, std::string> man_pages(const CLI::App& app);

}  // namespace lockstep
