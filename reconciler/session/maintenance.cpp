#include "reconciler/session/maintenance.hpp"

#include "specs/fabric/codes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

Diagnostic ended(const Maintenance& one) {
  Diagnostic out;
  out.code = fabric_code::maintenance_ended;
  out.severity = Severity::warning;
  out.at = one.until.at;
  out.length = static_cast<std::uint32_t>(format(*one.until).size());
  out.message =
      "the maintenance of " + *one.names + " was to end on " + format(*one.until) + ": " + *one.reason;
  out.hint = "these devices count as in service again: remove the entry, or give it a new date";
  return out;
}

}  // namespace

std::map<std::string, std::string> in_maintenance(const Catalog& catalog, Date today, Diagnostics& warnings) {
  std::map<std::string, std::pair<Date, std::string>> last;
  for (const Cluster& cluster : catalog.clusters)
    for (const Maintenance& one : cluster.maintenance) {
      if (*one.until < today) {
        warnings.push_back(ended(one));
        continue;
      }
      const auto names = expand_hostlist(*one.names);
      if (!names) continue;
      for (const std::string& name : *names) {
        const auto [known, is_new] = last.try_emplace(name, *one.until, *one.reason);
        if (!is_new && known->second.first < *one.until) known->second = {*one.until, *one.reason};
      }
    }
  std::map<std::string, std::string> out;
  for (const auto& [name, entry] : last) out[name] = "until " + format(entry.first) + ": " + entry.second;
  return out;
}

}  // namespace lockstep
