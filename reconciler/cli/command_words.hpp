// The words of a command line before and after CLI11 parses them: rewriting, error messages, and an example
// for each command's --help.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "reconciler/cli/console.hpp"

namespace lockstep {

// The public subcommands. The others are for lockstep's maintainers and absent from help, completion and
// manual pages.
std::vector<const CLI::App*> commands_of(const CLI::App& app);
void hide(CLI::App& command);

// Rewrites the arguments for CLI11: `help plan` becomes `plan --help`; after the device of `twin exec SPECS
// DEVICE` a "--" is inserted, because a command with its own options follows.
std::vector<std::string> command_words(int argc, const char* const* argv);

// The arguments of another program; they may be empty.
inline constexpr const char* kCommandOfExec = "COMMAND";
// An empty value is usually an unset shell variable: treated as "not given" it would widen the command to all
// devices, or to another cluster.
void refuse_empty_values(CLI::App& app);

// "there is no command 'twin frob'; ..."; empty: the command exists, or none is given.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words);

// The error, with the option that was most likely meant and where to read on.
std::string mistake_of(const CLI::App& app, const std::vector<std::string>& words,
                       const CLI::ParseError& error);

// What the program is for, and the text after the commands in its --help.
extern const char* const kAbout;
extern const char* const kFooter;

// Adds the examples to the end of each command's --help.
void give_examples(CLI::App& app);

// The format that -o requests, if the command line is invalid and CLI11 has filled nothing.
OutputFormat wanted_output(const std::vector<std::string>& words);

}  // namespace lockstep
