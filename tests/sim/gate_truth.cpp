// simulate_gate: seeded changes with a known effect on the fabric's speed, applied by the engine and judged
// by its gate on realistic figures: with noise, hiccups, permanently slow hosts, and load of other tenants.
//   simulate_gate [--seed N] [--changes COUNT]
// Exit code 1: at least 1 % of the harmless changes were rolled back, or at least 1 % of those that cost 20 %
// were kept.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string_view>

#include "drivers/runtime/random.hpp"
#include "tests/unit/engine/cluster.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kHosts = 8;
constexpr std::size_t kPeers = 3;  // of each host that a change affects: engine.md, "Pairs"
constexpr int kOldMtu = 9000;
constexpr int kNewMtu = 4000;
constexpr double kLeast = 90;  // the SLO; a healthy pair reaches 100

// The real effect of the change on its hosts.
enum class Truth : std::uint8_t { harmless, slower, costlier };

std::string host_name(std::size_t host) { return "gpu" + std::to_string(host); }

// Assumed values, for a quiet to a rather noisy machine.
struct Weather {
  explicit Weather(Random& random) {
    noise = 0.005 + random.unit() * 0.015;
    for (std::size_t host = 0; host < kHosts; ++host) {
      sick[host] = random.chance(0.1) ? 0.2 + random.unit() * 0.6 : 1;
      has_tenant[host] = random.chance(0.2);
    }
  }
  static constexpr double kHiccup = 0.02;  // of a repeat
  static constexpr double kLost = 0.002;   // of a connection
  static constexpr double kBusy = 0.5;     // of a host with a tenant, in one measurement
  static constexpr double kCostNoise = 0.02;
  double noise = 0;  // of a repeat, standard deviation
  double sick[kHosts]{};
  bool has_tenant[kHosts]{};
};

class NoisyGate final : public Measurer {
 public:
  NoisyGate(Cluster& cluster, Truth truth, Random& random)
      : cluster_(cluster), truth_(truth), random_(random), weather_(random) {}

  Result<GateMeasurement> measure(const GateQuestion& question, const Call&) override {
    for (std::size_t host = 0; host < kHosts; ++host)
      stolen_[host] =
          weather_.has_tenant[host] && random_.chance(Weather::kBusy) ? 0.1 + random_.unit() * 0.5 : 0;
    GateMeasurement out;
    std::size_t controls = kControls;
    for (std::size_t from = 0; from < kHosts; ++from)
      for (std::size_t by = 1; by < kHosts; ++by) {
        const std::size_t to = (from + by) % kHosts;
        const bool near = by <= kPeers || by >= kHosts - kPeers;
        const bool asked =
            near && touches(question.affected, from, to) && !touches(question.pending, from, to);
        const std::string subject = host_name(from) + " -> " + host_name(to);
        if (asked && (question.only.empty() || question.only.contains(subject)))
          out.figures.push_back(figure(subject, from, to));
        else if (question.when != GateQuestion::When::after && !touches(question.whole, from, to) &&
                 controls > 0) {
          --controls;
          out.controls.push_back(figure(subject, from, to));
        }
      }
    out.selected = out.measured = out.figures.size();
    return out;
  }

 private:
  static bool touches(const BlastRadius& blast, std::size_t from, std::size_t to) {
    return blast.touches_path({host_name(from), "leaf0", host_name(to)},
                              {static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)});
  }
  bool changed(std::size_t host) {
    return cluster_.devices[host_name(host)]->truth().value(entry("interface[rail0]/mtu")) == number(kNewMtu);
  }
  double gauss() {
    return std::sqrt(-2 * std::log(1 - random_.unit())) * std::cos(2 * std::numbers::pi * random_.unit());
  }

  GateFigure figure(const std::string& subject, std::size_t from, std::size_t to) {
    const bool has_it = changed(from) || changed(to);
    const double stolen = std::max(stolen_[from], stolen_[to]);
    const double rate = 100 * weather_.sick[from] * weather_.sick[to] * (1 - stolen) *
                        (has_it && truth_ != Truth::harmless ? 0.8 : 1);
    std::array<double, 3> repeats{};
    for (double& one : repeats)
      one = rate * (1 + weather_.noise * gauss()) *
            (random_.chance(Weather::kHiccup) ? 0.3 + random_.unit() * 0.4 : 1);
    std::sort(repeats.begin(), repeats.end());
    GateFigure out;
    out.subject = subject;
    out.figure = random_.chance(Weather::kLost) ? 0 : repeats[1];
    out.noise = (repeats[2] - repeats[0]) / repeats[1];
    const bool own_cpu = has_it && truth_ == Truth::costlier;
    // A shared cache raises the CPU cost per byte.
    out.cpu = (1 + Weather::kCostNoise * gauss()) * (own_cpu ? 1.25 : 1) *
              (stolen > 0 ? 1 + 0.1 * random_.unit() : 1);
    if (*out.figure == 0) out.cpu.reset();
    out.state = *out.figure >= kLeast                        ? SloState::holds
                : *out.figure > 0 && (stolen > 0 || own_cpu) ? SloState::unknown
                                                             : SloState::broken;
    return out;
  }

  Cluster& cluster_;
  const Truth truth_;
  Random& random_;
  const Weather weather_;
  double stolen_[kHosts]{};  // the share of its CPUs that others use in this measurement
};

struct Counts {
  std::size_t harmless = 0, undone = 0, harmless_held = 0;
  std::size_t bad = 0, kept = 0, bad_held = 0;
};

void one_change(std::uint64_t seed, Counts& counts) {
  Random random(seed);
  Cluster cluster(seed);
  cluster.add("leaf0", "leaf");
  for (std::size_t host = 0; host < kHosts; ++host) {
    cluster.add(host_name(host));
    cluster.cable(host_name(host), "rail0", "leaf0", "swp" + std::to_string(host));
    cluster.want(host_name(host), "interface[rail0]/address[10.0.0.1/31]", there());
    cluster.want(host_name(host), "interface[rail0]/mtu", number(kOldMtu));
  }
  cluster.converge();
  const Truth truth = random.chance(0.5)   ? Truth::harmless
                      : random.chance(0.5) ? Truth::slower
                                           : Truth::costlier;
  NoisyGate gate(cluster, truth, random);
  cluster.options.measurer = &gate;
  cluster.policy = Policy{};
  cluster.policy->waves = {{false, 1}, {true, 1.0}};
  const std::size_t touched = 1 + random.below(kHosts);
  for (std::size_t host = 0; host < touched; ++host)
    cluster.want(host_name(host), "interface[rail0]/mtu", number(kNewMtu));
  const ApplyReport report = cluster.converge();
  const bool undone = !report.undone.empty();
  const bool held = report.verdict == ApplyVerdict::not_validated;
  if (truth == Truth::harmless) {
    ++counts.harmless;
    counts.undone += undone ? 1 : 0;
    counts.harmless_held += held ? 1 : 0;
    return;
  }
  ++counts.bad;
  counts.kept += !undone && !held ? 1 : 0;
  counts.bad_held += held ? 1 : 0;
}

double percent(std::size_t part, std::size_t all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  using namespace lockstep;
  std::uint64_t seed = 1;
  std::uint64_t changes = 1000;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view word = argv[i];
    if (i + 1 == argc || (word != "--seed" && word != "--changes")) {
      std::fprintf(stderr, "usage: simulate_gate [--seed N] [--changes COUNT]\n");
      return 2;
    }
    (word == "--seed" ? seed : changes) = std::strtoull(argv[i + 1], nullptr, 10);
  }
  Counts counts;
  for (std::uint64_t i = 0; i < changes; ++i) one_change(seed + i, counts);
  std::printf("%zu harmless changes: %.2f%% undone, %.2f%% held as not validated\n", counts.harmless,
              percent(counts.undone, counts.harmless), percent(counts.harmless_held, counts.harmless));
  std::printf("%zu changes that cost 20%%: %.2f%% kept, %.2f%% held as not validated\n", counts.bad,
              percent(counts.kept, counts.bad), percent(counts.bad_held, counts.bad));
  const bool good = counts.undone * 100 < counts.harmless && counts.kept * 100 < counts.bad;
  return good && counts.harmless > 0 && counts.bad > 0 ? 0 : 1;
}
