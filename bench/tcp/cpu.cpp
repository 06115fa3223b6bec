#include "bench/tcp/cpu.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string_view>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep::bench {
namespace {

// The unsigned numbers of the first line of a small /proc file.
std::vector<std::uint64_t> first_line(const char* path) {
  std::array<char, 1024> text{};
  const Descriptor fd(open(path, O_RDONLY | O_CLOEXEC));
  const ssize_t got = fd ? read(fd.number(), text.data(), text.size()) : -1;
  std::vector<std::uint64_t> numbers;
  if (got <= 0) return numbers;
  std::string_view line(text.data(), static_cast<std::size_t>(got));
  line = line.substr(0, line.find('\n'));
  const char* at = line.data();
  const char* const end = at + line.size();
  while (at < end) {
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error == std::errc{}) numbers.push_back(number);
    at = std::max(rest, at + 1);
  }
  return numbers;
}

std::uint64_t ns_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

std::uint64_t now_ns() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

int poll_ms(std::uint64_t until_ns) {
  const std::uint64_t now = now_ns();
  if (until_ns <= now) return 0;
  return static_cast<int>(std::min<std::uint64_t>((until_ns - now) / 1'000'000 + 1, 60'000));
}

ProcessCpu process_cpu() {
  ProcessCpu cpu;
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) cpu.ran = ns_of(used.ru_utime) + ns_of(used.ru_stime);
  const std::vector<std::uint64_t> sched = first_line("/proc/self/schedstat");
  if (sched.size() >= 2) cpu.waited = sched[1];
  return cpu;
}

MachineCpu machine_cpu() {
  MachineCpu cpu;
  const std::vector<std::uint64_t> ticks = first_line("/proc/stat");
  // user nice system idle iowait irq softirq steal; guest times are already counted in user.
  for (std::size_t i = 0; i < ticks.size() && i < 8; ++i) cpu.all += ticks[i];
  if (ticks.size() > 4) cpu.idle = ticks[3] + ticks[4];
  return cpu;
}

double ran_share(const ProcessCpu& before, const ProcessCpu& after, std::uint64_t window_ns) {
  if (window_ns == 0) return 0;
  return static_cast<double>(after.ran - before.ran) / static_cast<double>(window_ns);
}

double waited_share(const ProcessCpu& before, const ProcessCpu& after, std::uint64_t window_ns) {
  if (window_ns == 0) return 0;
  return static_cast<double>(after.waited - before.waited) / static_cast<double>(window_ns);
}

double busy_share(const ProcessCpu& before, const ProcessCpu& after, std::uint64_t window_ns) {
  return ran_share(before, after, window_ns) + waited_share(before, after, window_ns);
}

double idle_share(const MachineCpu& before, const MachineCpu& after) {
  if (after.all <= before.all) return 1;
  const std::uint64_t idle = after.idle > before.idle ? after.idle - before.idle : 0;
  return static_cast<double>(idle) / static_cast<double>(after.all - before.all);
}

}  // namespace lockstep::bench
