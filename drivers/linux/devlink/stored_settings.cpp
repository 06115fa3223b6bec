#include "drivers/linux/devlink/stored_settings.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sstream>
#include <vector>

#include "drivers/linux/host/pci.hpp"
#include "drivers/posix/program.hpp"

namespace lockstep::devlink {
namespace {

constexpr std::string_view kVendor = "0x15b3";  // NVIDIA (Mellanox): pci.ids
constexpr std::string_view kTools[] = {"/usr/bin/mstconfig", "/usr/bin/mlxconfig"};
// Arbitrary: a query takes a second or two, and about ten while another tool holds the firmware's semaphore.
constexpr std::chrono::seconds kPatience{30};

// "True(1)" becomes true, "BALANCED(0)" BALANCED, "8" 8.
std::string as_in_specs(std::string_view value) {
  const std::string_view word = value.substr(0, value.find('('));
  if (word == "True") return "true";
  if (word == "False") return "false";
  return std::string(word);
}

std::chrono::milliseconds patience_of(const Call& call) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(call.deadline - std::chrono::steady_clock::now());
  return std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(0), kPatience);
}

}  // namespace

Result<StoredSettings> parse_stored_settings(std::string_view printed) {
  const std::size_t table = printed.find("Configurations:");
  if (table == printed.npos)
    return Error{ErrorKind::refused,
                 "its answer has no 'Configurations:': " + std::string(printed.substr(0, 200))};
  std::istringstream lines{std::string(printed.substr(table))};
  std::string line;
  std::getline(lines, line);  // the heading
  StoredSettings out;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::vector<std::string> found{std::istream_iterator<std::string>(words), {}};
    if (!found.empty() && (found.front() == "*" || found.front() == "RO" || found.front() == "*RO"))
      found.erase(found.begin());
    if (found.size() == 2 && found[1] != "N/A") out.insert_or_assign(found[0], as_in_specs(found[1]));
  }
  return out;
}

Result<StoredSettings> stored_settings(const HostFiles& files, const Link& port, const Call& call) {
  const std::string& address = port.parent_device;
  const auto vendor = files.line(pci_path(address) + "/vendor");
  if (port.parent_bus != "pci" || !vendor || *vendor != kVendor)
    return Error{ErrorKind::unsupported,
                 "its device is no NIC of NVIDIA's, the only ones whose firmware is asked"};
  const auto* const tool = std::find_if(std::begin(kTools), std::end(kTools),
                                        [&](std::string_view one) { return files.exists(one); });
  if (tool == std::end(kTools))
    return Error{ErrorKind::unsupported,
                 "mstconfig, which would read it, is not installed (package mstflint)"};
  const std::string name(tool->substr(tool->rfind('/') + 1));
  TRY(const Ended ended, run({.name = files.at(*tool).string(),
                              .package = {},
                              .words = {"-d", address, "query"},
                              .patience = patience_of(call)}));
  // The tool also fails because of a single setting, after printing the others.
  auto out = parse_stored_settings(ended.out);
  if (!out || (!ended.well && out->empty()))
    return Error{ErrorKind::refused,
                 name + " -d " + address + " query: " + (ended.well ? out.error().what : ended.complaint())};
  return out;
}

}  // namespace lockstep::devlink
