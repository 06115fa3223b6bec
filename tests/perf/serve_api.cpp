// Latency of the service's API while a cluster changes: serve_api [SECONDS] [CHANGES]
//
// 4,096 devices and 10,000 objects in all, over a desk without a service; 1,000 watchers of the devices,
// which are read as fast as they come; CHANGES devices a second (default 10) change their state. 100 requests
// a second, of one object and of a page of 100 in turns, each sent when it is due, whatever the ones before
// it took: a server that stalls is not measured less often. Server and clients share this machine's
// processors. Also printed: how long a change takes to reach the last of the watchers.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "reconciler/api/service_api.hpp"
#include "tests/perf/api_load.hpp"
#include "tests/unit/api/fake_desk.hpp"
#include "tests/unit/api/sample_status.hpp"
#include "tests/unit/api/temporary_path.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::api;
using namespace lockstep::perf;

constexpr int kDevices = 4096;
constexpr std::uint32_t kProfiles = 64;
constexpr std::size_t kObjects = 10'000;
constexpr std::size_t kWatchers = 1000;
constexpr std::chrono::milliseconds kLook{1};  // between two looks at what is waited for

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
  settings.tokens = folder.write("tokens", kTokens);
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
  ReadLatencies reads;
  const auto start = Clock::now();
  reads.ask((*server)->port(0), "gpu", kDevices,
            [&] { return Clock::now() - start >= std::chrono::seconds(seconds); });
  changer.request_stop();
  changer.join();
  reader.request_stop();
  reader.join();
  reads.print();
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
