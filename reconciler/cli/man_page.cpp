#include "reconciler/cli/man_page.hpp"

#include <fmt/format.h>

#include "reconciler/cli/command_words.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kExitStatus =
    R"(.SH "EXIT STATUS"
.TP
.B 0
In sync; nothing to do; specs are equal; done; all SLOs hold.
.TP
.B 2
Drift; pending changes; specs differ; rolled back; needs approval; declined at the prompt; steps of a plan file
are refused; an SLO fails.
.TP
.B 3
Some devices could not be observed, and nothing observed differs, or \-\-partial is missing, or the rest is done
(\-\-partial); not validated; no benchmark could tell.
.TP
.B 1
Error; a step that the host policy refuses; another controller has taken over; interrupted.
)";
constexpr std::string_view kFiles =
    R"(.SH ENVIRONMENT
.TP
.B LOCKSTEP_STATE_DIR
Where state is kept; it must be a local disk.
.TP
.B LOCKSTEP_RUN_DIR
Where locks and records of this machine are kept, in place of the two folders below.
.TP
.B LOCKSTEP_CONTEXT_FILE
The services that commands such as
.B lockstep get
talk to, in place of the file below.
.TP
.B NO_COLOR
Prints without colour.
.SH FILES
.TP
.I /etc/lockstep/host.yaml
The policy of this host: what specs may change on it.
.TP
.I /var/lib/lockstep
State of root; of other users \(ti/.local/state/lockstep.
.TP
.I \(ti/.config/lockstep/contexts.yaml
The services that one talks to, by name, and with which credentials.
.TP
.I /run/lockstep/service/api.sock
Where the service of this machine is reached.
.TP
.I /run/lockstep/locks
Who changes this machine now.
.TP
.I allocations.lock
Beside the specs: the cluster's UUID, and the addresses and AS numbers that were given out.
.SH "SEE ALSO"
The pages of the commands, such as
.BR lockstep\-plan (1);
.IR /usr/share/doc/lockstep .
)";

// Text as roff shows it (groff_char(7), man(7)).
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    at_start = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string label_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";  // a flag
  if (!option.get_option_text().empty()) return option.get_option_text();
  const std::string type = option.get_type_name();  // "UINT:POSITIVE": includes CLI11's validator
  return type.substr(0, type.find(':'));
}

// "-o FORM, --output FORM", and what it does.
std::string option_text(const CLI::Option& option) {
  const std::string label = label_of(option);
  std::string names;
  const auto add = [&](const std::string& name) {
    names += (names.empty() ? "" : ", ") + bold(name) + (label.empty() ? "" : " " + italic(label));
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (option.get_positional()) names = italic(option.get_name());
  const std::string value = option.get_default_str();
  return ".TP\n" + names + "\n" + roff(option.get_description()) +
         (value.empty() ? "" : " (default: " + roff(value) + ")") + "\n";
}

std::string synopsis_of(const CLI::App& command, const std::string& name) {
  std::string out = bold(name) + " [" + italic("OPTIONS") + "]";
  if (!commands_of(command).empty()) return bold(name) + " " + italic("COMMAND") + " ...";
  for (const CLI::Option* const option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string label =
        option->get_option_text().empty() ? option->get_name() : option->get_option_text();
    out += option->get_required() ? " " + italic(label) : " [" + italic(label) + "]";
  }
  return out;
}

std::string options_of(const CLI::App& command) {
  std::string out;
  for (const bool positional : {true, false})
    for (const CLI::Option* const option : command.get_options())
      if (option->get_positional() == positional) out += option_text(*option);
  return out;
}

// "Example:\n  lockstep plan ...": its lines, unchanged.
std::string example_of(const CLI::App& command) {
  std::string footer = command.get_footer();
  constexpr std::string_view kBegin = "Example:\n";
  if (footer.starts_with(kBegin)) footer.erase(0, kBegin.size());
  return footer.empty() ? "" : ".nf\n" + roff(footer) + "\n.fi\n";
}

// `about`: its first sentence is used, because whatis(1) shows one line.
std::string header_of(const std::string& page, std::string_view about) {
  std::string title = page;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(
      ".\\\" Generated by `lockstep generate man-pages`.\n.TH {} 1 \"\" \"lockstep {}\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n",
      roff(title), LOCKSTEP_VERSION, roff(page), roff(about.substr(0, about.find(". "))));
}

std::string command_page(const CLI::App& command) {
  const std::string name = "lockstep " + command.get_name();
  std::string out = header_of("lockstep-" + command.get_name(), command.get_description());
  out += ".SH SYNOPSIS\n" + synopsis_of(command, name) + "\n";
  out += ".SH DESCRIPTION\n" + roff(command.get_description()) + ".\n";
  const std::vector<const CLI::App*> below = commands_of(command);
  if (!below.empty()) out += ".SH COMMANDS\n";
  for (const CLI::App* const one : below) {
    out += ".SS " + synopsis_of(*one, name + " " + one->get_name()) + "\n";
    out += roff(one->get_description()) + ".\n" + options_of(*one) + ".PP\n" + example_of(*one);
  }
  out += ".SH OPTIONS\n" + options_of(command);
  if (const std::string example = example_of(command); !example.empty()) out += ".SH EXAMPLE\n" + example;
  return out + std::string(kExitStatus) + ".SH \"SEE ALSO\"\n.BR lockstep (1)\n";
}

std::string overview_page(const CLI::App& app) {
  std::string out = header_of("lockstep", "keeps an AI cluster's network, hosts and switches as declared");
  out += ".SH SYNOPSIS\n" + synopsis_of(app, "lockstep") + "\n.SH DESCRIPTION\n" +
         roff(app.get_description()) + "\n.SH COMMANDS\n";
  for (const CLI::App* const command : commands_of(app))
    out += ".TP\n.BR lockstep\\-" + roff(command->get_name()) + " (1)\n" + roff(command->get_description()) +
           ".\n";
  out += ".SH OPTIONS\n" + options_of(app) + ".SH EXAMPLE\n" + example_of(app);
  return out + std::string(kExitStatus) + std::string(kFiles);
}

}  // namespace

std::map<std::string, std::string> man_pages(const CLI::App& app) {
  std::map<std::string, std::string> out{{"lockstep.1", overview_page(app)}};
  for (const CLI::App* const command : commands_of(app))
    out["lockstep-" + command->get_name() + ".1"] = command_page(*command);
  return out;
}

}  // namespace lockstep
