#include "drivers/sonic/ssh_command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

#include "drivers/posix/program.hpp"
#include "drivers/posix/random_uuid.hpp"
#include "drivers/sonic/text_parts.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::size_t kSaidBytes = 300;  // of ssh's words in an error
constexpr int kSshFailed = 255;          // ssh(1), EXIT STATUS

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
// A word that ssh can take for nothing but a name.
bool is_ssh_name(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= 255 && (is_alphanumeric(text.front()) || text.front() == '_') &&
         std::ranges::all_of(text,
                             [more](char c) { return is_alphanumeric(c) || more.find(c) != more.npos; });
}

// Words of OpenSSH 9.2 (sshconnect.c, sshconnect2.c): the server or its key is not trusted, or does not trust
// us. An operator has to act; waiting does not help.
constexpr std::array<std::string_view, 5> kDenied{
    "Permission denied", "Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED",
    "Too many authentication failures", "No supported authentication methods"};
// The connection was not made, so that nothing has run (sshconnect.c, ssh.c).
constexpr std::array<std::string_view, 4> kNotConnected{"ssh: connect to host", "Could not resolve hostname",
                                                        "kex_exchange_identification",
                                                        "Connection timed out during banner exchange"};

template <std::size_t Size>
bool says_one_of(std::string_view text, const std::array<std::string_view, Size>& words) {
  return std::ranges::any_of(words, [text](std::string_view one) { return text.find(one) != text.npos; });
}

// The last lines: warnings and banners come first.
std::string last_words(std::string_view said) {
  std::string line = in_one_line(without_blanks(said));
  if (line.size() > kSaidBytes) line = "..." + line.substr(line.size() - kSaidBytes);
  return printable(line);
}

// Why the script's end did not arrive.
void explain(const Ended& ended, const std::string& mark, const std::string& who, SshRun& run) {
  const std::string why = run.said.empty() ? "" : ": " + run.said;
  run.may_run = ended.out.find(mark) != std::string::npos;
  if (ended.signal == SIGXFSZ) {
    run.may_run = true;
    run.error = Error{ErrorKind::refused, who + ": the switch printed more than " +
                                              std::to_string(kSshOutputBytes >> 20) + " MiB"};
    return;
  }
  if (ended.code != kSshFailed || ended.signal != 0) {
    run.may_run = true;
    run.error = Error{run.parts.empty() ? ErrorKind::refused : ErrorKind::transient,
                      who + ": the switch's shell does not do what it is asked" + why};
    return;
  }
  if (!run.may_run && says_one_of(ended.err, kDenied)) {
    run.error = Error{ErrorKind::denied, who + ": ssh is not let in" + why};
    return;
  }
  if (!run.may_run) run.may_run = !says_one_of(ended.err, kNotConnected);
  run.error = Error{ErrorKind::transient,
                    who + (run.may_run ? ": the connection was lost" : ": ssh does not connect") + why};
}

}  // namespace

std::string SshServer::text() const {
  std::string out = user.empty() ? "" : user + "@";
  out += host.find(':') == host.npos ? host : "[" + host + "]";
  return port == 0 ? out : out + ":" + std::to_string(port);
}

Result<SshServer> parse_ssh_server(std::string_view text) {
  const auto wrong = [text] {
    return Error{ErrorKind::invalid_spec, "'" + printable(text, 80) +
                                              "' is not where ssh can connect to: write [user@]host[:port], "
                                              "with an IPv6 address in brackets"};
  };
  SshServer out;
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != rest.npos) {
    out.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    if (!is_ssh_name(out.user, "._-")) return wrong();
  }
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == rest.npos) return wrong();
    out.host = rest.substr(1, end - 1);
    port = rest.substr(end + 1);
    if (out.host.find(':') == out.host.npos || !IpAddress::parse(out.host)) return wrong();
  } else {
    const std::size_t colon = rest.find(':');
    out.host = rest.substr(0, colon);
    port = colon == rest.npos ? "" : rest.substr(colon);
    if (!is_ssh_name(out.host, "._-")) return wrong();
  }
  if (port.empty()) return out;
  const auto [end, failed] = std::from_chars(port.data() + 1, port.data() + port.size(), out.port);
  if (port.front() != ':' || failed != std::errc() || end != port.data() + port.size() || out.port == 0)
    return wrong();
  return out;
}

const SshPart* SshRun::part(std::string_view name) const {
  const auto found = parts.find(name);
  return found == parts.end() ? nullptr : &found->second;
}

// A lost connection is no reason to stop in the middle: without a terminal sshd only closes the pipes.
std::string ssh_script(std::string_view mark, std::string_view body) {
  return "LC_ALL=C.UTF-8; export LC_ALL; trap '' HUP PIPE\nmark=" + std::string(mark) +
         "\n"
         "part() {\n"
         "  part_name=$1; shift\n"
         "  printf '%s begin %s\\n' \"$mark\" \"$part_name\"\n"
         "  \"$@\"\n"
         "  part_status=$?\n"
         "  printf '\\n%s end %s %d\\n' \"$mark\" \"$part_name\" \"$part_status\"\n"
         "  return \"$part_status\"\n"
         "}\n" +
         std::string(body) + "\nprintf '%s done\\n' \"$mark\"\n";
}

bool read_ssh_parts(std::string_view printed, std::string_view mark, SshRun& run) {
  const std::string begin = std::string(mark) + " ";
  std::string_view rest = printed;
  for (;;) {
    const std::size_t at = rest.find(begin);
    if (at == rest.npos) return false;
    rest.remove_prefix(at + begin.size());
    const std::size_t line_end = rest.find('\n');
    if (line_end == rest.npos) return false;
    const std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + 1);
    if (line == "done") return true;
    constexpr std::string_view kBegin = "begin ";
    if (!line.starts_with(kBegin)) continue;
    const std::string name(line.substr(kBegin.size()));
    const std::string end = "\n" + begin + "end " + name + " ";
    const std::size_t end_at = rest.find(end);
    if (end_at == rest.npos) return false;
    SshPart part{std::string(rest.substr(0, end_at)), -1};
    rest.remove_prefix(end_at + end.size());
    const auto [digits, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), part.status);
    if (failed != std::errc() || digits == rest.data() + rest.size() || *digits != '\n') return false;
    run.parts.insert_or_assign(name, std::move(part));
  }
}

SshRun SshCommand::run(std::string_view body, std::string_view input, std::chrono::seconds longest,
                       const Call& call) const {
  SshRun out;
  const Result<std::string> mark = random_uuid("a mark");
  if (!mark) {
    out.error = mark.error();
    return out;
  }
  // setrlimit(2), RLIMIT_FSIZE: also of the file in memory that takes the output.
  Program program{.name = "prlimit",
                  .package = "util-linux",
                  .words = {"--fsize=" + std::to_string(kSshOutputBytes), "--", program_},
                  .patience = longest,
                  .own_group = true,
                  .largest_output = kSshOutputBytes};
  for (const char* const option :
       {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3",
        "ClearAllForwardings=yes", "PermitLocalCommand=no", "RequestTTY=no"})
    program.words.insert(program.words.end(), {"-o", option});
  program.words.insert(program.words.end(), {"-a", "-x"});
  if (server_.port != 0) program.words.insert(program.words.end(), {"-p", std::to_string(server_.port)});
  if (!server_.user.empty()) program.words.insert(program.words.end(), {"-l", server_.user});
  program.words.insert(program.words.end(), {"--", server_.host, ssh_script(*mark, body)});
  const bool could_begin = !call.must_end(std::chrono::steady_clock::now());
  const std::string who = server_.text();
  const Result<Ended> ended = lockstep::run(program, input, call);
  if (!ended) {
    out.error = wrap(who, ended.error());
    out.may_run = could_begin &&
                  (ended.error().kind == ErrorKind::transient || ended.error().kind == ErrorKind::cancelled);
    return out;
  }
  out.said = last_words(ended->err);
  if (!read_ssh_parts(ended->out, *mark, out)) explain(*ended, *mark, who, out);
  return out;
}

}  // namespace lockstep::sonic
