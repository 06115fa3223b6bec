// ServiceMetrics: what Prometheus reads of a running service.
//
// Promises: any thread. Counters count everything since they were created, and none is ever less than it
// was. Nothing waits for the engine: what a status says is the newest status, the rest is counted as it
// happens. While nothing is watched (a change runs), devices are shown as they were last watched.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "reconciler/service/service_event.hpp"
#include "reconciler/service/service_status.hpp"

namespace lockstep {

// What became of a message to a receiver of alerts.
enum class Delivery : std::uint8_t { delivered, failed, refused };
constexpr auto words(Delivery) { return std::to_array<std::string_view>({"delivered", "failed", "refused"}); }

class ServiceMetrics {
 public:
  // Prometheus' text format 0.0.4.
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  ServiceMetrics(const std::string& version, const std::string& commit);
  ~ServiceMetrics();
  ServiceMetrics(const ServiceMetrics&) = delete;
  ServiceMetrics& operator=(const ServiceMetrics&) = delete;

  void happened(const ServiceEvent& event);
  // How much later than it was due the engine's thread began something.
  void engine_was_late(std::chrono::nanoseconds by);
  // A request of the API was answered. Methods that nothing knows are one.
  void answered(std::string_view method, int code);
  void watchers(int more);
  // `receiver`: as in the configuration, "alertmanager" or "webhook".
  void notified(const std::string& receiver, Delivery outcome);
  void notifications_dropped(const std::string& receiver, std::size_t count);
  void alerts_open(std::size_t count);

  std::string text(const std::shared_ptr<const ServiceStatus>& status);

 private:
  struct Counted;
  std::unique_ptr<Counted> counted_;
  std::mutex mutex_;
  std::optional<WallTime> change_began_;     // under mutex_
  std::shared_ptr<const Snapshot> devices_;  // under mutex_; the last that there were
};

}  // namespace lockstep
