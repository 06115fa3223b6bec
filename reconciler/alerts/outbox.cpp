#include "reconciler/alerts/outbox.hpp"

#include "reconciler/alerts/messages.hpp"

namespace lockstep {

using namespace outbox;

std::optional<OutMessage> Outbox::next(WallTime now, Time clock) {
  if (clock < not_before_) return std::nullopt;
  sending_ = make(now, clock);
  return sending_;
}

void Outbox::done(Delivery outcome, std::optional<std::chrono::seconds> asked, Time clock) {
  sending_.reset();
  wait_ = outcome == Delivery::failed ? std::clamp<std::chrono::seconds>(2 * wait_, kPause, kWaitMax)
                                      : std::chrono::seconds(0);
  const std::chrono::seconds least = std::clamp<std::chrono::seconds>(asked.value_or(std::chrono::seconds(0)),
                                                                      std::chrono::seconds(0), kAskedMax);
  not_before_ = clock + std::max({wait_, least, kPause});
  settle(outcome, clock);
}

Time Outbox::look_at(Time clock) const {
  const std::optional<Time> next = due();
  return std::max(next ? *next : clock + kResend, not_before_);
}

namespace {

class AlertmanagerOutbox final : public Outbox {
 public:
  void update(const AlertBook& book, const std::vector<AlertChange>& changes) override {
    for (const AlertChange& one : changes) {
      Told& told = told_[one.alert.cause()];
      told.ended = one.opened ? std::nullopt : std::optional(one.at);
      told.alert = one.alert;
      told.due = Time{};
      ++told.version;
    }
    for (const auto& [cause, alert] : book.open)
      if (const auto found = told_.find(cause); found != told_.end()) found->second.alert = alert;
  }

 private:
  struct Told {
    Alert alert;
    std::optional<WallTime> ended;
    Time due{};
    std::uint64_t version = 0;
  };

  std::optional<OutMessage> make(WallTime now, Time clock) override {
    std::vector<AlertmanagerAlert> batch;
    sending_.clear();
    for (const auto& [cause, told] : told_) {
      if (told.due > clock) continue;
      if (batch.size() == kBatch) break;
      batch.push_back(
          {told.alert, std::max(told.ended.value_or(now + kValidResends * kResend), told.alert.since)});
      sending_.emplace_back(cause, told.version);
    }
    if (batch.empty()) return std::nullopt;
    return OutMessage{"", alertmanager_body(batch)};
  }

  // One that refuses is told again all the same: it may be another's alert that it did not take.
  void settle(Delivery outcome, Time clock) override {
    if (outcome == Delivery::failed) return;
    for (const auto& [cause, version] : sending_) {
      const auto found = told_.find(cause);
      if (found == told_.end() || found->second.version != version) continue;
      if (found->second.ended)
        told_.erase(found);
      else
        found->second.due = clock + kResend;
    }
  }

  std::optional<Time> due() const override {
    std::optional<Time> out;
    for (const auto& [cause, told] : told_) out = out ? std::min(*out, told.due) : told.due;
    return out;
  }

  std::map<std::string, Told> told_;                            // by cause
  std::vector<std::pair<std::string, std::uint64_t>> sending_;  // causes, with their versions
};

class WebhookOutbox final : public Outbox {
 public:
  void update(const AlertBook&, const std::vector<AlertChange>& changes) override {
    events_.insert(events_.end(), changes.begin(), changes.end());
    while (events_.size() > kEventsMax) {
      events_.pop_front();
      drop(1);
      ++untold_;
    }
  }

 private:
  std::optional<OutMessage> make(WallTime now, Time) override {
    if (again_) return again_;
    if (events_.empty()) return std::nullopt;
    const std::size_t size = std::min(events_.size(), kBatch);
    const auto end = events_.begin() + static_cast<std::ptrdiff_t>(size);
    const std::vector<AlertChange> batch(events_.begin(), end);
    events_.erase(events_.begin(), end);
    again_ = webhook_message(batch, std::exchange(untold_, 0), now);
    return again_;
  }
  void settle(Delivery outcome, Time) override {
    if (outcome != Delivery::failed) again_.reset();
  }
  std::optional<Time> due() const override {
    return again_ || !events_.empty() ? std::optional(Time{}) : std::nullopt;
  }

  std::deque<AlertChange> events_;
  std::size_t untold_ = 0;  // dropped, since a batch said so
  std::optional<OutMessage> again_;
};

}  // namespace

std::unique_ptr<Outbox> alertmanager_outbox() { return std::make_unique<AlertmanagerOutbox>(); }
std::unique_ptr<Outbox> webhook_outbox() { return std::make_unique<WebhookOutbox>(); }

}  // namespace lockstep
