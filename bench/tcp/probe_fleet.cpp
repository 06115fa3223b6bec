#include "bench/tcp/probe_fleet.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "bench/tcp/cpu.hpp"
#include "bench/tcp/spawn.hpp"

namespace lockstep::bench {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
// At its start a probe only enters a namespace; ten seconds pass only on a machine that is stuck.
constexpr std::uint64_t start_ns = 10 * second;
// At the end a probe only has to read EOF and exit.
constexpr std::uint64_t leave_ns = second / 2;
constexpr int control_fd = 3;  // in the probe

std::string said(const char* call, int error) {
  return std::string(call) + ": " + std::generic_category().message(error);
}

}  // namespace

ProbeFleet::ProbeFleet(std::string executable, const std::vector<ProbeEndpoint>& endpoints,
                       std::stop_token stop)
    : executable_(std::move(executable)),
      endpoints_(endpoints),
      probes_(endpoints.size()),
      stop_(std::move(stop)) {}

ProbeFleet::~ProbeFleet() {
  for (Probe& probe : probes_) probe.control.close();  // EOF: all of them exit at the same time
  for (Probe& probe : probes_)
    if (probe.pid > 0) (void)reap(probe.pid, leave_ns);
}

std::string ProbeFleet::spawn(Probe& probe, const std::string& netns) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return said("socketpair", errno);
  Descriptor own(ends[0]);
  Descriptor child(ends[1]);
  std::vector<std::string> words{"probe", "--control-fd", std::to_string(control_fd)};
  if (!netns.empty()) words.insert(words.end(), {"--netns", netns});
  const auto pid = spawn_probe(executable_, words, child.number(), control_fd);
  if (!pid) return pid.error().text();
  probe = Probe{*pid, std::move(own), false, {}, {}};
  return {};
}

void ProbeFleet::ensure(const std::vector<std::size_t>& endpoints, const Started& started) {
  for (const std::size_t endpoint : endpoints) {
    Probe& probe = probes_[endpoint];
    if (probe.control) continue;
    const ProbeEndpoint& at = endpoints_[endpoint];
    probe.trouble = at.unreachable.empty() ? spawn(probe, at.netns) : at.unreachable;
    if (probe.trouble.empty() && started) started(endpoint, probe.pid);
  }
  const std::uint64_t until = now_ns() + start_ns;
  const auto waiting = [&] {
    for (const std::size_t endpoint : endpoints)
      if (probes_[endpoint].control && !probes_[endpoint].ready) return true;
    return false;
  };
  while (waiting() && now_ns() < until && !stopping()) {
    for (Event& event : wait(until)) {
      const std::string what = event.died ? std::string{} : text_of(event.message, "event");
      if (what == "ready") probes_[event.endpoint].ready = true;
      if (what == "failed" && !probes_[event.endpoint].ready)
        probes_[event.endpoint].trouble = text_of(event.message, "text");
    }
  }
  std::vector<Event> dropped;
  for (const std::size_t endpoint : endpoints)
    if (probes_[endpoint].control && !probes_[endpoint].ready)
      bury(endpoint, "did not start in time", dropped);
}

void ProbeFleet::bury(std::size_t endpoint, const std::string& why, std::vector<Event>& events) {
  Probe& probe = probes_[endpoint];
  probe.control.close();
  const std::string ended = probe.pid > 0 ? reap(probe.pid, leave_ns) : std::string{};
  probe.pid = -1;
  if (probe.trouble.empty()) probe.trouble = "the probe " + (why.empty() ? ended : why + ", " + ended);
  events.push_back({endpoint, true, probe.trouble, {}});
}

void ProbeFleet::send(std::size_t endpoint, const Json& message) {
  Probe& probe = probes_[endpoint];
  if (!probe.control) return;
  const std::string bytes = framed(message);
  // A socketpair holds 200 KB; orders are under 1 KB, so it only fills if the probe does not run.
  const ssize_t sent =
      ::send(probe.control.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(bytes.size())) bury(endpoint, "does not take orders", pending_);
}

void ProbeFleet::read_from(std::size_t endpoint, std::vector<Event>& events) {
  Probe& probe = probes_[endpoint];
  std::array<char, 65536> bytes;  // NOLINT: filled by recv
  const ssize_t count = recv(probe.control.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return bury(endpoint, {}, events);
  probe.reader.feed(bytes.data(), static_cast<std::size_t>(count));
  for (;;) {
    auto message = probe.reader.next();
    if (!message) return bury(endpoint, message.error().what, events);
    if (!*message) return;
    events.push_back({endpoint, false, {}, std::move(**message)});
  }
}

std::vector<ProbeFleet::Event> ProbeFleet::wait(std::uint64_t until_ns) {
  std::vector<Event> events = std::move(pending_);
  pending_.clear();
  if (!events.empty() || stopping()) return events;
  const std::stop_callback wake(stop_, [this] { wake_.signal(); });
  std::vector<pollfd> waits{{wake_.number(), POLLIN, 0}};
  std::vector<std::size_t> owners{0};
  for (std::size_t i = 0; i < probes_.size(); ++i) {
    if (!probes_[i].control) continue;
    waits.push_back({probes_[i].control.number(), POLLIN, 0});
    owners.push_back(i);
  }
  if (poll(waits.data(), waits.size(), poll_ms(until_ns)) <= 0) return events;
  for (std::size_t i = 1; i < waits.size(); ++i)
    if (waits[i].revents != 0) read_from(owners[i], events);
  return events;
}

}  // namespace lockstep::bench
