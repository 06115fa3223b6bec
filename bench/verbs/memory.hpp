// Region: the memory of an end's messages, and the placement of its thread.
//
// Promises: on huge pages if the machine has some free, else on plain ones, which `note` reports; freed
// completely. run_near() moves the calling thread to the CPUs of a NUMA node before the region is created,
// because memory belongs to the node of the CPU that first touches it (numa(7)); if that is not possible, the
// note gives the reason.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "drivers/linux/host/files.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench::verbs {

class Region {
 public:
  static Result<Region> make(std::uint64_t bytes);
  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  std::span<std::uint8_t> bytes() { return {start_, size_}; }
  const std::string& note() const { return note_; }

 private:
  Region() = default;
  std::uint8_t* start_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t mapped_ = 0;
  std::string note_;
};

// Empty: done, or the device has no node.
std::string run_near(const HostFiles& files, int numa_node);

}  // namespace lockstep::bench::verbs
