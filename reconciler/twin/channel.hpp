// Lines of JSON over a unix stream socket, with a deadline for each.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/posix/call.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

class LineChannel {
 public:
  LineChannel() = default;
  explicit LineChannel(Descriptor socket) : socket_(std::move(socket)) {}

  // Without its newline. If the other side ends, the error is unknown_outcome; more than 16 MiB without a
  // newline (a layout of 16,384 hosts x 8 rails is about 8 MiB) is refused.
  Result<std::string> read_line(const Call& call);
  Result<Done> write_line(std::string_view line, const Call& call);
  int descriptor() const { return socket_.number(); }

 private:
  Descriptor socket_;
  std::string pending_;
};

Result<LineChannel> connect_to(const std::string& path);
Result<Descriptor> listen_on(const std::string& path);
// The next waiting connection of this user; none: no connection waits, or it was another user's, which is
// closed unread.
std::optional<LineChannel> accept_own(const Descriptor& listener);

}  // namespace lockstep
