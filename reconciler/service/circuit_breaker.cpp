#include "reconciler/service/circuit_breaker.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "reconciler/service/stored_fields.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {

CircuitBreaker::CircuitBreaker(Limits limits, std::size_t devices) : limits_(limits), devices_(devices) {}

std::size_t CircuitBreaker::most() const {
  // 0.29 of 100 is 28.999999999999996 in floating point: a millionth of a device is no difference.
  const double share = std::fmin(std::fmax(limits_.share, 0.0), 1.0);
  const double devices = std::floor(share * static_cast<double>(devices_) + 1e-6);
  return std::max(kLeast, static_cast<std::size_t>(devices));
}

std::set<std::string> CircuitBreaker::admit(const std::set<std::string>& devices, WallTime now) {
  if (opened_ || devices.empty()) return {};
  for (auto& [device, at] : healed_) at = std::min(at, now);
  std::erase_if(healed_, [&](const auto& one) { return now - one.second > limits_.within; });
  std::set<std::string> all = devices;
  for (const auto& [device, at] : healed_) all.insert(device);
  if (all.size() <= most()) {
    for (const std::string& device : devices) healed_[device] = now;
    return devices;
  }
  std::vector<std::string> names(all.begin(), all.end());
  sort_names(names);
  opened_ = now;
  why_ = std::to_string(all.size()) + " devices of " + std::to_string(devices_) +
         " were to be healed within " + std::to_string(limits_.within.count()) + " min, and " +
         std::to_string(most()) + " is the most: " + fold_hostlist(names);
  return {};
}

void CircuitBreaker::close() {
  opened_.reset();
  why_.clear();
  healed_.clear();
}

nlohmann::json CircuitBreaker::to_json() const {
  nlohmann::json out{{"healed", nlohmann::json::object()}};
  for (const auto& [device, at] : healed_) out["healed"][device] = stored::time_json(at);
  if (opened_) {
    out["opened"] = stored::time_json(*opened_);
    out["why"] = why_;
  }
  return out;
}

Result<Done> CircuitBreaker::restore(const nlohmann::json& document) {
  TRY(const nlohmann::json* const healed, stored::field(document, "healed"));
  if (!healed->is_object()) return stored::damaged("'healed' is not an object");
  std::map<std::string, WallTime> times;
  for (const auto& [device, at] : healed->items()) {
    TRY(times[device], stored::time_from(at, device));
  }
  std::optional<WallTime> opened;
  std::string why;
  if (document.contains("opened") || document.contains("why")) {
    TRY(opened, stored::time(document, "opened"));
    TRY(why, stored::text(document, "why"));
  }
  healed_ = std::move(times);
  opened_ = opened;
  why_ = std::move(why);
  return Done{};
}

}  // namespace lockstep
