#include "drivers/linux/host/cpu_list.hpp"

#include <charconv>

#include "drivers/linux/host/files.hpp"

namespace lockstep {
namespace {

bool parse_cpu(std::string_view text, unsigned& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc{} && end == text.data() + text.size() && out < kCpusMax;
}

}  // namespace

Result<CpuSet> parse_cpu_list(std::string_view text) {
  const Error wrong{ErrorKind::refused, "'" + std::string(text) + "' is not a list of CPUs"};
  CpuSet out;
  text = trimmed(text);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t dash = piece.find('-');
    unsigned first = 0;
    if (!parse_cpu(piece.substr(0, dash), first)) return wrong;
    unsigned last = first;
    if (dash != std::string_view::npos && !parse_cpu(piece.substr(dash + 1), last)) return wrong;
    if (last < first) return wrong;
    for (unsigned cpu = first; cpu <= last; ++cpu) out.insert(cpu);
  }
  return out;
}

std::string cpu_list_text(const CpuSet& cpus) {
  std::string out;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const unsigned first = *at;
    unsigned last = first;
    for (++at; at != cpus.end() && *at == last + 1; ++at) last = *at;
    out += (out.empty() ? "" : ",") + std::to_string(first);
    if (last > first) out += "-" + std::to_string(last);
  }
  return out;
}

}  // namespace lockstep
