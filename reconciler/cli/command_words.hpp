// The words of a command line before and after CLI11 reads them: how people write them, what is wrong with
// them, and an example for each command's --help.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace lockstep {

// As CLI11 is to read them: `help plan` is `plan --help`; what follows the device of `twin exec SPECS DEVICE`
// is a command with options of its own, as if "--" stood before it.
std::vector<std::string> command_words(int argc, const char* const* argv);

// "there is no command 'twin frob'; ..."; empty: there is one, or none is named.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words);

// What is wrong, with the option that was most likely meant and where to read on.
std::string mistake_of(const CLI::App& app, const std::vector<std::string>& words,
                       const CLI::ParseError& error);

// What the program is for, and what follows the commands in its --help.
extern const char* const kAbout;
extern const char* const kFooter;

// To the end of each command's --help.
void give_examples(CLI::App& app);

}  // namespace lockstep
