// The subcommands of the service.
#include "reconciler/cli/command_arguments.hpp"

namespace lockstep {

void add_service_commands(CLI::App& app, Arguments& a) {
  CLI::App* const command = add(
      app, a, "serve",
      "The service: goes for each revision of the specs, heals drift, keeps what its gates passed, undoes "
      "the rest; until Ctrl-C");
  takes_specs(command, a.serve.source);
  takes_twin(command, a.serve.source);
  takes_text(command, "--config", a.serve.config, "FILE",
             "Where the specs are, and how it works (default, without SPECS: /etc/lockstep/serve.yaml)");
  command
      ->add_option("--listen", a.serve.listen,
                   "Where it is reached: ADDRESS:PORT, or unix:PATH; may be given more than once (default: "
                   "unix:/run/lockstep/service/api.sock)")
      ->allow_extra_args(false)  // else it would take SPECS
      ->option_text("ADDRESS");
  command->add_flag("--no-measure", a.serve.no_measure, "No benchmark gates a change");
  runs(command, a, [&a, command](const Console& c) {
    a.serve.has_specs = command->count("SPECS") > 0;
    return run_serve(a.serve, c);
  });
}

}  // namespace lockstep
