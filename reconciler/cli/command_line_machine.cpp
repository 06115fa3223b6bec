// The subcommands about this machine: twins, the stored state, and its host policy.
#include "reconciler/cli/command_arguments.hpp"
#include "reconciler/twin/faults.hpp"
#include "reconciler/twin/supervisor.hpp"

namespace lockstep {

void add_twin_commands(CLI::App& app, Arguments& a) {
  CLI::App* const twin =
      app.add_subcommand("twin", "The same cluster on this machine: namespaces, veth, real FRR");
  twin->require_subcommand(1);

  CLI::App* command =
      add(*twin, a, "up",
          "Start it, bare; if it is running: add new devices and cables, remove deleted ones. "
          "`apply --twin` configures it");
  takes_specs(command, a.twin_up.source);
  takes_link_rate(command, a.twin_up.source);
  command->add_flag("--agents", a.twin_up.agents,
                    "Each device runs lockstep-agent, and is reached through it over a management network");
  command->add_flag("--no-lldp", a.twin_up.no_lldp, "Without lldpd: cabling is not checked by LLDP");
  runs(command, a, [&a](const Console& c) { return run_twin_up(a.twin_up, c); });

  command = add(*twin, a, "down", "Remove it; leaves nothing behind");
  takes_specs(command, a.twin_down.source);
  command->add_option("--name", a.twin_down.name,
                      "The twin of this name, as `twin list` has it; reads no specs");
  command->add_flag("--force", a.twin_down.force, "Even while a command changes or measures it");
  runs(command, a, [&a](const Console& c) { return run_twin_down(a.twin_down, c); });

  command = add(*twin, a, "list", "The twins on this machine: name, folder, process, since when");
  runs(command, a, [](const Console& c) { return run_twin_list(c); });

  command = add(*twin, a, "status", "What runs, and what has died");
  takes_specs(command, a.twin_status);
  runs(command, a, [&a](const Console& c) { return run_twin_status(a.twin_status, c); });

  command = add(*twin, a, "exec", "Run a command in a device: twin exec SPECS DEVICE ip link");
  command->add_option("SPECS", a.twin_exec.specs, "Folder of specs")->required();
  command->add_option("DEVICE", a.twin_exec.device, "Device")->required();
  command->add_option(kCommandOfExec, a.twin_exec.command, "Command and its arguments")->required();
  runs(command, a, [&a](const Console& c) { return run_twin_exec(a.twin_exec, c); });

  command =
      add(*twin, a, "break", "Make a fault by name: twin break SPECS FAULT [ARGUMENTS]; --list shows all");
  command->add_option("SPECS", a.twin_break.specs, "Folder of specs");
  CLI::Option* const fault = command->add_option("FAULT", a.twin_break.fault, "Fault");
  for (const Fault& one : faults()) a.values[fault].emplace_back(one.name);
  command->add_option("ARGUMENTS", a.twin_break.arguments, "What the fault takes");
  command->add_flag("--list", a.twin_break.list, "The faults, and what each takes")->excludes(fault);
  runs(command, a, [&a](const Console& c) { return run_twin_break(a.twin_break, c); });
}

void add_state_commands(CLI::App& app, Arguments& a) {
  CLI::App* const state =
      app.add_subcommand("state", "What is stored of a cluster: its changes, baselines, what was accepted");
  state->require_subcommand(1);

  CLI::App* command = add(*state, a, "show", "What the state directory holds, who leads, the last backup");
  takes_specs(command, a.state_show);
  takes_twin(command, a.state_show);
  runs(command, a, [&a](const Console& c) { return run_state_show(a.state_show, c); });

  command = add(*state, a, "backup", "Copy it to a file, whole, while other commands go on");
  command->add_option("FILE", a.state_backup.file, "The backup; one that is there is replaced")->required();
  takes_specs(command, a.state_backup.source);
  takes_twin(command, a.state_backup.source);
  runs(command, a, [&a](const Console& c) { return run_state_backup(a.state_backup, c); });

  command = add(*state, a, "restore", "Put a backup in its place; what was there is kept beside it");
  command->add_option("FILE", a.state_restore.file, "A file that `state backup` made")->required();
  takes_specs(command, a.state_restore.source);
  takes_twin(command, a.state_restore.source);
  runs(command, a, [&a](const Console& c) { return run_state_restore(a.state_restore, c); });

  command = add(*state, a, "adopt",
                "Take over what changed this machine before, under another name, UUID or state directory");
  takes_specs(command, a.state_adopt);
  runs(command, a, [&a](const Console& c) { return run_state_adopt(a.state_adopt, c); });
}

void add_host_policy_commands(CLI::App& app, Arguments& a) {
  CLI::App* const policy =
      app.add_subcommand("host-policy", "What specs may do to this machine: /etc/lockstep/host.yaml");
  policy->require_subcommand(1);
  CLI::App* command = add(*policy, a, "init", "Write a first /etc/lockstep/host.yaml, with the default");
  runs(command, a, [](const Console& c) { return run_host_policy_init(c); });
  command = add(*policy, a, "check", "Read it as an apply does, and say what is wrong; or a draft of it");
  command->add_option("FILE", a.host_policy_file, "A draft (default: this machine's own)");
  runs(command, a, [&a](const Console& c) { return run_host_policy_check(a.host_policy_file, c); });
  command = add(*policy, a, "explain", "All that holds here, and which line says so; or one setting's fate");
  command->add_option("SETTING", a.host_policy_setting,
                      "A setting such as 'sysctl[vm.nr_hugepages]': exit code 2 where it is refused");
  runs(command, a, [&a](const Console& c) { return run_host_policy_explain(a.host_policy_setting, c); });
}

}  // namespace lockstep
