// Shell completion scripts, generated from the table of subcommands and options that the parser uses.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

struct CompletionWord {
  std::string word;
  std::string help;
  std::vector<std::string> values{};  // for an option that takes one of a few words
};
struct CompletionCommand {
  std::string name;  // "plan", "twin up"
  std::string help;
  std::vector<CompletionWord> options;      // "--strict"
  std::vector<CompletionWord> subcommands;  // for "twin"
  std::vector<std::string> arguments{};     // words that may be used for an argument
};

// The words that an option or argument accepts, if there are few.
using OptionWords = std::map<const CLI::Option*, std::vector<std::string>>;

std::vector<CompletionCommand> completion_commands(const CLI::App& app, const OptionWords& values);

// `shell`: bash, zsh or fish.
Result<std::string> completion_script(std::string_view shell, const std::vector<CompletionCommand>& commands);

}  // namespace lockstep
