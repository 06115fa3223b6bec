// Shared by the subcommands of `lockstep`: the values that they fill, and helpers that declare their options.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reconciler/cli/client_commands.hpp"
#include "reconciler/cli/command_words.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/completion.hpp"

namespace lockstep {

// Everything that the subcommands fill; it must outlive the parse.
struct Arguments {
  OutputFormat output = OutputFormat::text;
  ValidateOptions validate;
  ClusterSource lock;
  PlanOptions plan;
  ApplyCommandOptions apply;
  ApplyCommandOptions undo;
  std::uint64_t undone = 0;
  DriftOptions drift;
  WatchOptions watch;
  ServeOptions serve;
  BenchOptions bench;
  HistoryOptions history;
  ShowOptions show;
  DiscoverOptions discover;
  ExplainOptions explain;
  RenderOptions render;
  DiffOptions diff;
  TopologyOptions topology;
  TwinUpOptions twin_up;
  TwinDownOptions twin_down;
  ClusterSource twin_status;
  TwinExecOptions twin_exec;
  TwinBreakOptions twin_break;
  ClusterSource state_adopt;
  ClusterSource state_show;
  StateFileOptions state_backup;
  StateFileOptions state_restore;
  std::string ca_folder;
  std::string ca_cluster;
  std::string ca_file;
  CaIssueOptions ca_issue;
  CaRevokeOptions ca_revoke;
  ClientArguments client;
  std::string host_policy_file;
  std::string host_policy_setting;
  SonicLintOptions sonic_lint;
  SonicPlanOptions sonic_plan;
  SonicImportOptions sonic_import;
  std::string schema_kind;
  bool schema_lists = false;
  std::string shell = "bash";
  std::vector<std::string> examples;  // for generated documentation
  std::string man_folder;
  std::function<int(const Console&)> chosen;
  OptionWords values;
};

template <class Run>
void runs(CLI::App* command, Arguments& arguments, Run run) {
  command->callback([&arguments, run] { arguments.chosen = run; });
}

// Replaces CLI11's CheckedTransformer, which shows the numbers of an enum when it refuses a word.
template <class Choice>
CLI::Validator one_of(const std::map<std::string, Choice>& forms) {
  const auto turn = [forms](std::string& word) -> std::string {
    const auto found = forms.find(word);
    if (found != forms.end()) {
      word = std::to_string(static_cast<int>(found->second));
      return "";
    }
    std::string all;
    for (const auto& [name, form] : forms) all += (all.empty() ? "" : ", ") + name;
    return "'" + word + "' is not one of " + all;
  };
  return CLI::Validator(turn, "");
}

template <class Field, class Choice>
CLI::Option* takes_one_of(CLI::App* command, Arguments& arguments, const std::string& name, Field& choice,
                          const std::map<std::string, Choice>& forms, const char* help, const char* label) {
  CLI::Option* const option =
      command->add_option(name, choice, help)->transform(one_of(forms))->option_text(label);
  for (const auto& [word, form] : forms) arguments.values[option].push_back(word);
  return option;
}

// `label`: the name of its value in --help.
inline void takes_text(CLI::App* command, const std::string& name, std::string& to, const std::string& label,
                       const std::string& about) {
  command->add_option(name, to, about)->option_text(label);
}

inline void takes_max_entries(CLI::App* command, std::size_t& max_entries) {
  command
      ->add_option(
          "--max-entries", max_entries,
          "Entries of all devices together that specs may have; more are refused before memory is used")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

inline void takes_specs(CLI::App* command, ClusterSource& source) {
  takes_max_entries(command, source.max_entries);
  command->add_option("SPECS", source.specs,
                      "Folder or files of specs (default: the current folder; -: standard input)");
}

inline CLI::Option* takes_link_rate(CLI::App* command, ClusterSource& source) {
  return command->add_option("--link-rate", source.link_rate,
                             "Speed of the twin's fastest link; the others in proportion (default: as `twin "
                             "up` was given, else 1Gbps)");
}

inline CLI::Option* takes_twin(CLI::App* command, ClusterSource& source) {
  return command->add_flag("--twin", source.twin, "Use this cluster's twin on this machine");
}

inline void takes_renumber(CLI::App* command, ClusterSource& source) {
  command->add_flag(
      "--renumber", source.renumber,
      "Assign new addresses and AS numbers, instead of those in allocations.lock (of a twin: its own)");
}

inline void takes_twin_and_numbers(CLI::App* command, ClusterSource& source) {
  takes_link_rate(command, source)->needs(takes_twin(command, source));
  takes_renumber(command, source);
}

inline void takes_source(CLI::App* command, ClusterSource& source) {
  takes_specs(command, source);
  takes_twin_and_numbers(command, source);
}

inline void takes_output(CLI::App* command, Arguments& arguments) {
  const std::map<std::string, OutputFormat> forms{
      {"text", OutputFormat::text}, {"json", OutputFormat::json}, {"yaml", OutputFormat::yaml}};
  takes_one_of(command, arguments, "-o,--output", arguments.output, forms,
               "Form of the output: text, json or yaml", "FORM");
}

inline CLI::App* add(CLI::App& app, Arguments& arguments, const char* name, const char* help) {
  CLI::App* const command = app.add_subcommand(name, help);
  takes_output(command, arguments);
  return command;
}

// Which service, and as whom. `context`: what the option of that name is for.
void takes_server(CLI::App* command, ServerOptions& at, const char* context);

void add_service_commands(CLI::App& app, Arguments& a);
void add_client_commands(CLI::App& app, Arguments& a);
void add_twin_commands(CLI::App& app, Arguments& a);
void add_state_commands(CLI::App& app, Arguments& a);
void add_host_policy_commands(CLI::App& app, Arguments& a);
void add_ca_commands(CLI::App& app, Arguments& a);
void add_sonic_commands(CLI::App& app, Arguments& a);

}  // namespace lockstep
