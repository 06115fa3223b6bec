// The subcommands that talk to a running service.
#include "reconciler/cli/command_arguments.hpp"
#include "reconciler/client/object_kinds.hpp"

namespace lockstep {

void takes_server(CLI::App* command, ServerOptions& at, const char* about_context) {
  CLI::Option* const context =
      command->add_option("--context", at.context, about_context)->option_text("NAME");
  CLI::Option* const server =
      command
          ->add_option("--server", at.server,
                       "The service, by its address: https://HOST[:PORT], unix:/PATH, or http:// on loopback")
          ->option_text("ADDRESS")
          ->excludes(context);
  const auto takes_file = [&](const char* name, std::string& to, const char* about) {
    return command->add_option(name, to, about)->option_text("FILE")->needs(server);
  };
  takes_file("--ca", at.ca, "Of --server: PEM file of the authorities that are believed");
  CLI::Option* const certificate =
      takes_file("--certificate", at.certificate, "Of --server: PEM file with one's certificate");
  CLI::Option* const key = takes_file("--key", at.key, "Of --server: PEM file with its private key");
  certificate->needs(key);
  key->needs(certificate);
  takes_file("--token-file", at.token_file, "Of --server: file with one's token");
}

namespace {

void takes_server(CLI::App* command, ServerOptions& at) {
  takes_server(command, at,
               "The service, by its name in the file of contexts (default: the current one, else the service "
               "of this machine)");
}

// An error in a form that a program asked for is an object in that form, too.
void takes_form(CLI::App* command, Arguments& a, GetOptions& get) {
  const auto check = [&a](const std::string& form) {
    a.output = form == "json" ? OutputFormat::json : form == "yaml" ? OutputFormat::yaml : OutputFormat::text;
    return wrong_object_form(form);
  };
  CLI::Option* const option =
      command
          ->add_option("-o,--output", get.form,
                       "Form of the output: text, wide, yaml, json, name, or jsonpath=TEMPLATE as of kubectl")
          ->option_text("FORM")
          ->check(CLI::Validator(check, ""));
  a.values[option] = {"text", "wide", "yaml", "json", "name", "jsonpath="};
}

void takes_listing(CLI::App* command, Arguments& a, GetOptions& get) {
  takes_form(command, a, get);
  command
      ->add_option("--field-selector", get.fields,
                   "Only objects with these values, such as status.inSync=false")
      ->option_text("FIELD=VALUE[,...]");
  command->add_option("--limit", get.limit, "At most so many objects")->check(CLI::PositiveNumber);
  command->add_option("--sort-by", get.sort_by, "Sort by a field, such as .status.differences")
      ->option_text("PATH");
  command->add_flag("-w,--watch", get.watch, "Then show each change, until Ctrl-C");
  command->add_flag("--output-watch-events", get.watch_types,
                    "Of --watch: ADDED, MODIFIED or DELETED with each");
  command->add_flag("--no-headers", get.no_headers, "A table without its header");
  takes_server(command, get.at);
}

void takes_kinds(Arguments& a, const CLI::Option* words) {
  for (const client::KindRow& kind : client::object_kinds()) a.values[words].emplace_back(kind.plural);
}

void add_reading(CLI::App& app, Arguments& a) {
  CLI::App* command = app.add_subcommand("get", "Objects of a running service, as of kubectl");
  const CLI::Option* words =
      command
          ->add_option("WORDS", a.client.get.words,
                       "KIND [NAME ...], or KIND/NAME ...; kinds: clusters (the service "
                       "itself), revisions, devices, changes, benchmarkruns, findings, events, and those of "
                       "the specs, "
                       "such as fabrics; and counters [DEVICE], which the device itself is asked for: a "
                       "SONiC switch of the specs, or without DEVICE this host")
          ->required()
          ->option_text("KIND [NAME ...]");
  takes_kinds(a, words);
  command->add_option("-l,--selector", a.client.get.labels, "Only objects with these labels, as of kubectl")
      ->option_text("LABELS");
  command
      ->add_option("--specs", a.client.get.specs,
                   "Of counters DEVICE: the folder of specs (default: this one)")
      ->option_text("SPECS");
  takes_listing(command, a, a.client.get);
  runs(command, a, [&a](const Console& c) { return run_get(a.client.get, c); });

  command = app.add_subcommand("describe", "One object of a running service: all of it, and its events");
  words = command->add_option("WORDS", a.client.describe.words, "KIND NAME, or KIND/NAME")
              ->required()
              ->expected(1, 2)
              ->option_text("KIND NAME");
  takes_kinds(a, words);
  takes_server(command, a.client.describe.at);
  runs(command, a, [&a](const Console& c) { return run_describe(a.client.describe, c); });

  command = app.add_subcommand("events", "What a running service did and found, since it was started");
  command->add_option("--for", a.client.events.of, "Only of this object")->option_text("KIND/NAME");
  const std::vector<std::string> types{"Normal", "Warning"};
  CLI::Option* const type =
      command->add_option("--types", a.client.events.type, "Only these: Normal or Warning")
          ->option_text("TYPE")
          ->check(CLI::IsMember(types));
  a.values[type] = types;
  takes_listing(command, a, a.client.events.get);
  runs(command, a, [&a](const Console& c) { return run_events(a.client.events, c); });
}

CLI::Option* takes_reason(CLI::App* command, std::string& reason) {
  return command->add_option("--reason", reason, "Why, for those who find it")->option_text("TEXT");
}

void add_decisions(CLI::App& app, Arguments& a) {
  CLI::App* command =
      add(app, a, "approve",
          "Approve steps of a revision that wait for it: shows them, asks, approves exactly these");
  command->add_option("REVISION", a.client.approve.revision, "Its name, or the start of it")->required();
  command
      ->add_option("--step", a.client.approve.steps,
                   "Only this step, by the start of its digest; may be repeated (default: all that wait)")
      ->option_text("DIGEST")
      ->allow_extra_args(false);
  takes_reason(command, a.client.approve.reason);
  command->add_flag("-y,--yes", a.client.approve.yes, "Don't ask");
  takes_server(command, a.client.approve.at);
  runs(command, a, [&a](const Console& c) { return run_approve(a.client.approve, c); });

  command = add(app, a, "reject", "Reject a revision: the service goes for the one before it");
  command->add_option("REVISION", a.client.say.names, "Its name, or the start of it")
      ->required()
      ->expected(1);
  takes_reason(command, a.client.say.reason)->required();
  takes_server(command, a.client.say.at);
  runs(command, a, [&a](const Console& c) { return run_reject(a.client.say, c); });
}

void add_orders(CLI::App& app, Arguments& a) {
  struct Order {
    const char* word;
    const char* what;
    bool of_devices;
    bool needs_reason;
  };
  for (const Order& one :
       {Order{"suspend", "Stop all writes of the service until somebody resumes", false, true},
        Order{"resume", "End a suspension, close the circuit breaker, correct what differs", false, false},
        Order{"reconcile", "Fetch the specs and observe the whole cluster now", false, false},
        Order{"cordon", "Stop all writes to devices until they are uncordoned", true, true},
        Order{"uncordon", "Allow writes to devices again", true, false}}) {
    CLI::App* const command = add(app, a, one.word, one.what);
    if (one.of_devices) command->add_option("DEVICE", a.client.say.names, "Devices")->required();
    CLI::Option* const reason = takes_reason(command, a.client.say.reason);
    if (one.needs_reason) reason->required();
    takes_server(command, a.client.say.at);
    const std::string word = one.word;
    if (one.of_devices)
      runs(command, a, [&a, word](const Console& c) { return run_on_devices(a.client.say, word, c); });
    else
      runs(command, a, [&a, word](const Console& c) { return run_on_cluster(a.client.say, word, c); });
  }
}

void add_contexts(CLI::App& app, Arguments& a) {
  CLI::App* const context = app.add_subcommand(
      "context",
      "The services that one talks to, by name: ~/.config/lockstep/contexts.yaml (docs/service.md)");
  context->require_subcommand(1);
  CLI::App* command = add(*context, a, "list", "All of them; the current one is marked");
  runs(command, a, [](const Console& c) { return run_context_list(c); });
  command = add(*context, a, "use", "Make one the current one");
  command->add_option("NAME", a.client.used, "Its name")->required();
  runs(command, a, [&a](const Console& c) { return run_context_use(a.client.used, c); });
  command = add(*context, a, "show", "The service that commands talk to now, and as whom");
  takes_server(command, a.client.shown);
  runs(command, a, [&a](const Console& c) { return run_context_show(a.client.shown, c); });
}

}  // namespace

void add_client_commands(CLI::App& app, Arguments& a) {
  add_reading(app, a);
  add_decisions(app, a);
  add_orders(app, a);
  add_contexts(app, a);
}

}  // namespace lockstep
