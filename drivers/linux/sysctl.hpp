// Kernel parameters by dotted name, read and written as files of /proc/sys.
//
// Promises: net.* ones are those of the calling thread's network namespace. As in sysctl(8), a dot inside a
// component (an interface called eth0.100) is written '/': net.ipv4.conf.eth0/100.rp_filter. Values are
// compared as the kernel prints them: runs of blanks become one blank, ends are trimmed. Refuses: names that
// escape /proc/sys ('..' or an empty component); reading parameters that only root may read, as they may be
// secrets.
#pragma once

#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

Result<std::string> sysctl_file(std::string_view name);
std::string normal_sysctl(std::string_view raw);

// `unsupported`: this kernel has no such parameter.
Result<std::string> read_sysctl(std::string_view name);
// Reads back: the kernel accepts some values and then changes them.
Result<Done> write_sysctl(std::string_view name, std::string_view value);

}  // namespace lockstep
