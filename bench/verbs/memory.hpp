// Region: the memory that an end's messages lie in, and where its thread runs.
//
// Promises: on huge pages where the machine has some free, else on plain ones, and `note` says so; freed
// whole. run_near() moves the calling thread to the CPUs of a NUMA node before the region is made, as memory
// is of the node of the CPU that first touches it (numa(7)); where that can't be, the reason is the note.
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
