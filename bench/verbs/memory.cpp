#include "bench/verbs/memory.hpp"

#include <linux/mman.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "drivers/linux/host/cpu_list.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::uint64_t huge_page = std::uint64_t{2} << 20U;  // MAP_HUGE_2MB: x86 and arm64 with 4 KiB pages
constexpr std::uint64_t plain_page = 4096;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t page) { return (bytes + page - 1) / page * page; }

void* map(std::uint64_t bytes, int flags) {
  // Populated here, by this thread: the pages are on its node, and no page fault is measured.
  void* const at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

std::string errno_text(int error) { return std::generic_category().message(error); }

}  // namespace

Result<Region> Region::make(std::uint64_t bytes) {
  Region out;
  out.size_ = bytes;
  out.mapped_ = rounded(bytes, huge_page);
  // On a machine with huge pages but none free mmap fails: hugetlb reserves them at once (mmap(2)).
  void* at = bytes < huge_page ? nullptr : map(out.mapped_, MAP_HUGETLB | MAP_HUGE_2MB);
  if (at == nullptr) {
    if (bytes >= huge_page)
      out.note_ = "plain pages: no huge page of 2 MiB is free (" + errno_text(errno) + ")";
    out.mapped_ = rounded(bytes, plain_page);
    at = map(out.mapped_, 0);
  }
  if (at == nullptr)
    return Error{ErrorKind::refused,
                 "no memory of " + std::to_string(bytes) + " bytes: " + errno_text(errno)};
  out.start_ = static_cast<std::uint8_t*>(at);
  return out;
}

Region::Region(Region&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      size_(other.size_),
      mapped_(other.mapped_),
      note_(std::move(other.note_)) {}

Region::~Region() {
  if (start_ != nullptr) (void)munmap(start_, mapped_);
}

std::string run_near(const HostFiles& files, int numa_node) {
  if (numa_node < 0) return {};
  const std::string node = "NUMA node " + std::to_string(numa_node);
  const auto text = files.line("/sys/devices/system/node/node" + std::to_string(numa_node) + "/cpulist");
  const auto cpus = parse_cpu_list(text ? *text : "");
  if (!cpus || cpus->empty()) return "not near the device: " + node + " has no CPUs that can be read";
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : *cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return "not near the device: the CPUs of " + node + " are not this process's (" + errno_text(errno) + ")";
  return {};
}

}  // namespace lockstep::bench::verbs
