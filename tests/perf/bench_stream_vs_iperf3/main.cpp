// Stream bandwidth against iperf3 on the same veth pair, interleaved so that other load on the machine
// affects both. Prints every run and the ratio of the medians. Exits with 1 if ours is below 0.98 of
// iperf3's.
//
//   perf_bench_stream_vs_iperf3 [RUNS] [SECONDS]      (root; default 5 runs of 1 s; unshaped, then 1 Gb/s)
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/tcp/run.hpp"
#include "bench/tcp/sockets.hpp"

extern char** environ;

namespace {

using namespace lockstep::bench;

const std::string here = "lsbench-perf-" + std::to_string(getpid()) + "-";

pid_t start(std::vector<std::string> words, int out) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (out >= 0) posix_spawn_file_actions_adddup2(&files, out, 1);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -1;
}

bool did(const std::vector<std::string>& words) {
  const pid_t pid = start(words, -1);
  int status = -1;
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

struct Lab {
  bool up = false;
  Lab() {
    const std::string a = here + "a";
    const std::string b = here + "b";
    up = did({"ip", "netns", "add", a}) && did({"ip", "netns", "add", b}) &&
         did({"ip", "-n", a, "link", "add", "eth0", "mtu", "9000", "type", "veth", "peer", "name", "eth0",
              "netns", b, "mtu", "9000"}) &&
         did({"ip", "-n", a, "addr", "add", "10.96.0.1/24", "dev", "eth0"}) &&
         did({"ip", "-n", b, "addr", "add", "10.96.0.2/24", "dev", "eth0"}) &&
         did({"ip", "-n", a, "link", "set", "dev", "eth0", "up"}) &&
         did({"ip", "-n", b, "link", "set", "dev", "eth0", "up"});
  }
  ~Lab() {
    did({"ip", "netns", "del", here + "a"});
    did({"ip", "netns", "del", here + "b"});
  }
  bool shape(const std::string& rate) {
    for (const char* end : {"a", "b"})
      if (!did({"tc", "-n", here + end, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst",
                "64k", "limit", "512k"}))
        return false;
    return true;
  }
};

double ours(double seconds, std::string& cpu) {
  TcpPlan plan;
  plan.rounds = {{{0, 1}}};
  plan.repeats = 1;
  plan.timing.window = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  std::vector<ProbeEndpoint> endpoints(2);
  for (const std::size_t i : {0U, 1U}) {
    endpoints[i].endpoint.device = i == 0 ? "a" : "b";
    endpoints[i].endpoint.address = i == 0 ? "10.96.0.1" : "10.96.0.2";
    endpoints[i].netns = "/run/netns/" + here + (i == 0 ? "a" : "b");
    endpoints[i].mtu = 9000;
  }
  const auto made = run(plan, endpoints);
  if (!made || !made->front().ok()) {
    std::fprintf(stderr, "stream: %s\n", made ? made->front().error.c_str() : made.error().text().c_str());
    std::exit(1);
  }
  char text[64];
  std::snprintf(text, sizeof text, "busier end %.0f%%, machine idle %.0f%%", made->front().cpu_busiest * 100,
                made->front().cpu_idle * 100);
  cpu = text;
  return made->front().value;
}

// iperf3 over the same window: its own warm-up is omitted (-O), and the receiver's figure is used.
double iperf3(double seconds) {
  const pid_t server = start({"ip", "netns", "exec", here + "b", "iperf3", "-s", "-1", "-B", "10.96.0.2"},
                             open("/dev/null", O_WRONLY | O_CLOEXEC));
  double bits = 0;
  for (int attempt = 0; attempt < 50 && bits <= 0; ++attempt) {  // until the server listens
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) break;
    const pid_t client = start({"ip", "netns", "exec", here + "a", "iperf3", "-c", "10.96.0.2", "-J", "-O",
                                "1", "-t", std::to_string(std::max(1, static_cast<int>(seconds)))},
                               ends[1]);
    close(ends[1]);
    std::string text;
    char bytes[4096];
    for (ssize_t got = 0; (got = read(ends[0], bytes, sizeof bytes)) > 0;)
      text.append(bytes, static_cast<std::size_t>(got));
    close(ends[0]);
    (void)waitpid(client, nullptr, 0);
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_discarded() && json.contains("end") && json["end"].contains("sum_received"))
      bits = json["end"]["sum_received"].value("bits_per_second", 0.0);
  }
  if (bits <= 0) (void)kill(server, SIGKILL);
  (void)waitpid(server, nullptr, 0);
  return bits;
}

double middle(std::vector<double> values) { return median(values).value_or(0); }

bool compare(const char* title, int runs, double seconds) {
  std::vector<double> mine;
  std::vector<double> theirs;
  std::printf("%s: %d interleaved runs of %.1f s, median of each, bit/s of payload at the receiver\n", title,
              runs, seconds);
  for (int i = 0; i < runs; ++i) {
    std::string cpu;
    theirs.push_back(iperf3(seconds));
    mine.push_back(ours(seconds, cpu));
    std::printf("  run %d   iperf3 %8.3f Gb/s   lockstep %8.3f Gb/s   %s\n", i + 1, theirs.back() / 1e9,
                mine.back() / 1e9, cpu.c_str());
    std::fflush(stdout);
  }
  const double ratio = middle(theirs) > 0 ? middle(mine) / middle(theirs) : 0;
  std::printf("  median  iperf3 %8.3f Gb/s   lockstep %8.3f Gb/s   ratio %.3f\n", middle(theirs) / 1e9,
              middle(mine) / 1e9, ratio);
  return ratio >= 0.98;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "probe") return probe_main(argc, argv);
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  const double seconds = argc > 2 ? std::max(0.1, std::atof(argv[2])) : 1;
  Lab lab;
  if (!lab.up) {
    std::puts("skipped: network namespaces cannot be made here (needs root)");
    return 0;
  }
  bool good = compare("unshaped veth pair, MTU 9000", runs, seconds);
  if (!lab.shape("1gbit")) return 1;
  good = compare("the same, shaped to 1 Gb/s by tbf", runs, seconds) && good;
  return good ? 0 : 1;
}
