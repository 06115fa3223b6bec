#include "reconciler/report/lock_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

// As many as fit a line.
constexpr std::size_t kNamed = 3;

std::string some_of(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) out += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kNamed ? fmt::format("{} and {} more", out, names.size() - kNamed) : out;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

// "2 numbers (Fabric/backend asn/leaf leaf2, ...)".
std::string numbers(const std::vector<std::string>& of) {
  return fmt::format("{} ({})", counted(of.size(), "number"), some_of(of));
}

}  // namespace

std::string lock_text(const LockChange& change) {
  if (change.empty()) return compose("{} is up to date\n", kAllocationLockFile);
  std::vector<std::string> parts;
  if (change.identifies) parts.emplace_back("the cluster's name and UUID");
  if (!change.given.empty()) parts.push_back(numbers(change.given) + " given out");
  if (!change.changed.empty()) parts.push_back(numbers(change.changed) + " changed");
  if (!change.freed.empty()) parts.push_back(numbers(change.freed) + " freed");
  return compose("{} is written: {}; commit it\n", kAllocationLockFile, joined(parts, "; "));
}

nlohmann::json lock_json(const LockChange& change) {
  return {{"kind", "LockReport"},       {"file", kAllocationLockFile},
          {"changed", !change.empty()}, {"identified", change.identifies},
          {"given", change.given},      {"moved", change.changed},
          {"freed", change.freed}};
}

std::string why_stale(const LockChange& change) {
  if (change.empty()) return "";
  std::vector<std::string> parts;
  if (change.identifies) parts.emplace_back("does not name this cluster");
  if (!change.given.empty()) parts.push_back("lacks " + numbers(change.given));
  return fmt::format("{} {}: run `lockstep lock`, and commit the file", kAllocationLockFile,
                     joined(parts, "; it "));
}

}  // namespace lockstep
