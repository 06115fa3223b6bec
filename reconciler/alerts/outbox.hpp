// Outbox: what one receiver of alerts is to be sent next, and when.
//
// Promises: no I/O; time is an argument, `clock` steady. One message at a time: what next() gave is settled
// by done() before it gives another. Whatever happens, messages are at least kPause apart; after one that
// failed they are further and further apart, up to kWaitMax, or as far as the receiver asks (kAskedMax at
// most). Memory is bounded, and what is dropped is counted.
//
// To an Alertmanager: all that is open, again each kResend and valid for four of them, so that alerts expire
// there by themselves if this process ends; each end is sent until it is taken. To a webhook: each opening
// and end once it happens, in their order, in batches; a batch that failed is sent again as it was, with the
// same id; one that the receiver refuses (4xx) is given up. The oldest of more than kEventsMax are dropped.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/posix/call.hpp"
#include "reconciler/alerts/alerts.hpp"
#include "reconciler/metrics/service_metrics.hpp"

namespace lockstep {

// Choices, but for those of Alertmanager's clients, which are Prometheus' own (--rules.alert.resend-delay,
// and four of them: rules/manager.go, sendAlerts).
namespace outbox {
inline constexpr std::chrono::seconds kPause{1};
inline constexpr std::chrono::seconds kWaitMax{300};
inline constexpr std::chrono::seconds kAskedMax{3600};
inline constexpr std::chrono::seconds kResend{60};
inline constexpr int kValidResends = 4;
inline constexpr std::size_t kBatch = 200;       // some 100 KiB
inline constexpr std::size_t kEventsMax = 5000;  // an opening for each device that a service is made for
}  // namespace outbox

struct OutMessage {
  std::string id;  // the same for each try
  std::string body;
};

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void update(const AlertBook& book, const std::vector<AlertChange>& changes) = 0;
  // None: nothing is to be sent now.
  std::optional<OutMessage> next(WallTime now, Time clock);
  void done(Delivery outcome, std::optional<std::chrono::seconds> asked, Time clock);
  // When to call next() again, if no update comes before.
  Time look_at(Time clock) const;
  // Since it was last asked.
  std::size_t take_dropped() { return std::exchange(dropped_, 0); }

 protected:
  virtual std::optional<OutMessage> make(WallTime now, Time clock) = 0;
  virtual void settle(Delivery outcome, Time clock) = 0;
  virtual std::optional<Time> due() const = 0;
  void drop(std::size_t count) { dropped_ += count; }

 private:
  std::optional<OutMessage> sending_;
  Time not_before_{};
  std::chrono::seconds wait_{0};  // after the last failure; zero: it was delivered
  std::size_t dropped_ = 0;
};

std::unique_ptr<Outbox> alertmanager_outbox();
std::unique_ptr<Outbox> webhook_outbox();

}  // namespace lockstep
