// Seconds per stage and peak memory of load, validate, compile, diff and plan, for 64 to 16,384 hosts of 8
// NICs: plan_fleet [hosts...] [--no-roce] [--careful] [--mtu] [--from-host]
//
// The observations are the intents' own trees with every thousandth entry changed. Building them is not
// timed, but is included in the peak. In brackets: CPU seconds of all threads. --careful: plan under a policy
// of waves, groups and capacity. --mtu: in addition, every port has a smaller MTU than desired. --from-host:
// the program runs on the first host and reaches all others by its rails. Allocations are those of the plan
// alone.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "specs/compile/compile.hpp"
#include "specs/fabric/capacity.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/perf/fleet_spec.hpp"

namespace {
std::atomic<std::size_t> allocations = 0;
}  // namespace

// Override libstdc++'s operators in this program, and count.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const made = std::malloc(size == 0 ? 1 : size)) return made;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* made) noexcept { std::free(made); }
[[gnu::noinline]] void operator delete(void* made, std::size_t) noexcept { std::free(made); }

namespace {

using namespace lockstep;

constexpr std::size_t kOneIn = 1000;  // issue 2: "0.1 % drifted"
constexpr std::size_t kThreads = 2;   // issue 2: "on two cores"

struct Lap {
  double wall = 0;
  double cpu = 0;  // of all threads: unaffected by other load on the machine
  Lap operator+(const Lap& other) const { return {wall + other.wall, cpu + other.cpu}; }
  std::string text() const { return fmt::format("{:.3f} ({:.3f})", wall, cpu); }
};

class Stopwatch {
 public:
  Lap lap() {
    const Lap now{seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
    const Lap last = std::exchange(last_, now);
    return {now.wall - last.wall, now.cpu - last.cpu};
  }

 private:
  static double seconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  Lap last_{seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID)};
};

long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

Value other_than(Value want) {
  switch (want.kind()) {
    case Value::Kind::boolean: return Value::boolean(!want.as_boolean());
    case Value::Kind::integer: return Value::integer(want.as_integer() - 1);
    case Value::Kind::text: return Value::text("drifted");
    case Value::Kind::list: return Value::set({"drifted"});
    default: return Value{};
  }
}

// The entry that differs at every port of the fleet.
constexpr RowId kMtu = row("interface[*]/mtu");

// `count` runs over all entries of the fleet, so that drift falls on all rows and devices alike.
Observation drifted(const Intent& intent, std::size_t& count, bool mtu) {
  Observation out;
  out.device = intent.device;
  out.boot_id = "1";
  std::vector<Entry> entries;
  entries.reserve(intent.want.size());
  for (const Entry& entry : intent.want.entries()) {
    const bool differs = ++count % kOneIn == 0 || (mtu && entry.path.row() == kMtu);
    const Value value = differs ? other_than(entry.value) : entry.value;
    if (value) entries.push_back({entry.path, 0, value});
  }
  out.have = Tree::from_sorted(std::move(entries));
  return out;
}

std::vector<Difference> compare_all(const std::vector<Intent>& intents,
                                    const std::vector<Observation>& seen) {
  std::vector<Difference> out(intents.size());
  const auto part = [&](std::size_t first) {
    for (std::size_t i = first; i < intents.size(); i += kThreads) out[i] = diff(intents[i], seen[i]);
  };
  const std::jthread other(part, 1);
  part(0);
  return out;
}

Policy careful() {
  Policy policy;
  policy.by_group = true;
  policy.waves = {{false, 1}, {true, 0.1}, {true, 1}};
  policy.min_capacity = {{"spine", 0.5}};
  return policy;
}

std::function<double(const Outage&)> capacity_of(const Topology& topology) {
  return [&topology, capacity = FabricCapacity(topology, 0)](const Outage& outage) {
    Down down;
    for (const std::string& name : outage.devices) down.devices.push_back(topology.find_device(name));
    down.links = outage.cables;
    double least = 1;
    for (const double share : capacity.without(down).smallest) least = std::min(least, share);
    return least;
  };
}

// The own path of the first host, which reaches all others by all of its rails.
OwnPath path_from_host(const Topology& topology) {
  const DeviceIndex self = topology.fabrics.front().hosts.front();
  std::vector<std::uint32_t> rails;
  for (std::uint32_t i = 0; i < topology.devices[self].port_count; ++i)
    if (const PortIndex port = topology.devices[self].first_port + i; topology.ports[port].link != kNone)
      rails.push_back(port);
  std::vector<ReachedDevice> reached;
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i)
    if (i != self) reached.push_back({.device = i, .by = rails});
  return own_path(topology, self, reached);
}

Result<Plan> plan_all(const Compiled& compiled, const Catalog& catalog, const std::vector<Observation>& seen,
                      std::vector<Difference>& differences, const Policy* policy, bool from_host) {
  Wiring wiring = wiring_of(compiled.topology);
  if (from_host) wiring.own_path = path_from_host(compiled.topology);
  if (policy != nullptr) wiring.capacity_left = capacity_of(compiled.topology);
  PlanInput input;
  input.wiring = &wiring;
  input.origins = &compiled.origins;
  input.sources = &catalog.sources;
  input.devices.reserve(compiled.intents.size());
  for (std::size_t i = 0; i < compiled.intents.size(); ++i) {
    DeviceInput& device = input.devices.emplace_back();
    device.name = compiled.intents[i].device;
    device.role = std::string(to_string(compiled.topology.devices[i].role));
    device.intent = &compiled.intents[i];
    device.observation = &seen[i];
    device.changes = std::move(differences[i].changes);
    device.effects = std::move(differences[i].effects);
    device.carrier = [](RowId row) {
      return std::string(schema_row(row).pattern.starts_with("bgp") ? "frr" : "linux");
    };
    device.policy = policy;
  }
  return make_plan(input);
}

// The size of the order in the plan: ids of steps and numbers of barriers.
std::size_t waits_of(const Plan& plan) {
  std::size_t out = 0;
  for (const Step& step : plan.steps) out += step.after.size() + step.after_barriers.size();
  for (const Barrier& barrier : plan.barriers) out += barrier.after.size();
  return out;
}

void measure(const perf::FleetShape& shape, const Policy* policy, bool mtu, bool from_host) {
  const std::string text = perf::fleet_spec(shape);
  Stopwatch watch;
  const Loaded loaded = load_text("fleet.yaml", text);
  const Lap load = watch.lap();
  const Compiled compiled = compile(loaded.catalog, {});
  const Lap compiling = watch.lap();
  const Diagnostics proved = prove(loaded.catalog, compiled.topology);
  const Lap validate = watch.lap();

  std::size_t entries = 0;
  std::vector<Observation> seen;
  seen.reserve(compiled.intents.size());
  for (const Intent& intent : compiled.intents) seen.push_back(drifted(intent, entries, mtu));
  watch.lap();

  std::vector<Difference> differences = compare_all(compiled.intents, seen);
  const Lap diffing = watch.lap();
  const std::size_t allocated = allocations;
  const Result<Plan> plan = plan_all(compiled, loaded.catalog, seen, differences, policy, from_host);
  const Lap planning = watch.lap();
  const std::size_t allocating = allocations - allocated;
  fmt::print("{:>6} hosts {:>5} switches {:>9} entries  load {}  compile {}  validate {}  diff {}  plan {}",
             shape.hosts, compiled.topology.devices.size() - shape.hosts, entries, load.text(),
             compiling.text(), validate.text(), diffing.text(), planning.text());
  fmt::print("  all {} s  peak {} MiB", (load + compiling + validate + diffing + planning).text(),
             peak_mib());
  if (plan)
    fmt::print("  {} changes in {} steps, {} waits, {} allocations\n", plan->changes(), plan->steps.size(),
               waits_of(*plan), allocating);
  else
    fmt::print("  {}\n", plan.error().text());
  for (const Diagnostics* all : {&loaded.diagnostics, &compiled.diagnostics, &proved})
    for (const Diagnostic& one : *all) fmt::print("  {} {}\n", one.code, one.message);
  std::fflush(stdout);
  std::_Exit(plan ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<unsigned> sizes;
  bool roce = true;
  bool mtu = false;
  bool from_host = false;
  Policy policy = careful();
  const Policy* chosen = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--no-roce")
      roce = false;
    else if (word == "--careful")
      chosen = &policy;
    else if (word == "--mtu")
      mtu = true;
    else if (word == "--from-host")
      from_host = true;
    else
      sizes.push_back(static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10)));
  }
  if (sizes.empty()) sizes = {64, 512, 4096, 16384};
  // Each size runs in its own process, to get its own peak.
  for (const unsigned hosts : sizes) {
    const pid_t child = fork();
    if (child == 0) measure({hosts, roce}, chosen, mtu, from_host);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return 1;
  }
  return 0;
}
