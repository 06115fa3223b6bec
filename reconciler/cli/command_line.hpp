// The command line: parses arguments, sets up the console and Ctrl-C, runs one subcommand, returns its exit
// code.
#pragma once

namespace lockstep {

int run_command_line(int argc, char** argv);

}  // namespace lockstep
