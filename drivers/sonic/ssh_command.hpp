// SshCommand: runs a shell script on a switch over ssh(1), and reads what each of its parts printed.
//
// Promises: one connection a run. Keys, known hosts, jump hosts and shared connections are the operator's
// (ssh_config(5)); there is no prompt (BatchMode), no terminal, no forwarding. The script is one word, made
// here; what a spec says reaches ssh only as a checked user, host and port, after which there are no options.
// A run ends when its call has to. ssh's output has at most kSshOutputBytes, else ssh is killed. Each part of
// the script is known by a random mark, which the switch's output can't imitate by chance. Nothing that the
// switch prints is trusted: it is text.
// After an error `may_run` says whether the script may have begun: if so, it may be running still.
// Refuses (invalid_spec): what is not [user@]host[:port].
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

struct SshServer {
  std::string user{};      // empty: as ssh_config(5) says
  std::string host{};      // a name, an alias of ssh_config(5) or an address
  std::uint16_t port = 0;  // 0: as ssh_config(5) says
  std::string text() const;
};
// "admin@leaf0", "leaf0:2222", "admin@[2001:db8::1]:22".
Result<SshServer> parse_ssh_server(std::string_view text);

// Chosen: CONFIG_DB of 512 ports with all their queues has 2 MB.
inline constexpr std::size_t kSshOutputBytes = std::size_t{64} << 20;

struct SshPart {
  std::string text;
  int status = 0;  // exit code of its command
};

struct SshRun {
  std::map<std::string, SshPart, std::less<>> parts;  // those that arrived whole
  std::string said;                                   // the end of standard error, to show
  std::optional<Error> error;                         // the script's end did not arrive
  bool may_run = false;                               // with an error: it may have begun

  // Null: it did not arrive.
  const SshPart* part(std::string_view name) const;
};

// With its beginning, where `part NAME COMMAND...` is defined, and its end.
std::string ssh_script(std::string_view mark, std::string_view body);
// The parts in what a script printed. False: its end is missing.
bool read_ssh_parts(std::string_view printed, std::string_view mark, SshRun& run);

class SshCommand {
 public:
  // `program`: tests put another one in ssh's place.
  explicit SshCommand(SshServer server, std::string program = "ssh")
      : server_(std::move(server)), program_(std::move(program)) {}

  const SshServer& server() const { return server_; }
  // `input`: standard input of the script. `longest`: it is ended then, whatever the call's deadline.
  SshRun run(std::string_view body, std::string_view input, std::chrono::seconds longest,
             const Call& call) const;

 private:
  SshServer server_;
  std::string program_;
};

}  // namespace lockstep::sonic
