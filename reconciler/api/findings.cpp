#include "reconciler/api/findings.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "reconciler/api/api_object.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/report/drift_report.hpp"
#include "reconciler/store/utc_text.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kDigestShown = 8;  // of 16^8: a report has a thousand

// Without numbers, and lists of them: "interface[swp[1-2]]/mtu is 1500" and "interface[swp1]/mtu is 9000" are
// one.
std::string without_folds(std::string text) {
  std::erase_if(text,
                [](char c) { return std::string_view("0123456789[]-, ").find(c) != std::string_view::npos; });
  return text;
}

// From what tells lines apart (kind, text and origin), and not from the devices that have it now.
std::string name_of(const ProblemLine& problem) {
  Digest digest;
  digest.add(without_folds(problem.what));
  digest.add(problem.origin);
  const std::string hash = digest.finish();
  return std::string(to_string(problem.kind)) + "-" + hash.substr(hash.find(':') + 1, kDigestShown);
}

std::string_view action_of(const ProblemLine& problem) {
  switch (problem.kind) {
    case Problem::Kind::unreachable: return "restore access to the device";
    case Problem::Kind::unread: return "restore what reads it: a daemon, a socket, permissions";
    case Problem::Kind::cabling: return "recable, or correct the specs";
    case Problem::Kind::daemon:
    case Problem::Kind::port:
    case Problem::Kind::setting:
    case Problem::Kind::symptom: break;
  }
  return problem.is_written ? "the specs' values are written where the device's mode and policies allow it"
                            : "see what `lockstep plan` offers, or correct it manually";
}

// Of all hosts that it is about, or that have what it explains.
std::uint64_t gpus_of(const DriftReport& report, const ProblemLine& problem, const GpuPrices& prices) {
  std::set<std::string_view> hosts(problem.devices.begin(), problem.devices.end());
  for (const std::size_t item : problem.items) hosts.insert(report.items[item].device);
  for (const std::size_t one : problem.unobserved) hosts.insert(report.unobserved[one].device);
  std::uint64_t out = 0;
  for (const std::string_view host : hosts)
    if (const auto found = prices.gpus.find(host); found != prices.gpus.end()) out += found->second;
  return out;
}

void put_cost(const DriftReport& report, const ProblemLine& problem, const GpuPrices& prices, Json& now) {
  const std::uint64_t gpus = gpus_of(report, problem, prices);
  if (gpus == 0) return;
  now["gpus"] = gpus;
  now["costPerHour"] = static_cast<double>(gpus) * prices.each.gpu_hour;
  now["currency"] = prices.each.currency;
}

}  // namespace

std::vector<NamedFinding> findings_in(const DriftReport& report) {
  std::vector<NamedFinding> out;
  std::map<std::string, std::size_t> times;
  for (ProblemLine& line : problem_lines(report)) {
    if (out.size() == kFindingsShown) break;
    std::string name = name_of(line);
    if (const std::size_t before = times[name]++; before > 0) name += "-" + std::to_string(before + 1);
    out.push_back({std::move(name), std::move(line)});
  }
  return out;
}

GpuPrices gpu_prices(const SpecObjects* objects) {
  GpuPrices out;
  if (objects == nullptr || !objects->cost) return out;
  out.each = *objects->cost;
  for (std::size_t i = 0; i < objects->devices.size(); ++i)
    if (objects->gpus[i] > 0) out.gpus.emplace(objects->devices[i], objects->gpus[i]);
  return out;
}

nlohmann::json finding_object(const DriftReport& report, const NamedFinding& finding, WallTime since,
                              const GpuPrices& prices, const ObjectMeta& meta) {
  const ProblemLine& problem = finding.problem;
  Json out = object_of(Kind::finding, finding.name, meta);
  Json& now = out["status"];
  now["kind"] = to_string(problem.kind);
  now["fault"] = problem.what;
  now["devices"] = problem.devices;
  if (problem.devices.size() > kDevicesShown)
    now["devices"].erase(now["devices"].begin() + kDevicesShown, now["devices"].end());
  now["devicesInAll"] = problem.devices.size();
  now["evidence"] = Json::array();
  for (const std::size_t item : problem.items)
    if (now["evidence"].size() < kEvidenceShown)
      now["evidence"].push_back(drift_sentence(report.items[item]));
  now["evidenceInAll"] = problem.items.size();
  if (problem.explains + problem.unread > 0) now["probableCause"] = problem.what;
  if (!problem.origin.empty()) now["origin"] = problem.origin;
  now["action"] = action_of(problem);
  now["explains"] = problem.explains + problem.unread;
  put_cost(report, problem, prices, now);
  now["since"] = utc_text(since);
  now["observedGeneration"] = meta.generation;
  return out;
}

}  // namespace lockstep::api
