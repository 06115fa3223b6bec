// The subcommands about SONiC switches.
#include "reconciler/cli/command_arguments.hpp"

namespace lockstep {

void add_sonic_commands(CLI::App& app, Arguments& a) {
  CLI::App* const sonic =
      app.add_subcommand("sonic", "Switches that run SONiC: their configuration in files");
  sonic->require_subcommand(1);
  CLI::App* const command =
      add(*sonic, a, "lint", "Check a configuration of SONiC: types, references, and rules between fields");
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

}  // namespace lockstep
