// Latency of the service's API while a cluster changes: serve_api [SECONDS] [CHANGES]
//
// 4,096 devices and 10,000 objects in all, over a desk without a service; 1,000 watchers of the devices,
// which are read as fast as they come; CHANGES devices a second (default 10) change their state. 100 requests
// a second, of one object and of a page of 100 in turns, each sent when it is due, whatever the ones before
// it took: a server that stalls is not measured less often. Server and clients share this machine's
// processors. Also printed: how long a change takes to reach the last of the watchers.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "reconciler/api/service_api.hpp"
#include "specs/files/descriptor.hpp"
#include "tests/unit/api/fake_desk.hpp"
#include "tests/unit/api/sample_status.hpp"
#include "tests/unit/api/temporary_path.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::api;
using Clock = std::chrono::steady_clock;

constexpr int kDevices = 4096;
constexpr std::uint32_t kProfiles = 64;
constexpr std::size_t kObjects = 10'000;
constexpr std::size_t kWatchers = 1000;
constexpr int kRate = 100;                     // requests a second
constexpr std::chrono::milliseconds kLook{1};  // between two looks at what is waited for

void wait_until(Clock::time_point due) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(due - Clock::now());
  if (left.count() <= 0) return;
  const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  ::ppoll(nullptr, 0, &time, nullptr);
}

Descriptor connected(std::uint16_t port, const std::string& request) {
  Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int at_once = 1;
  ::setsockopt(out.number(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(out.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 ||
      ::send(out.number(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    fmt::print(stderr, "no connection\n");
    std::exit(1);
  }
  return out;
}

std::string request_for(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer alpha\r\n\r\n";
}

// Of one answer with a Content-Length; false: the connection failed.
bool read_answer(int socket, std::string& buffer) {
  buffer.clear();
  std::size_t whole = 0;
  std::array<char, 65536> bytes{};
  while (whole == 0 || buffer.size() < whole) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    buffer.append(bytes.data(), static_cast<std::size_t>(got));
    const std::size_t end = buffer.find("\r\n\r\n");
    if (whole != 0 || end == std::string::npos) continue;
    const std::size_t length = buffer.find("Content-Length: ");
    whole = end + 4 + std::strtoul(buffer.c_str() + length + 16, nullptr, 10);
  }
  return buffer.starts_with("HTTP/1.1 200");
}

class Cluster {
 public:
  // Of the specs: one fabric, one profile for each of the hosts' groups.
  static std::shared_ptr<const SpecObjects> specs() {
    auto out = std::make_shared<SpecObjects>();
    SpecObject fabric{.kind = api::find_kind("fabrics")->spec, .name = "backend"};
    fabric.spec = "{}";
    for (std::uint32_t i = 0; i < kDevices; ++i) {
      out->devices.push_back("gpu" + std::to_string(i));
      fabric.places.push_back({i, 50});
    }
    fabric.entries = 50 * fabric.places.size();
    out->all.push_back(fabric);
    for (std::uint32_t group = 0; group < kProfiles; ++group) {
      SpecObject profile{.kind = api::find_kind("hostprofiles")->spec,
                         .name = "group" + std::to_string(group)};
      profile.spec = "{}";
      for (std::uint32_t i = group; i < kDevices; i += kProfiles) profile.places.push_back({i, 10});
      profile.entries = 10 * profile.places.size();
      out->all.push_back(std::move(profile));
    }
    return out;
  }
  Cluster() : status_(quiet_status()) {
    status_.objects = specs();
    std::vector<NamedDevice> named;
    for (int i = 0; i < kDevices; ++i) {
      const std::string name = "gpu" + std::to_string(i);
      named.push_back({name, "host", ""});
      devices_.push_back(std::make_shared<const DeviceStatus>(device_status(name, true, 0, 0)));
    }
    named_ = std::make_shared<const std::vector<NamedDevice>>(std::move(named));
  }
  ServiceStatus changed(int count) {
    for (int i = 0; i < count; ++i, ++next_) {
      const auto at = static_cast<std::size_t>(next_ % kDevices);
      DeviceStatus one = *devices_[at];
      one.observed = std::chrono::system_clock::now();
      one.differences = one.differences + 1;
      ++one.counts[static_cast<std::size_t>(DriftState::drifted)];
      one.objects = {{.object = "Fabric/backend", .counts = one.counts}};
      devices_[at] = std::make_shared<const DeviceStatus>(std::move(one));
    }
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->devices = devices_;
    snapshot->named = named_;
    status_.devices = std::move(snapshot);
    return status_;
  }

 private:
  ServiceStatus status_;
  std::vector<std::shared_ptr<const DeviceStatus>> devices_;
  std::shared_ptr<const std::vector<NamedDevice>> named_;
  int next_ = 0;
};

// Reads all watchers' events; counts those of changes.
void read_watches(const std::vector<Descriptor>& watchers, std::atomic<std::uint64_t>& events,
                  const std::stop_token& stop) {
  std::vector<pollfd> polled;
  for (const Descriptor& one : watchers) polled.push_back({one.number(), POLLIN, 0});
  std::vector<char> bytes(1 << 20);
  while (!stop.stop_requested()) {
    if (::poll(polled.data(), polled.size(), 100) <= 0) continue;
    for (pollfd& one : polled) {
      if (one.revents == 0) continue;
      const ssize_t got = ::recv(one.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got == 0) one.fd = -1;
      const std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      for (std::size_t at = text.find("event: MODIFIED"); at != text.npos;
           at = text.find("event: MODIFIED", at + 1))
        ++events;
    }
  }
}

double at_share(std::vector<double>& sorted, double share) {
  return sorted.empty() ? 0
                        : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void print_latency(const char* what, std::vector<double> all) {
  std::sort(all.begin(), all.end());
  fmt::print("{:<22} {:>6} requests  p50 {:7.2f} ms  p99 {:7.2f} ms  most {:7.2f} ms\n", what, all.size(),
             at_share(all, 0.5), at_share(all, 0.99), at_share(all, 1));
}

int measure(int seconds, int changes) {
  std::signal(SIGPIPE, SIG_IGN);
  const rlimit files{4096, 4096};
  ::setrlimit(RLIMIT_NOFILE, &files);
  TemporaryPath folder;
  FakeDesk desk;
  Cluster cluster;
  desk.set(cluster.changed(0));
  EventLog log("0011223344556677", kLogKept);
  ObjectFeed feed(desk, log, {.events_kept = kObjects - kDevices});
  for (std::size_t i = 0; i < kObjects - kDevices; ++i)
    feed.happened({ServiceEvent::Kind::drift, at_second(0), "Device/gpu1", "interface[rail0]/mtu is 1500"});
  ServerSettings settings;
  settings.listen = {"127.0.0.1:0"};
  settings.tokens = folder.write(
      "tokens", "load:viewer:8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8\n");
  settings.audit = folder.file("audit");
  settings.limits.connections_per_client = settings.limits.connections_max;  // all from this machine
  settings.limits.requests.requests_burst = 2 * kWatchers;
  settings.log = [](const std::string& line) { fmt::print("{}\n", line); };
  auto server = ApiServer::start(settings, desk, feed, log);
  if (!server || !feed.start()) return 1;
  while (feed.board()->of(Kind::device).empty()) wait_until(Clock::now() + kLook);
  std::vector<Descriptor> watchers;
  for (std::size_t i = 0; i < kWatchers; ++i)
    watchers.push_back(connected(
        (*server)->port(0),
        request_for("/api/v1alpha1/devices?watch=1&resourceVersion=" + log.position(log.newest()))));
  std::atomic<std::uint64_t> events = 0;
  std::jthread reader([&](const std::stop_token& stop) { read_watches(watchers, events, stop); });
  std::vector<double> reached;
  std::uint64_t made = 0;
  std::jthread changer([&](const std::stop_token& stop) {
    for (auto due = Clock::now(); !stop.stop_requested(); due += std::chrono::seconds(1)) {
      wait_until(due);
      desk.set(cluster.changed(changes));
      made += static_cast<std::uint64_t>(changes);
      while (events < made * kWatchers && !stop.stop_requested()) wait_until(Clock::now() + kLook);
      reached.push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
    }
  });
  const Descriptor client = connected((*server)->port(0), request_for("/healthz"));
  std::string buffer;
  if (!read_answer(client.number(), buffer)) return 1;
  std::vector<double> one;
  std::vector<double> page;
  const auto start = Clock::now();
  for (int i = 0; i < seconds * kRate; ++i) {
    const auto due = start + i * std::chrono::microseconds(1'000'000 / kRate);
    wait_until(due);
    const std::string request =
        request_for(i % 2 == 0 ? "/api/v1alpha1/devices/gpu" + std::to_string(i % kDevices)
                               : "/api/v1alpha1/devices?limit=100");
    if (::send(client.number(), request.data(), request.size(), MSG_NOSIGNAL) < 0 ||
        !read_answer(client.number(), buffer))
      return 1;
    (i % 2 == 0 ? one : page)
        .push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
  }
  changer.request_stop();
  changer.join();
  reader.request_stop();
  reader.join();
  print_latency("one object", one);
  print_latency("a page of 100", page);
  print_latency("change to all watchers", reached);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} events to watchers, {} MiB at most\n", events.load(), usage.ru_maxrss / 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return measure(argc > 1 ? std::atoi(argv[1]) : 10, argc > 2 ? std::atoi(argv[2]) : 10);
}
