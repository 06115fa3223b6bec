// AlertSender: tells Alertmanagers and a webhook of a service's alerts (alerts.hpp), while it lives.
//
// Promises: it reads statuses only, on threads of its own: one that decides, and one for each receiver, so
// that one that hangs delays no other, and none the service. What is sent when is outbox.hpp. It ends within
// two seconds, whatever receivers do; what was not sent then is lost with it: what is still so is told again
// by the next start, and what ended meanwhile expires at the Alertmanager. The secret's file is read for each
// message. A receiver that fails is logged when that begins and when it is over. Refused at start (denied):
// a secret that can't be used.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/alerts/alerts.hpp"
#include "reconciler/metrics/service_metrics.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct AlertReceivers {
  std::vector<std::string> alertmanagers{};  // base URLs: "http://alertmanager:9093"
  struct Webhook {
    std::string url{};
    std::string secret{};  // file
  };
  std::optional<Webhook> webhook{};
  std::string ca_file{};                      // of both; empty: the system's authorities
  std::chrono::seconds after{kAlertAfter};    // next_alerts()
  std::chrono::milliseconds timeout{10'000};  // of a request
};

struct AlertSeams {
  std::function<std::shared_ptr<const ServiceStatus>()> status;  // any thread
  std::function<void(const std::string&)> log;                   // any thread
  ServiceMetrics& metrics;
};

class AlertSender {
 public:
  // Also transient: no threads. What the seams use outlives it.
  static Result<std::unique_ptr<AlertSender>> start(const AlertReceivers& receivers, AlertSeams seams);
  virtual ~AlertSender() = default;
};

}  // namespace lockstep
