#include "reconciler/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <functional>
#include <map>
#include <sstream>

#include "bench/tcp/run.hpp"
#include "bench/verbs/run.hpp"
#include "reconciler/cli/command_arguments.hpp"
#include "reconciler/cli/completion.hpp"
#include "reconciler/cli/interrupt.hpp"
#include "reconciler/cli/man_page.hpp"
#include "reconciler/cli/plan_proposal.hpp"
#include "reconciler/cli/version.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/sonic_stand_in/stand_in.hpp"
#include "reconciler/twin/sonic_device.hpp"
#include "reconciler/twin/supervisor.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

void takes_approval(CLI::App* command, Arguments& a, ApplyCommandOptions& options) {
  std::string words;
  for (const std::string_view word : approval_words())
    words += (words.empty() ? "" : ", ") + std::string(word);
  const CLI::Option* const approve =
      command
          ->add_option("--approve", options.approve,
                       "Approve these holds; the plan shows the word for each: KIND[,KIND] of " + words)
          ->option_text("KIND[,KIND]");
  for (const std::string_view word : approval_words()) a.values[approve].emplace_back(word);
}

void add_apply(CLI::App& app, Arguments& a) {
  CLI::App* const command =
      add(app, a, "apply",
          "Change the devices to match the specs, verify, measure, then keep or roll back. With a plan.json: "
          "only the steps that the file and the current specs share");
  takes_source(command, a.apply.source);
  command->add_flag("-y,--yes", a.apply.yes, "Don't ask");
  command->add_flag("--no-measure", a.apply.no_measure, "Verify only; no benchmark gate");
  command->add_flag("--confirm-deletion", a.apply.confirm_deletion,
                    "Allow the deletion of more devices, objects or settings than maxDelete");
  command->add_flag("--strict", a.apply.strict, "An SLO that can't be judged fails the gate");
  command->add_flag("--partial", a.apply.partial,
                    "Do what can be done without the devices that are unreachable");
  takes_approval(command, a, a.apply);
  command->add_option("--only", a.apply.only, "Only these devices (a hostlist)");
  command->add_option("--allowed-signers", a.apply.allowed_signers,
                      "Apply a plan.json only if one of these signed it (ssh-keygen(1), ALLOWED SIGNERS)");
  runs(command, a, [&a](const Console& c) { return run_apply(a.apply, c); });
}

void add_loop_commands(CLI::App& app, Arguments& a) {
  CLI::App* command = add(app, a, "validate", "Load, compile and check specs; touches nothing");
  takes_specs(command, a.validate.source);
  command->add_flag("--strict", a.validate.strict, "Warnings are errors");
  command->add_flag("--locked", a.validate.locked,
                    "An allocations.lock that `lock` would change is an error");
  const std::map<std::string, ValidateFormat> findings{{"gitlab", ValidateFormat::gitlab},
                                                       {"github", ValidateFormat::github}};
  takes_one_of(command, a, "--format", a.validate.format, findings,
               "gitlab or github: mistakes for CI, on standard output; the text goes to standard error",
               "FORMAT");
  runs(command, a, [&a](const Console& c) { return run_validate(a.validate, c); });

  command =
      add(app, a, "lock",
          "Write the specs' addresses, AS numbers and cluster UUID to allocations.lock; touches no device");
  takes_specs(command, a.lock);
  takes_renumber(command, a.lock);
  runs(command, a, [&a](const Console& c) { return run_lock(a.lock, c); });

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
  command->add_flag("--details", a.plan.details,
                    "Show every change by itself, and what is not supported and why");
  takes_server(command, a.plan.at,
               "Let this service plan, on the devices that it reaches: by its name in the file of contexts");
  runs(command, a, [&a](const Console& c) { return run_plan(a.plan, c); });

  add_apply(app, a);

  command = add(app, a, "drift", "What differs from the specs now");
  takes_source(command, a.drift.source);
  takes_one_of(command, a, "--format", a.drift.format, drift_formats(),
               "text, json, markdown, sarif, junit, gitlab or github", "FORMAT");
  command
      ->add_option("--report", a.drift.reports,
                   "Write the same in this format to this file as well; may be repeated")
      ->option_text("FORMAT=FILE")
      ->allow_extra_args(false);
  command->add_option("--only", a.drift.only, "Only these devices (a hostlist)");
  command->add_flag("--unmanaged", a.drift.unmanaged, "Show what is there and no spec claims");
  command->add_flag("--details", a.drift.details, "Show what is not supported, and why");
  runs(command, a, [&a](const Console& c) { return run_drift(a.drift, c); });

  command = add(app, a, "watch", "Drift, live, event by event, until Ctrl-C; edited specs are loaded");
  takes_source(command, a.watch.source);
  command->add_flag("--converge", a.watch.converge,
                    "Repair what drifts under `mode: converge`, where these specs were applied last");
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
  takes_text(command, "--compare", a.bench.compare, "RUN",
             "Show it beside a recorded run: its number, last, or change:N (what N's gate found)");
  takes_text(command, "--report", a.bench.report, "FILE.html",
             "Write a report with charts to this HTML file, which needs no other file");
  runs(command, a, [&a](const Console& c) { return run_bench(a.bench, c); });

  command = add(app, a, "history", "What was changed, by whom, with which figures; what made one worse");
  takes_specs(command, a.history.source);
  takes_twin(command, a.history.source);
  command->add_option("--newest", a.history.newest, "Number of changes to show")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* const of = command->add_option(
      "--of", a.history.of, "The figures of this device, endpoint (gpu7:rail0) or group, run by run");
  takes_one_of(command, a, "--metric", a.history.metric, forms_of(Metric{}), "Only this metric", "METRIC")
      ->needs(of);
  takes_one_of(command, a, "--statistic", a.history.statistic, forms_of(Statistic{}),
               "Statistic to show (default: median)", "STATISTIC")
      ->needs(of);
  takes_server(command, a.history.at, "The history of this service: by its name in the file of contexts");
  runs(command, a, [&a](const Console& c) { return run_history(a.history, c); });

  command = add(app, a, "show", "One change: each write with what was there before, and its gate's runs");
  command->add_option("CHANGE", a.show.change, "Its number, as `history` has it")->required();
  takes_specs(command, a.show.source);
  takes_twin(command, a.show.source);
  runs(command, a, [&a](const Console& c) { return run_show(a.show, c); });

  command = add(app, a, "undo",
                "Restore the values from before a change: a plan like any other, measured afterwards. Values "
                "that were changed again since then stay");
  command->add_option("CHANGE", a.undone, "Its number, as `history` has it")->required();
  takes_specs(command, a.undo.source);
  takes_twin(command, a.undo.source);
  command->add_flag("-y,--yes", a.undo.yes, "Don't ask");
  command->add_flag("--no-measure", a.undo.no_measure, "Verify only; no benchmark gate");
  command->add_flag("--strict", a.undo.strict, "An SLO that can't be judged fails the gate");
  command->add_flag("--partial", a.undo.partial,
                    "Do what can be done without the devices that are unreachable");
  takes_approval(command, a, a.undo);
  runs(command, a, [&a](const Console& c) {
    a.undo.undone = a.undone;
    return run_apply(a.undo, c);
  });
}

void add_render(CLI::App& app, Arguments& a) {
  CLI::App* const command =
      add(app, a, "render", "What one device should be, or each into a file; touches no device");
  command->add_option("WORDS", a.render.words, "[SPECS] DEVICE; with --all: [SPECS]")
      ->expected(0, 2)
      ->option_text("[SPECS] DEVICE | [SPECS] --all --out DIR");
  const std::map<std::string, RenderFormat> forms{{"native", RenderFormat::native}};
  takes_one_of(command, a, "--format", a.render.form, forms,
               "native: the commands that set it, and the files that its daemons read", "native");
  CLI::Option* const all = command->add_flag("--all", a.render.all, "Every device, each into its own file");
  CLI::Option* const out =
      command->add_option("--out", a.render.out, "Folder of these files; made where it is not there")
          ->option_text("DIR");
  all->needs(out);
  out->needs(all);
  takes_twin_and_numbers(command, a.render.source);
  takes_max_entries(command, a.render.source.max_entries);
  runs(command, a, [&a](const Console& c) { return run_render(a.render, c); });
}

void add_reading_commands(CLI::App& app, Arguments& a) {
  CLI::App* command =
      add(app, a, "discover",
          "What is there: this machine, or with SPECS every device that is reachable from it");
  takes_specs(command, a.discover.source);
  CLI::Option* const specs = command->get_option("SPECS");
  takes_twin(command, a.discover.source);
  command->add_flag("--draft", a.discover.draft, "Write a first draft of specs for it");
  runs(command, a, [&a, specs](const Console& c) {
    a.discover.of_specs = specs->count() != 0 || a.discover.source.twin;
    return run_discover(a.discover, c);
  });

  command = add(app, a, "explain",
                "Spec line -> rule -> setting -> native call; or what a code such as LS1002 means");
  command
      ->add_option("WORDS", a.explain.words,
                   "[SPECS] DEVICE [PATH], or a code; without PATH: what can be asked")
      ->required()
      ->expected(1, 3)
      ->option_text("[SPECS] DEVICE [PATH] | CODE");
  takes_twin(command, a.explain.source);
  takes_max_entries(command, a.explain.source.max_entries);
  runs(command, a, [&a](const Console& c) { return run_explain(a.explain, c); });

  add_render(app, a);

  command = add(app, a, "diff", "Two versions of the specs compared, device by device, entry by entry");
  command->add_option("OLD", a.diff.was, "Folder or file of specs")->required();
  command->add_option("NEW", a.diff.now, "The same, as it is to be")->required();
  const std::map<std::string, DiffFormat> pages{{"markdown", DiffFormat::markdown}};
  takes_one_of(command, a, "--format", a.diff.form, pages, "markdown: one page for a merge request",
               "markdown");
  takes_max_entries(command, a.diff.max_entries);
  runs(command, a, [&a](const Console& c) { return run_diff(a.diff, c); });

  command = app.add_subcommand("topology", "The fabric as a picture");
  takes_specs(command, a.topology.source);
  const std::map<std::string, PictureFormat> forms{
      {"text", PictureFormat::text}, {"dot", PictureFormat::dot}, {"svg", PictureFormat::svg}};
  takes_one_of(command, a, "-o,--output", a.topology.format, forms, "text, dot or svg", "FORM");
  takes_text(command, "--drift", a.topology.drift, "FILE.json",
             "Mark in the SVG what differs or was not observed, by this output of `drift -o json`");
  takes_text(command, "--bench", a.topology.bench, "FILE.json",
             "Mark in the SVG what failed or is suspected, by this output of `bench -o json`");
  runs(command, a, [&a](const Console& c) { return run_topology(a.topology, c); });

  command = app.add_subcommand("schema", "JSON Schema of a kind, or of all, for editors");
  const CLI::Option* const kind = command->add_option("KIND", a.schema_kind, "A kind, such as Fabric");
  for (const KindRow& row : kind_rows()) a.values[kind].emplace_back(row.name);
  command->add_flag("--list", a.schema_lists, "The kinds, and what each is for");
  runs(command, a,
       [&a](const Console& c) { return a.schema_lists ? run_schema_list(c) : run_schema(a.schema_kind, c); });

  command = add(app, a, "version", "Version and what it was built with, for bug reports");
  runs(command, a, [](const Console& c) { return run_version(c); });
}

void add_completion(CLI::App& app, Arguments& a) {
  CLI::App* const command =
      app.add_subcommand("completion", "Completion script: source <(lockstep completion bash)");
  a.values[command->add_option("SHELL", a.shell, "bash, zsh or fish")] = {"bash", "fish", "zsh"};
  runs(command, a, [&app, &a](const Console& console) {
    const Result<std::string> script = completion_script(a.shell, completion_commands(app, a.values));
    if (!script) return console.fail_usage(script.error().text());
    console.print_format(*script);
    return kExitInSync;
  });
}

// Generates the tree's documentation and packages (tests/docs/generate.sh, cmake/Package.cmake).
void add_generate_commands(CLI::App& app, Arguments& a) {
  CLI::App* const generate = app.add_subcommand("generate", "Documentation from the program's own tables");
  hide(*generate);
  generate->require_subcommand(1);
  CLI::App* command = generate->add_subcommand("spec-reference", "docs/spec-reference.md");
  command->add_option("SPECS", a.examples, "Specs that give the examples")->required();
  runs(command, a, [&a](const Console& c) { return run_generate_spec_reference(a.examples, c); });
  command = generate->add_subcommand("troubleshooting", "docs/troubleshooting.md");
  command->add_option("FOLDER", a.examples, "Folders of wrong specs, each named by its code")->required();
  runs(command, a, [&a](const Console& c) { return run_generate_troubleshooting(a.examples, c); });
  command = generate->add_subcommand("api-reference", "docs/api.md");
  runs(command, a, run_generate_api_reference);
  command = generate->add_subcommand("man-pages", "A manual page for each command");
  command->add_option("FOLDER", a.man_folder, "Where they are written")->required();
  runs(command, a,
       [&app, &a](const Console& c) { return run_generate_man_pages(man_pages(app), a.man_folder, c); });
}

}  // namespace

int run_command_line(int argc, char** argv) {
  hold_standard_descriptors();
  // A reader that closes its end must not end an apply half-way: the write fails instead (EPIPE, write(2)).
  std::signal(SIGPIPE, SIG_IGN);
  // The traffic endpoints: started by a benchmark, one process per endpoint; not a user command.
  if (argc > 1 && std::string_view(argv[1]) == "probe") return bench::probe_main(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "verbs-probe")
    return bench::verbs::verbs_probe_main(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == kSupervisorWord) return supervisor_main();
  if (argc > 1 && std::string_view(argv[1]) == kSonicStandIn) return sonic_stand_in_main(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == kPlanProposalWord) return plan_proposal_main();
  CLI::App app{kAbout, "lockstep"};
  app.footer(kFooter);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  Arguments arguments;
  add_loop_commands(app, arguments);
  add_measuring_commands(app, arguments);
  add_reading_commands(app, arguments);
  add_service_commands(app, arguments);
  add_client_commands(app, arguments);
  add_twin_commands(app, arguments);
  add_state_commands(app, arguments);
  add_host_policy_commands(app, arguments);
  add_ca_commands(app, arguments);
  add_sonic_commands(app, arguments);
  add_completion(app, arguments);
  add_generate_commands(app, arguments);
  refuse_empty_values(app);
  give_examples(app);
  app.set_version_flag("--version", "lockstep " + version_text());
  const std::vector<std::string> words = command_words(argc, argv);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(pointers.size()), pointers.data());
  } catch (const CLI::ParseError& error) {
    // CLI11 prints help (code 0) or the mistake; every mistake is exit code 1 here.
    Console console;
    const std::string unknown = unknown_command(app, words);
    if (error.get_exit_code() == 0 && unknown.empty()) {
      std::ostringstream help;
      app.exit(error, help, help);
      console.print(help.str());
      return console.end(kExitInSync);
    }
    console.output = wanted_output(words);
    return console.end(console.fail_usage(unknown.empty() ? mistake_of(app, words, error) : unknown));
  }
  Console console;
  console.output = arguments.output;
  try {
    const Interrupt interrupt;
    console.stop = interrupt.token();
    console.stop_fd = interrupt.descriptor();
    return console.end(arguments.chosen(console));
  } catch (const std::system_error& lacking) {  // no descriptor or thread is available at start
    return console.end(console.fail(Error{ErrorKind::transient, lacking.what()}));
  }
}

}  // namespace lockstep
