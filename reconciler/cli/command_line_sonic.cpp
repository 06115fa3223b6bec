// The subcommands about SONiC switches.
#include "reconciler/cli/command_arguments.hpp"

namespace lockstep {

namespace {

void add_lint(CLI::App& sonic, Arguments& a) {
  CLI::App* const command =
      add(sonic, a, "lint", "Check a configuration of SONiC: types, references, and rules between fields");
  command->add_option("FILE", a.sonic_lint.file, "Such as /etc/sonic/config_db.json (-: standard input)")
      ->required();
  const std::map<std::string, SonicFormat> forms{{"configdb", SonicFormat::config_db},
                                                 {"yang", SonicFormat::yang}};
  takes_one_of(command, a, "--format", a.sonic_lint.format, forms,
               "configdb (default): as SONiC writes it; yang: JSON in the form of the models, with --yang",
               "FORMAT");
  takes_text(command, "--yang", a.sonic_lint.models, "DIR",
             "Folder of SONiC's YANG models (default: none; only the built-in rules are checked, for the "
             "tables of a lossless fabric)");
  runs(command, a, [&a](const Console& c) { return run_sonic_lint(a.sonic_lint, c); });
}

void add_plan(CLI::App& sonic, Arguments& a) {
  CLI::App* const command =
      add(sonic, a, "plan", "The moves from one configuration of SONiC to another, each state valid");
  command->add_option("CURRENT", a.sonic_plan.current, "The switch's config_db.json (-: standard input)")
      ->required();
  command->add_option("TARGET", a.sonic_plan.target, "What it should be")->required();
  takes_text(command, "--yang", a.sonic_plan.models, "DIR",
             "Folder of SONiC's YANG models, by which each state is judged (default: none; by the built-in "
             "rules only)");
  runs(command, a, [&a](const Console& c) { return run_sonic_plan(a.sonic_plan, c); });
}

void add_import(CLI::App& sonic, Arguments& a) {
  CLI::App* const command = add(sonic, a, "import", "Specs for switches that run, from their configurations");
  command->add_option("FILES", a.sonic_import.files, "config_db.json of each switch")->required();
  command->add_flag("--draft", a.sonic_import.draft, "Print specs that compile to the same rows");
  runs(command, a, [&a](const Console& c) { return run_sonic_import(a.sonic_import, c); });
}

}  // namespace

void add_sonic_commands(CLI::App& app, Arguments& a) {
  CLI::App* const sonic =
      app.add_subcommand("sonic", "Switches that run SONiC: their configuration in files");
  sonic->require_subcommand(1);
  add_lint(*sonic, a);
  add_plan(*sonic, a);
  add_import(*sonic, a);
}

}  // namespace lockstep
