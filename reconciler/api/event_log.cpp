#include "reconciler/api/event_log.hpp"

#include <charconv>
#include <utility>

namespace lockstep::api {

void EventLog::listen(std::function<void()> then) {
  const std::scoped_lock lock(listening_);
  listener_ = std::move(then);
}

std::string EventLog::position(std::uint64_t sequence) const {
  return epoch_ + "-" + std::to_string(sequence);
}

std::optional<std::uint64_t> EventLog::parse(std::string_view position) const {
  if (!position.starts_with(epoch_) || position.size() <= epoch_.size() + 1 || position[epoch_.size()] != '-')
    return std::nullopt;
  const std::string_view digits = position.substr(epoch_.size() + 1);
  std::uint64_t out = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (code != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

std::uint64_t EventLog::append(std::vector<LogEntry> entries) {
  std::uint64_t last = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (LogEntry& one : entries) {
      one.sequence = ++newest_;
      entries_.push_back(std::move(one));
      if (entries_.size() > capacity_) entries_.pop_front();
    }
    last = newest_;
  }
  const std::scoped_lock lock(listening_);
  if (!entries.empty() && listener_) listener_();
  return last;
}

std::uint64_t EventLog::newest() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

std::optional<std::vector<LogEntry>> EventLog::after(std::uint64_t sequence, std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t oldest = newest_ - entries_.size();  // the position before the oldest that is kept
  if (sequence < oldest || sequence > newest_) return std::nullopt;
  std::vector<LogEntry> out;
  for (auto i = static_cast<std::size_t>(sequence - oldest); i < entries_.size() && out.size() < most; ++i)
    out.push_back(entries_[i]);
  return out;
}

}  // namespace lockstep::api
