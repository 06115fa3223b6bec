// Lists of CPUs as the kernel writes them: "0-3,8,10-11" (Documentation/admin-guide/cputopology.rst,
// bitmap_parselist in lib/bitmap.c).
//
// Promises: sorted, each CPU once; printed in the kernel's own form. Refuses anything else, numbers above
// kCpusMax and ranges that run backwards.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

inline constexpr unsigned kCpusMax = 8192;  // NR_CPUS of the largest x86 kernel (arch/x86/Kconfig, MAXSMP)

using CpuSet = std::set<unsigned>;

Result<CpuSet> parse_cpu_list(std::string_view text);
std::string cpu_list_text(const CpuSet& cpus);

}  // namespace lockstep
