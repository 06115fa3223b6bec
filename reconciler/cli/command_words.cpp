#include "reconciler/cli/command_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

struct Example {
  std::string_view command;
  const char* text;
};
constexpr std::array<Example, 60> kExamples{{
    {"validate",
     "lockstep validate --strict examples/rail-pod\n"
     "In CI: `lockstep validate --strict --locked --format github specs` (examples/ci)."},
    {"lock",
     "lockstep lock specs && git add specs/allocations.lock\n"
     "In CI, `lockstep validate --locked specs` fails if that was left out. A cluster whose numbers are in "
     "git\n"
     "has the same ones wherever it is applied from."},
    {"plan",
     "lockstep plan --twin examples/rail-pod --only 'leaf[0-1]' --out plan.json\n"
     "  lockstep plan --server https://pod1.example.org:7445 --token-file token specs\n"
     "With --server or --context, a running service plans: docs/service.md."},
    {"apply",
     "lockstep apply --twin --yes --approve approval:traffic,drain examples/rail-pod\n"
     "The plan shows, for each hold, the word for --approve. A word for one kind of disruption does not\n"
     "approve another. No word approves what the host policy refuses, a change on the last path to a "
     "device,\n"
     "or a change outside its window. If chosen devices are unreachable, apply writes nothing (exit code "
     "3).\n"
     "With --partial it does the rest (exit code 3, or 2 if these devices can be observed at the end and\n"
     "differ). Changes that depend on a part of a device that was not observed wait."},
    {"drift",
     "lockstep drift --twin examples/rail-pod --format sarif > drift.sarif\n"
     "  lockstep drift --twin examples/rail-pod --report sarif=drift.sarif --report junit=drift.xml"},
    {"serve",
     "lockstep serve --twin examples/rail-pod\n"
     "Where nothing says `mode: converge`, it only watches. Specs from git, and all settings: "
     "docs/service.md.\n"
     "SIGHUP makes it look at the source and at all devices at once. While it serves, `lockstep apply` is\n"
     "refused. Ctrl-C (or SIGTERM) ends it in order: exit code 0."},
    {"get",
     "lockstep get devices -l lockstep.dev/role=leaf --field-selector status.inSync=false\n"
     "  lockstep get revisions -o wide\n"
     "  lockstep get devices -o jsonpath='{range "
     ".items[*]}{.metadata.name}{\"\\t\"}{.status.differences}{\"\\n\"}{end}'\n"
     "  lockstep get devices --watch\n"
     "All of a list is read, however long it is. A watch goes on when the service is restarted; Ctrl-C ends "
     "it."},
    {"describe", "lockstep describe device leaf0\n  lockstep describe revision 3f2a41b9"},
    {"events", "lockstep events --for device/leaf0 --types Warning --watch"},
    {"approve",
     "lockstep approve 3f2a41b9 --reason 'reviewed with ann'\n"
     "  lockstep approve 3f2a41b9 --step 0a1b2c3d4e5f\n"
     "What is approved is what was shown: a step that changed, or that came to wait since, waits on."},
    {"reject", "lockstep reject 3f2a41b9 --reason 'wrong MTU'"},
    {"suspend", "lockstep suspend --reason 'power work until 22:00'"},
    {"resume", "lockstep resume"},
    {"reconcile", "lockstep reconcile"},
    {"cordon", "lockstep cordon leaf0 --reason 'optics are replaced'"},
    {"uncordon", "lockstep uncordon leaf0"},
    {"context", "lockstep context list"},
    {"context list", "lockstep context list"},
    {"context use", "lockstep context use pod1"},
    {"context show", "lockstep context show"},
    {"watch",
     "lockstep watch --twin examples/rail-pod --converge\n"
     "Edited specs are loaded; where they have errors, those that were loaded last stay in force.\n"
     "Ctrl-C is how it ends: exit code 0."},
    {"bench",
     "lockstep bench --twin examples/rail-pod --only pairs --compare last --report bench.html\n"
     "The report is one file with its charts: verdicts, heat maps, histograms, suspects."},
    {"history",
     "lockstep history --of gpu7 --metric latency --statistic p99\n"
     "Each run with its worst figure of gpu7, and which change made it worse by more than the noise and 5%."},
    {"show", "lockstep show 7 examples/rail-pod"},
    {"undo", "lockstep undo 7 --twin examples/rail-pod"},
    {"discover", "lockstep discover --draft > draft.yaml"},
    {"explain", "lockstep explain examples/rail-pod gpu1 'interface[rail0]/mtu'\n  lockstep explain LS1002"},
    {"render",
     "lockstep render examples/rail-pod leaf0 --format native\n"
     "  lockstep render examples/rail-pod --all --out rendered\n"
     "Files are replaced whole; those of devices that the specs no longer have stay."},
    {"diff",
     "lockstep diff main/specs branch/specs\n"
     "  lockstep diff --format markdown main/specs branch/specs > comment.md\n"
     "Exit code 0: all devices are as before; 2: some differ. Entries are compared, which is what a plan "
     "would\n"
     "write or verify: policies, suites and modes are none."},
    {"topology",
     "lockstep drift --twin examples/rail-pod -o json > drift.json\n"
     "  lockstep topology examples/rail-pod -o svg --drift drift.json > fabric.svg"},
    {"schema", "lockstep schema Fabric > fabric.schema.json"},
    {"version", "lockstep version -o json"},
    {"completion", "source <(lockstep completion bash)"},
    {"generate", "lockstep generate man-pages build/man"},
    {"twin", "lockstep twin up examples/rail-pod"},
    {"twin up",
     "lockstep twin up examples/rail-pod\n"
     "If the twin is running: adds new devices and cables, removes deleted ones, and leaves the rest alone.\n"
     "--link-rate is remembered; given again, it changes the twin's.\n"
     "A twin is identified by the path of the specs' folder; if you move, copy or delete the folder,\n"
     "`lockstep twin list` still shows the twin, and `lockstep twin down --name NAME` removes it."},
    {"twin down", "lockstep twin down --name railpod4a1339"},
    {"twin list", "lockstep twin list -o json"},
    {"twin status", "lockstep twin status examples/rail-pod"},
    {"twin exec", "lockstep twin exec examples/rail-pod leaf0 ip -br link"},
    {"twin break", "lockstep twin break examples/rail-pod lost-nexthop leaf0"},
    {"state", "lockstep state show examples/rail-pod"},
    {"state show", "lockstep state show --twin examples/rail-pod -o json"},
    {"state backup", "lockstep state backup /mnt/backup/rail-pod.sqlite examples/rail-pod"},
    {"state restore",
     "lockstep state restore /mnt/backup/rail-pod.sqlite examples/rail-pod\n"
     "Refused while another command changes the cluster. Devices are not touched: `lockstep drift` shows how "
     "they\n"
     "differ from the specs, and `lockstep apply` goes on from there."},
    {"state adopt",
     "lockstep state adopt examples/rail-pod\n"
     "After a Cluster was renamed, its allocations.lock was lost, or LOCKSTEP_STATE_DIR is another: who was "
     "there,\n"
     "what was written and what was never measured goes on here. A clone with its allocations.lock needs "
     "none of it."},
    {"host-policy", "lockstep host-policy explain"},
    {"host-policy init", "sudo lockstep host-policy init"},
    {"host-policy check", "lockstep host-policy check draft.yaml"},
    {"host-policy explain", "lockstep host-policy explain 'sysctl[kernel.core_pattern]'"},
    {"ca", "lockstep ca init lab-ca --cluster rail-pod"},
    {"ca init",
     "lockstep ca init lab-ca --cluster rail-pod\n"
     "Whoever has ca.key can be any device, controller, user and service. In production, use certificates\n"
     "of your own PKI with the URI lockstep://CLUSTER/ROLE/NAME among their alternative names."},
    {"ca issue",
     "lockstep ca issue lab-ca --role device --name gpu1 --ip 10.0.0.1 --out gpu1\n"
     "  lockstep ca issue lab-ca --role controller --name ctl --out controller\n"
     "  lockstep ca issue lab-ca --role service --name api --dns pod1.example.org --out api\n"
     "  lockstep ca issue lab-ca --role operator --name ann --out ann\n"
     "The default of 397 days leaves a month to spare beyond a yearly renewal. A renewed pair has a new "
     "key;\n"
     "the former certificate stays valid until it expires or is revoked."},
    {"ca revoke", "lockstep ca revoke lab-ca lab-ca/gpu1.crt"},
    {"ca crl", "lockstep ca crl lab-ca"},
    {"ca show", "lockstep ca show gpu1/gpu1.crt"},
    {"sonic", "lockstep sonic lint config_db.json"},
    {"sonic lint",
     "lockstep sonic lint --yang /usr/local/yang-models config_db.json\n"
     "  ssh admin@leaf0 sonic-cfggen -d --print-data | lockstep sonic lint - -o json\n"
     "Exit code 0: valid; 1: errors, each with its table, key and field. SONiC has its models at\n"
     "/usr/local/yang-models."},
    {"sonic import",
     "lockstep sonic import leaf0.json leaf1.json --draft > specs/switches.yaml\n"
     "Then `lockstep plan specs` of the running switches is empty."},
    {"sonic plan",
     "lockstep sonic plan --yang /usr/local/yang-models now.json wanted.json -o json\n"
     "Nothing is changed. Each move sets a row whole or deletes it. Exit code 0: the moves, which can be\n"
     "none; 1: a configuration is not valid, or no order of moves keeps each state valid."},
}};

const CLI::App* below(const CLI::App& app, const std::string& name) {
  for (const CLI::App* const command : app.get_subcommands(nullptr))
    if (command->get_name() == name) return command;
  return nullptr;
}

// The command that the words refer to, as far as they match; `path`: its name.
const CLI::App& named(const CLI::App& app, const std::vector<std::string>& words, std::string& path) {
  const CLI::App* at = &app;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const CLI::App* const next = below(*at, words[i]);
    if (next == nullptr) break;
    at = next;
    path += " " + words[i];
  }
  return *at;
}

std::string option_meant(const CLI::App& command, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> all(names.begin(), names.end());
  for (const std::string& word : words) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (!name.starts_with("--") || name == "--" || std::find(all.begin(), all.end(), name) != all.end())
      continue;
    const std::string_view near = nearest(name, all);
    if (!near.empty()) return "; did you mean " + std::string(near) + "?";
  }
  return "";
}

// After the device of `twin exec` come the words of another command.
void end_options_of_exec(std::vector<std::string>& words) {
  std::size_t places = 0;
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (places == 2) {
      if (words[i] != "--") words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
      return;
    }
    if (words[i].starts_with("-")) {
      if (words[i] == "-o" || words[i] == "--output") ++i;
    } else {
      ++places;
    }
  }
}

// "--only=" has an empty value; CLI11 would use the next word for it.
void split_empty_values(std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--") || !words[i].ends_with("=")) continue;
    if (words[i].find('=') != words[i].size() - 1) continue;
    words[i].pop_back();
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
  }
}

}  // namespace

const char* const kAbout =
    "lockstep keeps an AI cluster's network, hosts and switches as their specs say, and measures that the\n"
    "result performs: specs -> plan -> apply -> verify -> measure -> keep or roll back.";
const char* const kFooter =
    "Try it, as root, on one machine:\n"
    "  lockstep twin up examples/rail-pod          a live copy: network namespaces and real FRR\n"
    "  lockstep plan --twin examples/rail-pod      what would be done, in order, with its disruption\n"
    "  lockstep apply --twin examples/rail-pod     do it, verify it, measure it, keep it or roll it back;\n"
    "                                              --approve approves the holds that the plan shows\n"
    "  lockstep drift --twin examples/rail-pod     what differs now, down to the line of the spec\n"
    "  lockstep twin down examples/rail-pod\n"
    "`lockstep COMMAND --help` has an example of each.\n"
    "\n"
    "Exit codes:\n"
    "  0  in sync; nothing to do; specs are equal; done; all SLOs hold\n"
    "  2  drift; pending changes; specs differ; rolled back; needs approval; declined at the prompt;\n"
    "     steps of a plan file are refused; an SLO fails\n"
    "  3  some devices could not be observed, and nothing observed differs, or --partial is missing, or\n"
    "     the rest is done (--partial); not validated; no benchmark could tell\n"
    "  1  error; a step that the host policy refuses; another controller has taken over; interrupted";

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (const CLI::App* const command : app.get_subcommands(nullptr))
    if (!command->get_group().empty()) out.push_back(command);
  return out;
}

void hide(CLI::App& command) { command.group(""); }  // CLI11 lists no command without a group

std::vector<std::string> command_words(int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.size() > 1 && words[1] == "help") {
    words.erase(words.begin() + 1);
    words.emplace_back("--help");
  }
  if (words.size() >= 3 && words[1] == "twin" && words[2] == "exec") end_options_of_exec(words);
  split_empty_values(words);
  return words;
}

std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string path;
  for (std::size_t i = 1; i < words.size() && !words[i].starts_with("-"); ++i) {
    if (at->get_subcommands(nullptr).empty()) return "";
    const CLI::App* const next = below(*at, words[i]);
    if (next == nullptr) {
      std::string all;
      std::vector<std::string_view> names;
      for (const CLI::App* const command : commands_of(*at)) {
        all += (all.empty() ? "" : ", ") + path + command->get_name();
        names.push_back(command->get_name());
      }
      const std::string_view near = nearest(words[i], names);
      std::string text = "there is no command '" + path + words[i] + "'";
      if (!near.empty()) text += "; did you mean '" + path + std::string(near) + "'?";
      return text + (near.empty() ? "; there are " : " There are ") + all;
    }
    at = next;
    path += words[i] + " ";
  }
  return "";
}

std::string mistake_of(const CLI::App& app, const std::vector<std::string>& words,
                       const CLI::ParseError& error) {
  std::string path;
  const CLI::App& command = named(app, words, path);
  return error.what() + option_meant(command, words) + " (`lockstep" + path + " --help` shows what it takes)";
}

void refuse_empty_values(CLI::App& app) {
  const auto refuse = [](std::string& value) -> std::string {
    return value.empty() ? "the value is empty; leave it out where none is meant" : "";
  };
  for (CLI::Option* const option : app.get_options())
    if (option->get_name() != kCommandOfExec) option->check(CLI::Validator(refuse, ""));
  for (CLI::App* const command : app.get_subcommands(nullptr)) refuse_empty_values(*command);
}

void give_examples(CLI::App& app) {
  for (const Example& one : kExamples) {
    CLI::App* command = &app;
    for (std::size_t start = 0; start < one.command.size();) {
      const std::size_t end = std::min(one.command.find(' ', start), one.command.size());
      command = command->get_subcommand(std::string(one.command.substr(start, end - start)));
      start = end + 1;
    }
    command->footer("Example:\n  " + std::string(one.text));
  }
}

OutputFormat wanted_output(const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i];
    if ((word == "-o" || word == "--output") && i + 1 < words.size())
      word = words[i + 1];
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

}  // namespace lockstep
