#include "reconciler/metrics/process_families.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace lockstep {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

double clock_seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// By the clocks of now and of the boot: /proc/stat, which has the time of the boot, may be hidden
// (ProcSubset=pid).
std::optional<double> started() {
  std::string line;
  std::ifstream file("/proc/self/stat");
  std::getline(file, line);
  // proc(5): field 22, in ticks since the boot; the program's name, in parentheses, may have spaces.
  const std::size_t name_ends = line.rfind(')');
  if (name_ends == line.npos) return std::nullopt;
  std::istringstream rest(line.substr(name_ends + 1));
  std::string field;
  for (int i = 3; i <= 21; ++i) rest >> field;
  double ticks = 0;
  if (!(rest >> ticks)) return std::nullopt;
  const double since_boot = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return clock_seconds(CLOCK_REALTIME) - (clock_seconds(CLOCK_BOOTTIME) - since_boot);
}

// Bytes: all of it, and what is in memory.
std::optional<std::array<double, 2>> memory() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  if (!(file >> all >> resident)) return std::nullopt;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return std::array{all * page, resident * page};
}

// mallinfo(3): bytes in use in all arenas, and in blocks that were mapped one by one. Zero: the program has
// another allocator, such as a sanitizer's.
std::optional<double> allocated() {
  const struct mallinfo2 all = ::mallinfo2();
  const std::size_t bytes = all.uordblks + all.hblkhd;
  return bytes == 0 ? std::nullopt : std::optional(static_cast<double>(bytes));
}

std::optional<double> open_descriptors() {
  std::error_code code;
  double count = -1;  // of the folder itself
  for (std::filesystem::directory_iterator one("/proc/self/fd", code), end; !code && one != end;
       one.increment(code))
    ++count;
  return code ? std::nullopt : std::optional(count);
}

std::optional<double> most_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

std::vector<MetricFamily> process_families() {
  std::vector<MetricFamily> out;
  const auto add = [&](const char* name, const char* help, std::optional<double> value,
                       MetricType type = MetricType::Gauge) {
    if (!value) return;
    prometheus::ClientMetric metric;
    (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
    out.push_back({name, help, type, {std::move(metric)}});
  };
  add("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
      clock_seconds(CLOCK_PROCESS_CPUTIME_ID), MetricType::Counter);
  add("process_open_fds", "Number of open file descriptors.", open_descriptors());
  add("process_max_fds", "Maximum number of open file descriptors.", most_descriptors());
  const auto bytes = memory();
  add("process_virtual_memory_bytes", "Virtual memory size in bytes.",
      bytes ? std::optional((*bytes)[0]) : std::nullopt);
  add("process_resident_memory_bytes", "Resident memory size in bytes.",
      bytes ? std::optional((*bytes)[1]) : std::nullopt);
  add("lockstep_heap_allocated_bytes",
      "Allocated heap memory in bytes, without what the allocator keeps for later.", allocated());
  add("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", started());
  return out;
}

}  // namespace lockstep
