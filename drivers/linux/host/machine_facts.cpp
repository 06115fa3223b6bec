#include "drivers/linux/host/machine_facts.hpp"

#include <string>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kFactMax = 200;  // a choice; SMBIOS strings have some 60 bytes

struct FactFile {
  const char* name;
  const char* path;
  bool of_machine;  // not of a part of it
};
constexpr FactFile kFiles[] = {
    {"kernel", "/proc/sys/kernel/osrelease", false},
    {"vendor", "/sys/class/dmi/id/sys_vendor", true},
    {"model", "/sys/class/dmi/id/product_name", true},
    {"serial", "/sys/class/dmi/id/product_serial", true},
    {"firmware", "/sys/class/dmi/id/bios_version", true},
    {"gpuDriver", "/sys/module/nvidia/version", true},
    {"gpuDriver", "/sys/module/amdgpu/version", true},
};

void add(const std::string& name, std::string_view said, Facts& out) {
  const std::string_view text = trimmed(said);
  if (text.empty()) return;
  out.try_emplace(name, printable(text, kFactMax));
}

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"; the quotes of a shell, without escapes in any known file.
std::string_view pretty_name(std::string_view os_release) {
  constexpr std::string_view kName = "PRETTY_NAME=";
  std::size_t at = os_release.starts_with(kName) ? 0 : os_release.find("\n" + std::string(kName));
  if (at == os_release.npos) return {};
  at = os_release.find('=', at) + 1;
  std::string_view text = trimmed(os_release.substr(at, os_release.find('\n', at) - at));
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

Facts machine_facts(const HostFiles& files, bool shared) {
  Facts out;
  for (const FactFile& one : kFiles) {
    if (shared && one.of_machine) continue;
    if (const Result<std::string> read = files.line(one.path)) add(one.name, *read, out);
  }
  if (const Result<std::string> read = files.read("/etc/os-release")) add("os", pretty_name(*read), out);
  return out;
}

}  // namespace lockstep
