#include "reconciler/service/circuit_breaker.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "reconciler/service/stored_fields.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

using Times = std::map<std::string, WallTime>;

nlohmann::json times_json(const Times& times) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [device, at] : times) out[device] = stored::time_json(at);
  return out;
}

Result<Times> read_times(const nlohmann::json& document, const char* name) {
  TRY(const nlohmann::json* const times, stored::field(document, name));
  if (!times->is_object()) return stored::damaged("'" + std::string(name) + "' is not an object");
  Times out;
  for (const auto& [device, at] : times->items()) {
    TRY(out[device], stored::time_from(at, device));
  }
  return out;
}

}  // namespace

CircuitBreaker::CircuitBreaker(Limits limits, std::size_t devices) : limits_(limits), devices_(devices) {}

std::size_t CircuitBreaker::most() const {
  // 0.29 of 100 is 28.999999999999996 in floating point: a millionth of a device is no difference.
  const double share = std::fmin(std::fmax(limits_.share, 0.0), 1.0);
  const double devices = std::floor(share * static_cast<double>(devices_) + 1e-6);
  return std::max(kLeast, static_cast<std::size_t>(devices));
}

void CircuitBreaker::forget_before_window(WallTime now) {
  for (auto& [device, at] : healed_) at = std::min(at, now);
  const auto is_over = [&](const auto& one) { return now - one.second > limits_.within; };
  std::erase_if(healed_, is_over);
  std::erase_if(agreed_, [&](const auto& one) { return one.second > now || is_over(one); });
}

std::set<std::string> CircuitBreaker::admit(const std::set<std::string>& devices, WallTime now) {
  if (opened_ || devices.empty()) return {};
  forget_before_window(now);
  std::set<std::string> counted = devices;
  std::erase_if(counted, [this](const std::string& device) { return agreed_.contains(device); });
  std::set<std::string> all = counted;
  for (const auto& [device, at] : healed_) all.insert(device);
  if (all.size() <= most()) {
    for (const std::string& device : counted) healed_[device] = now;
    return devices;
  }
  stopped_ = all;
  std::vector<std::string> names(all.begin(), all.end());
  sort_names(names);
  opened_ = now;
  why_ = std::to_string(all.size()) + " devices of " + std::to_string(devices_) +
         " were to be healed within " + std::to_string(limits_.within.count()) + " min, and " +
         std::to_string(most()) + " is the most: " + fold_hostlist(names);
  return {};
}

std::set<std::string> CircuitBreaker::that_fit(const std::set<std::string>& devices, WallTime now) {
  std::set<std::string> out;
  if (opened_ || devices.empty()) return out;
  forget_before_window(now);
  std::size_t room = most() - std::min(most(), healed_.size());
  for (const std::string& device : devices) {
    const bool is_counted = healed_.contains(device) || agreed_.contains(device);
    if (!is_counted && room == 0) continue;
    out.insert(device);
    if (!is_counted) --room;
  }
  return out;
}

void CircuitBreaker::healed(const std::set<std::string>& devices, WallTime now) {
  for (const std::string& device : devices)
    if (!agreed_.contains(device)) healed_[device] = now;
}

void CircuitBreaker::close(const std::set<std::string>& seen, WallTime now) {
  opened_.reset();
  why_.clear();
  healed_.clear();
  agreed_.clear();
  std::set<std::string> all = std::exchange(stopped_, {});
  all.insert(seen.begin(), seen.end());
  for (const std::string& device : all) agreed_[device] = now;
}

nlohmann::json CircuitBreaker::to_json() const {
  nlohmann::json out{{"healed", times_json(healed_)}, {"agreed", times_json(agreed_)}};
  if (opened_) {
    out["opened"] = stored::time_json(*opened_);
    out["why"] = why_;
    out["stopped"] = stopped_;
  }
  return out;
}

Result<Done> CircuitBreaker::restore(const nlohmann::json& document) {
  TRY(Times healed, read_times(document, "healed"));
  Times agreed;
  if (document.contains("agreed")) {  // older versions have none
    TRY(agreed, read_times(document, "agreed"));
  }
  std::optional<WallTime> opened;
  std::string why;
  std::set<std::string> stopped;
  if (document.contains("opened") || document.contains("why")) {
    TRY(opened, stored::time(document, "opened"));
    TRY(why, stored::text(document, "why"));
    if (document.contains("stopped")) {
      TRY(stopped, stored::texts(document, "stopped"));
    }
  }
  healed_ = std::move(healed);
  agreed_ = std::move(agreed);
  opened_ = opened;
  why_ = std::move(why);
  stopped_ = std::move(stopped);
  return Done{};
}

}  // namespace lockstep
