// Compares our verbs workloads with those of perftest on the same Soft-RoCE pair, alternating so that other
// load affects both. Emulation is noisy (30 %), with slow runs on either side: the two runs of each round
// give one ratio, and the verdict is based on the 95 % confidence interval of their median, by order
// statistics. A row fails only if the interval excludes the goal: bandwidth at least equal, median latency at
// most 1.05 times. tests/perf/verbs_vs_perftest.sh runs it; README.md there.
//
// perftest converts cycles to time by a regression over a few milliseconds, which other load makes wrong by
// several per cent, or "inf". Latencies are therefore requested in cycles (-C), and the rate of the counter
// is measured over the whole run, with the clock that times our runs.
#include <x86intrin.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "bench/tcp/cpu.hpp"
#include "bench/verbs/run.hpp"
#include "tests/vm/verbs_pair.hpp"

namespace lockstep {
namespace {

struct Row {
  const char* name;
  std::vector<std::string> perftest;  // the tool and its arguments for the same workload
  const char* operation;
  const char* service;
  bool latency;
  unsigned bytes;
  unsigned iterations;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

const Row kRows[] = {
    {"write_bw_64K", {"ib_write_bw"}, "write", "RC", false, 65536, 1000},
    {"read_bw_64K", {"ib_read_bw"}, "read", "RC", false, 65536, 1000},
    {"send_bw_64K", {"ib_send_bw"}, "send", "RC", false, 65536, 1000},
    {"write_bw_4K", {"ib_write_bw"}, "write", "RC", false, 4096, 8000},
    {"write_lat_8", {"ib_write_lat"}, "write", "RC", true, 8, 2000},
    {"read_lat_8", {"ib_read_lat"}, "read", "RC", true, 8, 2000},
    {"send_lat_8", {"ib_send_lat"}, "send", "RC", true, 8, 2000},
    {"send_lat_ud_8", {"ib_send_lat", "-c", "UD"}, "send", "UD", true, 8, 2000},
};
// Rounds are started for this long: four rows in a machine that run.sh stops after 400 s.
constexpr int kRowSeconds = 45;
constexpr int kRunSeconds = 10;          // one run, on a busy machine
constexpr std::size_t kRoundsLeast = 6;  // fewer give no interval of 95 %: 2 / 2^5
constexpr int kTimeout = 17;             // of the queue pairs on both sides: see verbs_test.cpp

class BesidePerftest : public RxeLab, public ::testing::WithParamInterface<Row> {
 protected:
  // Bytes per second, or the median latency in seconds; 0: no figure.
  double ours() const {
    const Row& row = GetParam();
    const Ran ran = run_between(endpoint(0), endpoint(1),
                                {{"operation", row.operation},
                                 {"service", row.service},
                                 {"measure", row.latency ? "latency" : "bandwidth"},
                                 {"bytes", row.bytes},
                                 {"iterations", row.iterations},
                                 {"timeout", kTimeout}},
                                {{"deadlineMs", kRunSeconds * 1000}});
    if (ran.client_exit != 0) {
      std::printf("  ours: %s\n", ran.client.value("error", "").c_str());
      return 0;
    }
    const json& result = ran.client["result"];
    return row.latency ? result["latencyNs"].value("p50", 0.0) / 1e9 : result.value("bytesPerSecond", 0.0);
  }

  double perftests() {
    const Row& row = GetParam();
    std::vector<std::string> words = row.perftest;
    const auto add = [&words](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    // GID 1 is that of the address, as RoCE v2 (rxe_lab.hpp); -F: ignore the CPU frequency.
    if (row.latency) add({"-C"});
    add({"-x", "1", "-s", std::to_string(row.bytes), "-n", std::to_string(row.iterations), "-u",
         std::to_string(kTimeout), "-F", "-p", std::to_string(++port_), "-d"});
    std::vector<std::string> far = words;
    far.push_back(endpoint(1).device);
    words.push_back(endpoint(0).device);
    words.push_back(endpoint(1).address);
    Process server(far);
    const Time deadline = within(kRunSeconds);
    while (!listening(port_) && std::chrono::steady_clock::now() < deadline) {
    }
    Process client(words);
    std::istringstream lines(client.all(within(kRunSeconds)));
    // "#bytes #iterations peak average rate", or "#bytes #iterations min max typical average ..." in cycles.
    for (std::string line; std::getline(lines, line);) {
      std::istringstream numbers(line);
      unsigned bytes = 0;
      double skip = 0;
      double figure = 0;
      if (!(numbers >> bytes >> skip) || bytes != row.bytes) continue;
      if (row.latency && numbers >> skip >> skip >> figure) return figure / cycles_a_second();
      if (!row.latency && numbers >> skip >> figure) return figure * 1048576;  // its MB is 2^20
    }
    std::printf("  perftest: no figure\n");
    return 0;
  }

  double cycles_a_second() const {
    return static_cast<double>(__rdtsc() - cycles_) / static_cast<double>(bench::now_ns() - begin_) * 1e9;
  }

  // proc_net(5): state 0A of this local port.
  static bool listening(int port) {
    char wanted[16];
    std::snprintf(wanted, sizeof wanted, ":%04X ", static_cast<unsigned>(port));
    for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      std::ifstream table(path);
      for (std::string line; std::getline(table, line);)
        if (line.find(wanted) != std::string::npos && line.find(" 0A ") != std::string::npos) return true;
    }
    return false;
  }

 private:
  std::uint64_t cycles_ = __rdtsc();
  std::uint64_t begin_ = bench::now_ns();
  int port_ = 18600;
};

struct Median {
  double value = 0;
  double low = 0;
  double high = 0;
};

// The interval is between the k-th smallest and the k-th largest value, where k is the largest number for
// which fewer than k values lie below the median in at most 2.5 % of all cases: each does with probability
// 1/2.
Median median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  double exactly = std::pow(0.5, count);  // the probability that exactly this many lie below
  double at_most = exactly;
  std::size_t below = 0;
  while (at_most <= 0.025) {
    exactly *= static_cast<double>(count - below) / static_cast<double>(below + 1);
    at_most += exactly;
    ++below;
  }
  return {(values[count / 2] + values[(count - 1) / 2]) / 2, values[below - 1], values[count - below]};
}

TEST_P(BesidePerftest, IsAtLeastAsGoodAsPerftest) {
  std::vector<double> mine;
  std::vector<double> theirs;
  const Time end = within(kRowSeconds);
  for (int round = 0; std::chrono::steady_clock::now() < end; ++round) {
    // The two sides take turns in going first.
    const double first = round % 2 == 0 ? ours() : perftests();
    const double second = round % 2 == 0 ? perftests() : ours();
    if (first <= 0 || second <= 0) continue;
    mine.push_back(round % 2 == 0 ? first : second);
    theirs.push_back(round % 2 == 0 ? second : first);
  }
  ASSERT_GE(mine.size(), kRoundsLeast) << "too few rounds with a figure of both";
  std::vector<double> ratios;
  for (std::size_t i = 0; i < mine.size(); ++i) ratios.push_back(mine[i] / theirs[i]);
  const Median ratio = median_of(ratios);
  const bool latency = GetParam().latency;
  const double goal = latency ? 1.05 : 1;
  const bool met = latency ? ratio.high <= goal : ratio.low >= goal;
  const bool missed = latency ? ratio.low > goal : ratio.high < goal;
  const double unit = latency ? 1e6 : 1e-6;
  const char* const unit_name = latency ? "us" : "MB/s";
  std::printf("RESULT | `%s` | %.1f %s | %.1f %s | %.3f (%.3f to %.3f) | %zu | %s |\n", GetParam().name,
              median_of(mine).value * unit, unit_name, median_of(theirs).value * unit, unit_name, ratio.value,
              ratio.low, ratio.high, ratios.size(),
              met      ? "yes"
              : missed ? "no"
                       : "open");
  EXPECT_FALSE(missed);
}

INSTANTIATE_TEST_SUITE_P(Verbs, BesidePerftest, ::testing::ValuesIn(kRows),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "verbs-probe")
    return lockstep::bench::verbs::verbs_probe_main(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
