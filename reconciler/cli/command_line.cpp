#include "reconciler/cli/command_line.hpp"

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <functional>
#include <map>
#include <sstream>

#include "bench/tcp/run.hpp"
#include "bench/verbs/run.hpp"
#include "reconciler/cli/command_words.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/completion.hpp"
#include "reconciler/cli/interrupt.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/twin/faults.hpp"
#include "reconciler/twin/supervisor.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr const char* kCommandOfExec = "COMMAND";  // the words of another program: one may well be empty

// Everything the subcommands fill; one lives for the whole parse.
struct Arguments {
  OutputFormat output = OutputFormat::text;
  ValidateOptions validate;
  PlanOptions plan;
  ApplyCommandOptions apply;
  DriftOptions drift;
  WatchOptions watch;
  BenchOptions bench;
  HistoryOptions history;
  ShowOptions show;
  DiscoverOptions discover;
  ExplainOptions explain;
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
  std::string host_policy_file;
  std::string host_policy_setting;
  std::string schema_kind;
  std::string shell = "bash";
  std::function<int(const Console&)> chosen;
  std::map<const CLI::Option*, std::vector<std::string>> values;  // the words that an option takes, if few
};

template <class Run>
void runs(CLI::App* command, Arguments& arguments, Run run) {
  command->callback([&arguments, run] { arguments.chosen = run; });
}

// CLI11's own CheckedTransformer shows the numbers of an enum where it refuses a word.
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

void takes_max_entries(CLI::App* command, ClusterSource& source) {
  command
      ->add_option(
          "--max-entries", source.max_entries,
          "Entries that the specs may want of all devices together; more are refused before memory is spent")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void takes_specs(CLI::App* command, ClusterSource& source) {
  takes_max_entries(command, source);
  command->add_option("SPECS", source.specs,
                      "Folder or files of specs (default: the current folder; -: standard input)");
}

CLI::Option* takes_link_rate(CLI::App* command, ClusterSource& source) {
  return command->add_option("--link-rate", source.link_rate,
                             "Speed of the twin's fastest link; the others in proportion (default: as `twin "
                             "up` was told, else 1Gbps)");
}

CLI::Option* takes_twin(CLI::App* command, ClusterSource& source) {
  return command->add_flag("--twin", source.twin, "Aim at this cluster's twin on this machine");
}

void takes_source(CLI::App* command, ClusterSource& source) {
  takes_specs(command, source);
  takes_link_rate(command, source)->needs(takes_twin(command, source));
  command->add_flag(
      "--renumber", source.renumber,
      "Forget the numbers of allocations.lock (of a twin: its own): give out addresses and ASNs anew");
}

void takes_output(CLI::App* command, Arguments& arguments) {
  const std::map<std::string, OutputFormat> forms{
      {"text", OutputFormat::text}, {"json", OutputFormat::json}, {"yaml", OutputFormat::yaml}};
  takes_one_of(command, arguments, "-o,--output", arguments.output, forms,
               "Form of the output: text, json or yaml", "FORM");
}

CLI::App* add(CLI::App& app, Arguments& arguments, const char* name, const char* help) {
  CLI::App* const command = app.add_subcommand(name, help);
  takes_output(command, arguments);
  return command;
}

void add_apply(CLI::App& app, Arguments& a) {
  CLI::App* const command =
      add(app, a, "apply",
          "Converge: apply, verify, measure, keep or undo. SPECS may be a plan.json: what the specs ask for "
          "now and it has is done");
  takes_source(command, a.apply.source);
  command->add_flag("-y,--yes", a.apply.yes, "Don't ask");
  command->add_flag("--no-measure", a.apply.no_measure, "Verify only; no benchmark gate");
  command->add_flag("--confirm-deletion", a.apply.confirm_deletion,
                    "Take away more devices, objects or settings than maxDelete allows");
  command->add_flag("--strict", a.apply.strict, "An SLO that can't be judged fails the gate");
  command->add_flag("--partial", a.apply.partial,
                    "Do what can be done without the devices that are unreachable");
  std::string words;
  for (const std::string_view word : approval_words())
    words += (words.empty() ? "" : ", ") + std::string(word);
  const CLI::Option* const approve =
      command
          ->add_option("--approve", a.apply.approve,
                       "Lift these kinds of holds, as the plan names them: KIND[,KIND] of " + words)
          ->option_text("KIND[,KIND]");
  for (const std::string_view word : approval_words()) a.values[approve].emplace_back(word);
  command->add_option("--only", a.apply.only, "Only these devices (a hostlist)");
  command->add_option("--allowed-signers", a.apply.allowed_signers,
                      "Apply a plan.json only if one of these signed it (ssh-keygen(1), ALLOWED SIGNERS)");
  runs(command, a, [&a](const Console& c) { return run_apply(a.apply, c); });
}

void add_loop_commands(CLI::App& app, Arguments& a) {
  CLI::App* command = add(app, a, "validate", "Load, validate, compile and prove specs; touches nothing");
  takes_specs(command, a.validate.source);
  command->add_flag("--strict", a.validate.strict, "Warnings are errors");
  runs(command, a, [&a](const Console& c) { return run_validate(a.validate, c); });

  command = add(app, a, "plan", "What would change, in order, with disruption and origin");
  takes_source(command, a.plan.source);
  CLI::Option* const out =
      command->add_option("--out", a.plan.out,
                          "Write the plan to this file, whose name ends in .json, for `lockstep apply FILE`");
  command
      ->add_option("--sign", a.plan.sign,
                   "Sign that file with this SSH key, into FILE.sig (a key with a passphrase: by ssh-agent, "
                   "and its .pub here)")
      ->needs(out);
  command->add_option("--only", a.plan.only, "Only these devices (a hostlist)");
  runs(command, a, [&a](const Console& c) { return run_plan(a.plan, c); });

  add_apply(app, a);

  command = add(app, a, "drift", "What differs from the specs now");
  takes_source(command, a.drift.source);
  const std::map<std::string, DriftFormat> forms{
      {"text", DriftFormat::text},    {"json", DriftFormat::json},   {"markdown", DriftFormat::markdown},
      {"sarif", DriftFormat::sarif},  {"junit", DriftFormat::junit}, {"gitlab", DriftFormat::gitlab},
      {"github", DriftFormat::github}};
  takes_one_of(command, a, "--format", a.drift.format, forms,
               "text, json, markdown, sarif, junit, gitlab or github", "FORMAT");
  command->add_option("--only", a.drift.only, "Only these devices (a hostlist)");
  command->add_flag("--unmanaged", a.drift.unmanaged, "Show what is there and no spec claims");
  runs(command, a, [&a](const Console& c) { return run_drift(a.drift, c); });

  command = add(app, a, "watch", "Drift, live, event by event, until Ctrl-C; edited specs are loaded");
  takes_source(command, a.watch.source);
  command->add_flag("--converge", a.watch.converge,
                    "Heal what drifts under `mode: converge`, where these specs were applied last");
  runs(command, a, [&a](const Console& c) { return run_watch(a.watch, c); });
}

template <class Choice>
std::map<std::string, Choice> forms_of(Choice first) {
  std::map<std::string, Choice> out;
  for (const std::string_view word : words(first)) out.emplace(word, static_cast<Choice>(out.size()));
  return out;
}

void add_measuring_commands(CLI::App& app, Arguments& a) {
  CLI::App* command = add(app, a, "bench", "Run the validation suites and judge them");
  takes_source(command, a.bench.source);
  command->add_option("--suite", a.bench.suite, "Only this ValidationSuite");
  command->add_option("--only", a.bench.only, "Only this benchmark");
  command->add_flag("--strict", a.bench.strict, "`unknown` fails");
  command->add_flag("--accept", a.bench.accept, "Make the result the baseline, if all SLOs hold");
  command
      ->add_option("--compare", a.bench.compare,
                   "Show it beside a recorded run: its number, last, or change:N (what N's gate found)")
      ->option_text("RUN");
  runs(command, a, [&a](const Console& c) { return run_bench(a.bench, c); });

  command = add(app, a, "history", "What was changed, by whom, with which figures; what made one worse");
  takes_specs(command, a.history.source);
  takes_twin(command, a.history.source);
  command->add_option("--newest", a.history.newest, "So many changes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* const of = command->add_option(
      "--of", a.history.of, "The figures of this device, endpoint (gpu7:rail0) or group, run by run");
  takes_one_of(command, a, "--metric", a.history.metric, forms_of(Metric{}), "Only this metric", "METRIC")
      ->needs(of);
  takes_one_of(command, a, "--statistic", a.history.statistic, forms_of(Statistic{}),
               "Which of each distribution (default: median)", "STATISTIC")
      ->needs(of);
  runs(command, a, [&a](const Console& c) { return run_history(a.history, c); });

  command = add(app, a, "show", "One change: each write with what was there before, and its gate's runs");
  command->add_option("CHANGE", a.show.change, "Its number, as `history` has it")->required();
  takes_specs(command, a.show.source);
  takes_twin(command, a.show.source);
  runs(command, a, [&a](const Console& c) { return run_show(a.show, c); });
}

void add_reading_commands(CLI::App& app, Arguments& a) {
  CLI::App* command =
      add(app, a, "discover", "What is there: this machine, or with --twin every device of the twin");
  takes_specs(command, a.discover.source);
  // A machine is what it is without specs.
  command->get_option("SPECS")->needs(takes_twin(command, a.discover.source));
  command->add_flag("--draft", a.discover.draft, "Write a first draft of specs for it");
  runs(command, a, [&a](const Console& c) { return run_discover(a.discover, c); });

  command = add(app, a, "explain",
                "Spec line -> rule -> setting -> native call; or what a code such as LS1002 means");
  command->add_option("WORDS", a.explain.words, "[SPECS] DEVICE PATH, or a code")
      ->required()
      ->expected(1, 3)
      ->option_text("[SPECS] DEVICE PATH | CODE");
  takes_twin(command, a.explain.source);
  takes_max_entries(command, a.explain.source);
  runs(command, a, [&a](const Console& c) { return run_explain(a.explain, c); });

  command = app.add_subcommand("topology", "The fabric as a picture");
  takes_specs(command, a.topology.source);
  const std::map<std::string, PictureFormat> forms{
      {"text", PictureFormat::text}, {"dot", PictureFormat::dot}, {"svg", PictureFormat::svg}};
  takes_one_of(command, a, "-o,--output", a.topology.format, forms, "text, dot or svg", "FORM");
  runs(command, a, [&a](const Console& c) { return run_topology(a.topology, c); });

  command = app.add_subcommand("schema", "JSON Schema of a kind, or of all, for editors");
  const CLI::Option* const kind = command->add_option("KIND", a.schema_kind, "A kind, such as Fabric");
  for (const KindRow& row : kind_rows()) a.values[kind].emplace_back(row.name);
  runs(command, a, [&a](const Console& c) { return run_schema(a.schema_kind, c); });

  command = add(app, a, "version", "Version and what it was built with, for bug reports");
  runs(command, a, [](const Console& c) { return run_version(c); });
}

void add_twin_commands(CLI::App& app, Arguments& a) {
  CLI::App* const twin =
      app.add_subcommand("twin", "The same cluster on this machine: namespaces, veth, real FRR");
  twin->require_subcommand(1);

  CLI::App* command = add(*twin, a, "up",
                          "Bring it up, bare, or change one that is up to what the specs have now: `apply "
                          "--twin` converges it");
  takes_specs(command, a.twin_up.source);
  takes_link_rate(command, a.twin_up.source);
  command->add_flag("--no-lldp", a.twin_up.no_lldp, "Without lldpd: cabling is not checked by LLDP");
  runs(command, a, [&a](const Console& c) { return run_twin_up(a.twin_up, c); });

  command = add(*twin, a, "down", "Tear it down; nothing stays");
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

void collect(const CLI::App& app, const std::string& prefix, const Arguments& a,
             std::vector<CompletionCommand>& out) {
  for (const CLI::App* const command : app.get_subcommands(nullptr)) {
    CompletionCommand one{prefix + command->get_name(), command->get_description(), {}, {}};
    for (const CLI::Option* const option : command->get_options()) {
      const auto found = a.values.find(option);
      const auto values = found == a.values.end() ? std::vector<std::string>{} : found->second;
      for (const std::string& name : option->get_lnames())
        one.options.push_back({"--" + name, option->get_description(), values});
      for (const std::string& name : option->get_snames())
        one.options.push_back({"-" + name, option->get_description(), values});
      if (option->get_positional()) one.arguments.insert(one.arguments.end(), values.begin(), values.end());
    }
    for (const CLI::App* const below : command->get_subcommands(nullptr))
      one.subcommands.push_back({below->get_name(), below->get_description()});
    out.push_back(std::move(one));
    collect(*command, prefix + command->get_name() + " ", a, out);
  }
}

void add_completion(CLI::App& app, Arguments& a) {
  CLI::App* const command =
      app.add_subcommand("completion", "Completion script: source <(lockstep completion bash)");
  a.values[command->add_option("SHELL", a.shell, "bash, zsh or fish")] = {"bash", "fish", "zsh"};
  runs(command, a, [&app, &a](const Console& console) {
    std::vector<CompletionCommand> commands;
    collect(app, "", a, commands);
    const Result<std::string> script = completion_script(a.shell, commands);
    if (!script) return console.fail_usage(script.error().text());
    console.print_format(*script);
    return kExitInSync;
  });
}

// What is empty is most often a shell variable that is not set: taken for "not given" it would widen what the
// command does to all devices, or to another cluster.
void refuse_empty_values(CLI::App& app) {
  const auto refuse = [](std::string& value) -> std::string {
    return value.empty() ? "the value is empty; leave it out where none is meant" : "";
  };
  for (CLI::Option* const option : app.get_options())
    if (option->get_name() != kCommandOfExec) option->check(CLI::Validator(refuse, ""));
  for (CLI::App* const command : app.get_subcommands(nullptr)) refuse_empty_values(*command);
}

// What -o asks for, where the command line is wrong and CLI11 has filled nothing in.
OutputFormat wanted_output(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if ((word == "-o" || word == "--output") && i + 1 < argc)
      word = argv[i + 1];
    else if (word.starts_with("--output="))
      word.remove_prefix(std::string_view("--output=").size());
    else if (word.starts_with("-o"))
      word.remove_prefix(std::string_view("-o").size());
    else
      continue;
    if (word == "json") return OutputFormat::json;
    if (word == "yaml") return OutputFormat::yaml;
  }
  return OutputFormat::text;
}

// A descriptor 0, 1 or 2 that is closed (`>&-`) would become the next file that is opened, and what is
// printed would go into it. In its place comes one that can't be written, or read.
void hold_standard_descriptors() {
  for (const int descriptor : {0, 1, 2}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free descriptor is the one (open(2)); without /dev/null it stays closed.
    [[maybe_unused]] const int held = open("/dev/null", descriptor == 1 ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  hold_standard_descriptors();
  // A reader that closes its end must not end an apply half-way: the write fails instead (EPIPE, write(2)).
  std::signal(SIGPIPE, SIG_IGN);
  // The traffic end points: started by a benchmark, one process an endpoint; no command for people.
  if (argc > 1 && std::string_view(argv[1]) == "probe") return bench::probe_main(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "verbs-probe")
    return bench::verbs::verbs_probe_main(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == kSupervisorWord) return supervisor_main();
  CLI::App app{kAbout, "lockstep"};
  app.footer(kFooter);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  Arguments arguments;
  add_loop_commands(app, arguments);
  add_measuring_commands(app, arguments);
  add_reading_commands(app, arguments);
  add_twin_commands(app, arguments);
  add_state_commands(app, arguments);
  add_host_policy_commands(app, arguments);
  add_completion(app, arguments);
  refuse_empty_values(app);
  give_examples(app);
  app.set_version_flag("--version", "lockstep " LOCKSTEP_VERSION);
  const std::vector<std::string> words = command_words(argc, argv);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const CLI::ParseError& error) {
    // CLI11 prints help (code 0) or the mistake; every mistake is our exit code 1.
    Console console;
    const std::string unknown = unknown_command(app, words);
    if (error.get_exit_code() == 0 && unknown.empty()) {
      std::ostringstream help;
      app.exit(error, help, help);
      console.print(help.str());
      return console.end(kExitInSync);
    }
    console.output = wanted_output(argc, argv);
    const std::string text = unknown.empty() ? mistake_of(app, words, error) : unknown;
    return console.end(console.fail_usage(text));
  }
  Console console;
  console.output = arguments.output;
  try {
    const Interrupt interrupt;
    console.stop = interrupt.token();
    console.stop_fd = interrupt.descriptor();
    return console.end(arguments.chosen(console));
  } catch (const std::system_error& lacking) {  // no descriptor or no thread to begin with
    return console.end(console.fail(Error{ErrorKind::transient, lacking.what()}));
  }
}

}  // namespace lockstep
