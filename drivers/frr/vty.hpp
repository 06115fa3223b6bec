// Vty: a conversation with one FRR daemon over its own vty unix socket, as vtysh does it, without vtysh.
//
// Promises: never blocks past the call's deadline; one command, one reply; a reply is at most kReplyMax
// bytes. A command that `asks` and gets no reply is transient (cancelled when stopped); a command that
// `writes` and gets no reply is unknown_outcome, because the daemon may have executed it. After any error the
// conversation is over: connect again. Refuses: commands with NUL or newline, replies that break the framing.
//
// Framing (FRR 8.4 lib/vty.c, vtysh_read): command text and NUL; the reply is text, three NUL bytes and one
// byte return code (lib/command.h: 0 success, 1 warning, 2 no match, 4 incomplete, 13 configuration failed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/posix/call.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep::frr {

// A full table of 100,000 prefixes in JSON is about 60 MB; no reply that this driver requests comes near
// that.
inline constexpr std::size_t kReplyMax = 64U << 20;
// VTY_BUFSIZ of lib/vty.h: the daemon truncates longer lines.
inline constexpr std::size_t kCommandMax = 4096;

enum class Intention : std::uint8_t { asks, writes };

struct Reply {
  std::string text;
  std::uint8_t code = 0;
  // FRR's message in one line, for an error.
  std::string words() const;
};

class Vty {
 public:
  // Connects and enters enable mode. A missing socket, or one without a listener, is transient.
  static Result<Vty> connect(const std::string& run_dir, std::string_view daemon, const Call& call);

  // Whether a process has the daemon's socket open, whether or not it answers.
  static bool is_held(const std::string& run_dir, std::string_view daemon);

  // The reply, whatever its return code.
  Result<Reply> say(std::string_view command, Intention intention, const Call& call);
  // The text of a command that must succeed (code 0, or 1 which is a warning: "{}" of an empty table).
  Result<std::string> ask(std::string_view command, const Call& call);

  std::string_view daemon() const { return daemon_; }

 private:
  Vty(Descriptor socket, std::string daemon) : socket_(std::move(socket)), daemon_(std::move(daemon)) {}
  Result<Done> send(std::string_view framed, bool& anything_sent, const Call& call);
  Result<Reply> receive(const Call& call);
  Error lost(Error why, std::string_view command, bool may_have_happened);

  Descriptor socket_;
  std::string daemon_;
};

}  // namespace lockstep::frr
