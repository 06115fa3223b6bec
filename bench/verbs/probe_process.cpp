#include "bench/verbs/probe_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "bench/tcp/spawn.hpp"

namespace lockstep::bench::verbs {
namespace {

// Closing its output is its last action.
constexpr std::uint64_t leave_ns = 500'000'000;

}  // namespace

Result<ProbeProcess> ProbeProcess::start(const std::string& executable, const Json& order) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return Error{ErrorKind::refused, "pipe: " + std::generic_category().message(errno)};
  Descriptor read_end(ends[0]);
  const Descriptor write_end(ends[1]);
  // The probe writes as other programs do: its own end blocks.
  (void)fcntl(write_end.number(), F_SETFL, 0);
  TRY(const pid_t pid,
      spawn_probe(executable, {"verbs-probe", order.dump()}, write_end.number(), STDOUT_FILENO));
  return ProbeProcess(pid, std::move(read_end));
}

ProbeProcess::ProbeProcess(ProbeProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::move(other.out_)),
      pending_(std::move(other.pending_)),
      ended_(std::move(other.ended_)) {}

ProbeProcess::~ProbeProcess() {
  if (pid_ > 0) (void)reap(pid_, 0);
}

std::vector<Json> ProbeProcess::take() {
  std::vector<Json> lines;
  while (out_) {
    std::array<char, 65536> bytes;  // NOLINT: filled by read
    const ssize_t count = read(out_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      end("");
      break;
    }
    pending_.append(bytes.data(), static_cast<std::size_t>(count));
    if (!split(lines)) end("said what is no JSON object, ");
  }
  return lines;
}

bool ProbeProcess::split(std::vector<Json>& lines) {
  for (std::size_t at = pending_.find('\n'); at != std::string::npos; at = pending_.find('\n')) {
    Json line =
        Json::parse(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at), nullptr, false);
    pending_.erase(0, at + 1);
    if (!line.is_object()) return false;
    lines.push_back(std::move(line));
  }
  return pending_.size() <= message_limit;
}

void ProbeProcess::end(const std::string& why) {
  out_.close();
  ended_ = why + reap(std::exchange(pid_, -1), why.empty() ? leave_ns : 0);
}

}  // namespace lockstep::bench::verbs
