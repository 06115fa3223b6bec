#include "reconciler/cli/completion.hpp"

#include "reconciler/cli/command_words.hpp"

namespace lockstep {
namespace {

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& one : list) out += (out.empty() ? "" : " ") + one;
  return out;
}

std::string words_of(const std::vector<CompletionWord>& list) {
  std::vector<std::string> words;
  for (const CompletionWord& one : list) words.push_back(one.word);
  return joined(words);
}

// What may follow an option that takes one of a few words.
std::string bash_values(const std::vector<CompletionCommand>& commands) {
  std::string out = "  case \"$command ${COMP_WORDS[COMP_CWORD-1]}\" in\n";
  for (const CompletionCommand& command : commands)
    for (const CompletionWord& option : command.options)
      if (!option.values.empty())
        out += "    " + shell_quoted(command.name + " " + option.word) +
               ") words=" + shell_quoted(joined(option.values)) + " ;;\n";
  return out + "  esac\n";
}

// "twin|state|ca": the commands with subcommands, as a pattern of case.
std::string joined_groups(const std::vector<CompletionCommand>& commands) {
  std::string out;
  for (const CompletionCommand& command : commands)
    if (!command.subcommands.empty()) out += (out.empty() ? "" : "|") + command.name;
  return out;
}

// Both shells complete file names unless an option is being typed, since most arguments are folders of specs.
std::string bash(const std::vector<CompletionCommand>& commands) {
  std::string out =
      "# lockstep completion for bash: source <(lockstep completion bash)\n"
      "_lockstep() {\n"
      "  local now=${COMP_WORDS[COMP_CWORD]} command=\"${COMP_WORDS[1]}\" words\n"
      "  case \"$command\" in " +
      joined_groups(commands) +
      ") [ \"$COMP_CWORD\" -gt 2 ] && command=\"$command ${COMP_WORDS[2]}\" ;; esac\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then command=; fi\n"
      "  case \"$command\" in\n";
  std::string top;
  for (const CompletionCommand& command : commands) {
    if (command.name.find(' ') == std::string::npos) top += (top.empty() ? "" : " ") + command.name;
    std::string words = words_of(command.subcommands);
    if (words.empty()) words = words_of(command.options);
    if (!command.arguments.empty()) words += " " + joined(command.arguments);
    out += "    " + shell_quoted(command.name) + ") words=" + shell_quoted(words) + " ;;\n";
  }
  out += "    *) words=" + shell_quoted(top) +
         " ;;\n"
         "  esac\n" +
         bash_values(commands) +
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
         "}\n"
         "complete -o default -F _lockstep lockstep\n";
  return out;
}

std::string zsh(const std::vector<CompletionCommand>& commands) {
  return "#compdef lockstep\n# lockstep completion for zsh: source <(lockstep completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash(commands);
}

std::string fish(const std::vector<CompletionCommand>& commands) {
  std::string out = "# lockstep completion for fish: lockstep completion fish | source\n";
  for (const CompletionCommand& command : commands) {
    if (command.name.find(' ') == std::string::npos) {
      out += "complete -c lockstep -n __fish_use_subcommand -a " + shell_quoted(command.name) + " -d " +
             shell_quoted(command.help) + "\n";
    }
    const std::string last = command.name.substr(command.name.rfind(' ') + 1);
    for (const CompletionWord& one : command.subcommands)
      out += "complete -c lockstep -n '__fish_seen_subcommand_from " + last + "' -a " +
             shell_quoted(one.word) + " -d " + shell_quoted(one.help) + "\n";
    for (const CompletionWord& one : command.options) {
      const bool is_long = one.word.starts_with("--");
      out += "complete -c lockstep -n '__fish_seen_subcommand_from " + last + (is_long ? "' -l " : "' -s ") +
             shell_quoted(one.word.substr(is_long ? 2 : 1)) + " -d " + shell_quoted(one.help);
      out += (one.values.empty() ? "" : " -x -a " + shell_quoted(joined(one.values))) + "\n";
    }
    if (!command.arguments.empty())
      out += "complete -c lockstep -n '__fish_seen_subcommand_from " + last + "' -a " +
             shell_quoted(joined(command.arguments)) + "\n";
  }
  return out;
}

void collect(const CLI::App& app, const std::string& prefix, const OptionWords& values,
             std::vector<CompletionCommand>& out) {
  for (const CLI::App* const command : commands_of(app)) {
    CompletionCommand one{prefix + command->get_name(), command->get_description(), {}, {}};
    for (const CLI::Option* const option : command->get_options()) {
      const auto found = values.find(option);
      const auto few = found == values.end() ? std::vector<std::string>{} : found->second;
      for (const std::string& name : option->get_lnames())
        one.options.push_back({"--" + name, option->get_description(), few});
      for (const std::string& name : option->get_snames())
        one.options.push_back({"-" + name, option->get_description(), few});
      if (option->get_positional()) one.arguments.insert(one.arguments.end(), few.begin(), few.end());
    }
    for (const CLI::App* const below : commands_of(*command))
      one.subcommands.push_back({below->get_name(), below->get_description()});
    out.push_back(std::move(one));
    collect(*command, prefix + command->get_name() + " ", values, out);
  }
}

}  // namespace

std::vector<CompletionCommand> completion_commands(const CLI::App& app, const OptionWords& values) {
  std::vector<CompletionCommand> out;
  collect(app, "", values, out);
  return out;
}

Result<std::string> completion_script(std::string_view shell,
                                      const std::vector<CompletionCommand>& commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  return Error{ErrorKind::invalid_spec,
               "no completion for '" + std::string(shell) + "'; there is bash, zsh and fish"};
}

}  // namespace lockstep
