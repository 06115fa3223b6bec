#include "drivers/runtime/current_epoch.hpp"

#include <algorithm>
#include <utility>

#include "drivers/posix/random_uuid.hpp"

namespace lockstep {

Result<Done> CurrentEpoch::take(std::uint64_t epoch) {
  TRY(std::string id, random_uuid("a leader's id"));
  const std::scoped_lock lock(mutex_);
  leader_ = {epoch, std::move(id)};
  denials_.clear();
  lost_.reset();
  return Done{};
}

void CurrentEpoch::resign() {
  const std::scoped_lock lock(mutex_);
  leader_ = {};
}

CurrentEpoch::Leader CurrentEpoch::leader() const {
  const std::scoped_lock lock(mutex_);
  return leader_;
}

void CurrentEpoch::denied_by(const std::string& device, std::uint64_t accepted) {
  const std::scoped_lock lock(mutex_);
  if (leader_.epoch != 0 && accepted >= leader_.epoch) denials_[device].accepted = accepted;
}

void CurrentEpoch::lose(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (!lost_) lost_ = why;
}

std::uint64_t CurrentEpoch::highest_of_others(std::uint64_t most) const {
  const std::scoped_lock lock(mutex_);
  std::uint64_t out = 0;
  for (const auto& [device, denial] : denials_)
    if (denial.accepted <= most) out = std::max(out, denial.accepted);
  return out;
}

std::string CurrentEpoch::text_of(const std::string& device, const Denial& denial) const {
  const std::string accepted = std::to_string(denial.accepted);
  if (denial.accepted == leader_.epoch)
    return "another controller has the same epoch " + accepted + " and has taken over " + device +
           ": its store is a copy of this one's";
  return "another controller (epoch " + accepted + ") has taken over " + device + " from this one (epoch " +
         std::to_string(leader_.epoch) + ")";
}

std::optional<std::string> CurrentEpoch::why_over(const std::string& device) const {
  const std::scoped_lock lock(mutex_);
  const auto found = denials_.find(device);
  if (found == denials_.end()) return std::nullopt;
  return text_of(device, found->second);
}

std::optional<std::string> CurrentEpoch::why_over() const {
  const std::scoped_lock lock(mutex_);
  if (lost_) return lost_;
  for (const auto& [device, denial] : denials_)
    if (!denial.is_aside) return text_of(device, denial);
  return std::nullopt;
}

void CurrentEpoch::set_aside_but(const std::set<std::string>& devices) {
  const std::scoped_lock lock(mutex_);
  for (auto& [device, denial] : denials_) denial.is_aside = !devices.contains(device);
}

}  // namespace lockstep
