// The ECN marker: a small eBPF program that marks packets CE while a port's queue is longer than a threshold.
//
// Promises: one program per threshold, loaded once per process and shared by all ports that use it; a program
// that is not attached is freed when the process ends. Whole port only, not per class. Refuses
// (`unsupported`, with the reason): a build without clang or libbpf, a kernel without what the program needs.
#pragma once

#include <cstdint>

#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// `threshold`: bytes in the port's queue above which packets are marked.
Result<Descriptor> load_ecn_marker(std::uint64_t threshold);

}  // namespace lockstep
