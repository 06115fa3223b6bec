// What a whole service costs: serve_fleet [DEVICES] [SECONDS] [DRIFTS] [WATCHERS]
//
// The real loop, store, folder source, API and threads, over DEVICES simulated hosts (default 4,096) with
// eight kernel parameters each, on a real clock: how long from bare devices to converged; the CPU that it
// takes while nothing happens for SECONDS (60), and that of one look at all devices, of which there is one
// every ten minutes; how long after a device's event each of DRIFTS (200) drifts is reported, and healed; and
// its memory. Then the same with WATCHERS (1,000) of all devices connected: 100 reads a second while a change
// of every device runs, and CPU and memory. The simulated devices are in the same process: their share of CPU
// and memory counts as the service's.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "drivers/runtime/pump.hpp"
#include "drivers/runtime/real_executor.hpp"
#include "drivers/sim/simulated_device.hpp"
#include "reconciler/api/service_api.hpp"
#include "reconciler/service/service_loop.hpp"
#include "reconciler/session/identity.hpp"
#include "reconciler/source/folder_source.hpp"
#include "tests/passing_driver.hpp"
#include "tests/perf/api_load.hpp"
#include "tests/unit/session/temporary_folder.hpp"

namespace {

using namespace lockstep;
using namespace lockstep::perf;
using std::chrono::seconds;

constexpr const char* kSpecs = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {{name: fleet}}
spec: {{mode: converge}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {{name: training}}
spec:
  selector: {{matchLabels: {{pool: fleet}}}}
  onDelete: restore
  sysctl:
    {{net.ipv4.tcp_mtu_probing: 0, net.ipv4.tcp_ecn: 1, net.core.somaxconn: 4096, net.core.rmem_max: 16777216,
     net.core.wmem_max: 16777216, vm.swappiness: 10, vm.dirty_ratio: 20, kernel.pid_max: 4194304}}
)yaml";

constexpr const char* kOfOneHost = R"yaml(---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {{name: h{0}, labels: {{pool: fleet}}}}
spec: {{names: gpu{0}, role: host, drivers: [sim], interfaces: [{{name: rail0, platform: connectx-7, speed: 400Gbps}}]}}
)yaml";
constexpr const char* kOther = R"yaml(---
apiVersion: lockstep.dev/v1alpha1
kind: GitSource
metadata: {{name: g{0}}}
spec: {{repository: "https://git.example.org/g{0}.git"}}
)yaml";

// 10,000 objects of 4,096 hosts: these, a set of each, 2,048 that govern none of them, and the service's own.
std::string specs_of(std::size_t devices) {
  std::string out = fmt::format(kSpecs);
  for (std::size_t i = 1; i <= devices; ++i) {
    out += fmt::format(kOfOneHost, i);
    if (i % 2 == 0) out += fmt::format(kOther, i);
  }
  return out;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

double cpu_seconds_of(std::jthread& thread) {
  clockid_t clock{};
  timespec time{};
  if (::pthread_getcpuclockid(thread.native_handle(), &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    throw std::runtime_error("a thread has no clock");
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// "VmRSS" or "VmHWM" of proc(5), in MiB.
long mib_of(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (long kib = 0; word == name + ":" && status >> kib) return kib / 1024;
  return 0;
}

// A simulated device that the executor's threads and this program use.
class Device final : public Driver {
 public:
  Device(const std::string& name, std::uint64_t seed) : device_(name, seed) {}
  Result<Traits> traits(const Call& call) override {
    const std::lock_guard lock(mutex_);
    return device_.traits(call);
  }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    const std::lock_guard lock(mutex_);
    return device_.observe(scope, if_not, call);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    const std::lock_guard lock(mutex_);
    return device_.apply(changes, guard, call);
  }
  Result<Done> settle(std::string_view ticket, Settlement settlement, const Call& call) override {
    const std::lock_guard lock(mutex_);
    return device_.settle(ticket, settlement, call);
  }
  Result<std::shared_ptr<Watcher>> watch() {
    const std::lock_guard lock(mutex_);
    return device_.watch();
  }
  void set(Path path, Value value) {
    const std::lock_guard lock(mutex_);
    device_.set(path, std::move(value));
  }

 private:
  std::mutex mutex_;
  SimulatedDevice device_;
};

class ServedFleet {
 public:
  explicit ServedFleet(unsigned devices);
  ~ServedFleet() {
    api_.reset();
    loop_.reset();
  }
  ServedFleet(const ServedFleet&) = delete;
  ServedFleet& operator=(const ServedFleet&) = delete;

  void run_until(const std::function<bool()>& over, seconds most);
  void rest(seconds time) {
    run_until([] { return false; }, time);
  }
  void measure(seconds idle, unsigned drifts, unsigned watchers);

 private:
  Result<std::optional<Attached>> attach(const DriverTarget& target);
  void happened(const ServiceEvent& event);
  bool is_kept() const { return loop_->status()->last_good.has_value(); }
  void drift(unsigned drifts);
  void be_watched(seconds idle, unsigned watchers);

  unsigned size_;
  TemporaryFolder folder_;
  std::mutex mutex_;  // of devices_
  std::map<std::string, std::shared_ptr<Device>> devices_;
  DriverTable drivers_;
  std::unique_ptr<SpecsFeed> specs_;
  RetiredSessions retired_;
  RealExecutor executor_;
  std::unique_ptr<ServiceLoop> loop_;
  std::unique_ptr<api::ServiceApi> api_;
  std::map<std::string, Clock::time_point> drifted_;
  std::vector<double> told_;    // milliseconds
  std::vector<double> healed_;  // the same
};

ServedFleet::ServedFleet(unsigned devices) : size_(devices) {
  ::setenv("LOCKSTEP_RUN_DIR", (folder_.path() + "/run").c_str(), 1);
  ::setenv("LOCKSTEP_STATE_DIR", (folder_.path() + "/states").c_str(), 1);
  folder_.write("specs/fleet.yaml", specs_of(devices));
  auto cluster =
      load_cluster({.specs = {folder_.path() + "/specs"}});  // a service gives out no numbers itself
  if (!cluster || !settle_identity(*cluster, "perf", std::chrono::system_clock::now()) ||
      !write_numbers(*cluster))
    throw std::runtime_error("no numbers");
  drivers_[DriverName::sim].attach = [this](const DriverTarget& target) { return attach(target); };
  auto source = make_folder_source({.folder = folder_.path() + "/specs", .cache = folder_.path() + "/cache"});
  if (!source) throw std::runtime_error(source.error().text());
  specs_ = make_specs_feed(*std::move(source), {.keeps = folder_.path() + "/keeps"});
  ServiceSeams seams{.drivers = drivers_, .executor = executor_, .specs = *specs_, .retired = retired_};
  seams.directory = folder_.path() + "/state";
  seams.event = [this](const ServiceEvent& event) { happened(event); };
  ServiceSettings settings;
  settings.version = "perf";
  settings.measures = false;
  settings.fetch_every = seconds(2);  // as `lockstep serve SPECS` looks at a folder
  loop_ = std::make_unique<ServiceLoop>(std::move(seams), std::move(settings));
  api::ServerSettings server;
  server.listen = {"127.0.0.1:0"};
  server.audit = folder_.path() + "/audit";
  server.tokens = folder_.write("tokens", kTokens);
  if (::chmod(server.tokens.c_str(), 0600) != 0) throw std::runtime_error("chmod");
  server.limits.connections_per_client = server.limits.connections_max;  // all from this machine
  server.limits.requests.requests_burst = static_cast<double>(server.limits.connections_max);
  auto api = api::ServiceApi::start(std::move(server), {}, executor_, *loop_);
  if (!api) throw std::runtime_error(api.error().text());
  api_ = *std::move(api);
}

Result<std::optional<Attached>> ServedFleet::attach(const DriverTarget& target) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Device>& device = devices_[target.device];
  if (!device) {
    device = std::make_shared<Device>(target.device, devices_.size());
    for (const Entry& entry : target.intent.want.entries())  // a kernel has a value of each
      device->set(entry.path, entry.value.kind() == Value::Kind::text ? Value::text("1") : entry.value);
  }
  Attached attached;
  attached.driver = std::make_unique<PassingDriver>(device);
  attached.watch = [device] { return device->watch(); };
  return std::optional<Attached>(std::move(attached));
}

void ServedFleet::happened(const ServiceEvent& event) {
  if (api_) api_->happened(event);
  const std::string device = event.object.substr(event.object.find('/') + 1);
  const auto since = drifted_.find(device);
  using Kind = ServiceEvent::Kind;
  if (event.kind == Kind::change_failed || event.kind == Kind::heal_failed ||
      event.kind == Kind::revision_invalid)
    fmt::print("{} {}\n", event.object, event.message);
  if (since == drifted_.end()) return;
  const double ms = 1e3 * seconds_since(since->second);
  if (event.kind == Kind::drift) told_.push_back(ms);
  if (event.kind != Kind::drift_cleared) return;
  healed_.push_back(ms);
  drifted_.erase(since);
}

void ServedFleet::run_until(const std::function<bool()>& over, seconds most) {
  bool ended = false;
  const std::uint64_t alarm = executor_.at(executor_.now() + most, [&ended] { ended = true; });
  while (!ended && !over() && executor_.step()) {
  }
  executor_.cancel(alarm);
}

void ServedFleet::drift(unsigned drifts) {
  constexpr std::chrono::milliseconds kBetween{100};
  constexpr unsigned kStride = 19;  // other devices each time, if DEVICES is no multiple of it
  for (unsigned i = 0; i < drifts; ++i) {
    const std::string name = "gpu" + std::to_string(1 + i * kStride % size_);
    bool next = false;
    executor_.at(executor_.now() + kBetween, [&next] { next = true; });
    while (!next && executor_.step()) {
    }
    drifted_[name] = Clock::now();
    devices_.at(name)->set(*Path::parse("sysctl[vm.swappiness]"), Value::text("60"));
  }
  run_until([this] { return drifted_.empty(); }, seconds(120));
}

void print_spread(const char* what, std::vector<double> values) {
  if (values.empty()) return;
  std::ranges::sort(values);
  fmt::print("{}: {}; median {:.1f} ms, p99 {:.1f} ms, largest {:.1f} ms\n", what, values.size(),
             values[values.size() / 2], values[(values.size() * 99 - 1) / 100], values.back());
}

void ServedFleet::be_watched(seconds idle, unsigned watchers) {
  std::vector<Descriptor> watches;
  for (unsigned i = 0; i < watchers; ++i)
    watches.push_back(connected(api_->server().port(0), request_for("/api/v1alpha1/devices?watch=1")));
  std::atomic<std::uint64_t> events = 0;
  std::jthread reader([&](const std::stop_token& stop) { read_watches(watches, events, stop); });
  rest(seconds(20));  // each gets all devices first
  const auto own = [&] { return cpu_seconds() - cpu_seconds_of(reader); };
  const double before = own();
  rest(idle);
  fmt::print("idle, with {} watchers of all devices: {:.2f} % of a core without what reads them, {} MiB\n",
             watchers, 100 * (own() - before) / static_cast<double>(idle.count()), mib_of("VmRSS"));
  std::string specs = specs_of(size_);
  specs.replace(specs.find("vm.swappiness: 10"), 17, "vm.swappiness: 20");
  const auto former = loop_->status()->last_good;
  const auto begun = Clock::now();
  std::atomic<bool> is_kept = false;
  ReadLatencies reads;
  std::jthread asker([&] {
    reads.ask(api_->server().port(0), "gpu", static_cast<int>(size_), [&] { return is_kept.load(); });
  });
  folder_.write("specs/fleet.yaml", specs);
  run_until([&] { return loop_->status()->last_good != former; }, seconds(600));
  is_kept = true;
  asker.join();
  fmt::print("a change of all devices, {:.1f} s, with {} watchers:\n", seconds_since(begun), watchers);
  reads.print();
  rest(seconds(10));
  reader.request_stop();
  reader.join();
  fmt::print("{} events to watchers; memory: {} MiB now, {} MiB at most\n", events.load(), mib_of("VmRSS"),
             mib_of("VmHWM"));
}

void ServedFleet::measure(seconds idle, unsigned drifts, unsigned watchers) {
  const auto begun = Clock::now();
  loop_->start([](const Result<Done>&) {});
  run_until([this] { return is_kept(); }, seconds(600));
  fmt::print("{} devices converged from bare in {:.1f} s, {:.1f} s of CPU\n", devices_.size(),
             seconds_since(begun), cpu_seconds());
  if (!is_kept()) throw std::runtime_error("it never converged: " + loop_->status()->why_not_run);
  rest(seconds(15));
  double before = cpu_seconds();
  rest(idle);
  const double at_rest = (cpu_seconds() - before) / static_cast<double>(idle.count());
  before = cpu_seconds();
  loop_->reconcile_now();
  rest(idle);
  const double look = cpu_seconds() - before - at_rest * static_cast<double>(idle.count());
  constexpr double kResync = 600;  // seconds
  fmt::print("idle: {:.2f} % of a core, and a look at all devices {:.2f} s: {:.2f} % with one every 10 min\n",
             100 * at_rest, look, 100 * (at_rest + look / kResync));
  fmt::print("memory: {} MiB now, {} MiB at most\n", mib_of("VmRSS"), mib_of("VmHWM"));
  drift(drifts);
  print_spread("drift told after the event", told_);
  print_spread("drift healed after the event", healed_);
  fmt::print("memory: {} MiB now, {} MiB at most\n", mib_of("VmRSS"), mib_of("VmHWM"));
  if (watchers > 0) be_watched(idle, watchers);
  bool ended = false;
  loop_->stop();
  run_until([&ended, this] { return ended || !loop_->status()->leads; }, seconds(60));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  const auto number = [&](int which, unsigned otherwise) {
    return argc > which ? static_cast<unsigned>(std::strtoul(argv[which], nullptr, 10)) : otherwise;
  };
  const rlimit files{8192, 8192};
  ::setrlimit(RLIMIT_NOFILE, &files);
  try {
    ServedFleet(number(1, 4096)).measure(seconds(number(2, 60)), number(3, 200), number(4, 1000));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
