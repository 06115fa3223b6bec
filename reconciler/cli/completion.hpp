// Shell completion scripts, made from the same table of subcommands and options that parses them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

struct CompletionWord {
  std::string word;
  std::string help;
  std::vector<std::string> values{};  // of an option that takes one of a few words
};
struct CompletionCommand {
  std::string name;  // "plan", "twin up"
  std::string help;
  std::vector<CompletionWord> options;      // "--strict"
  std::vector<CompletionWord> subcommands;  // of "twin"
  std::vector<std::string> arguments{};     // words that may stand for an argument
};

// `shell`: bash, zsh or fish.
Result<std::string> completion_script(std::string_view shell, const std::vector<CompletionCommand>& commands);

}  // namespace lockstep
