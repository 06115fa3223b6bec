// watch(): drift as it happens. Events only wake the loop; what differs is always read back
// (level-triggered).
//
// Promises: an event has only the devices that it names observed again; all of them are read every
// `poll_every`, as drivers have events for some of their rows only; an item is reported when it comes and
// when it goes; a leaf that changes `flaps_max` times within `flap_window` is reported as flapping once and
// healed ever more rarely until it is quiet for a whole window; what a device can do is asked again after a
// boot and when its ports are other ones. Ends when stop is requested.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <stop_token>

#include "drivers/runtime/real_executor.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/status.hpp"

namespace lockstep {

// Counts how often a leaf changed. Pure: time is an argument.
class Damping {
 public:
  struct Limits {
    int flaps_max = 4;
    std::chrono::milliseconds flap_window{10'000};
    std::chrono::milliseconds heal_wait_min{1'000};
    std::chrono::milliseconds heal_wait_max{300'000};
  };
  explicit Damping(Limits limits) : limits_(limits) {}
  Damping() : Damping(Limits{}) {}
  // A change of state (came or went) at `now`. True: it flaps.
  bool changed(const std::string& device, Path path, Time now);
  bool flaps(const std::string& device, Path path, Time now) const;
  // When it may be healed: now, or later while it flaps. Each healing doubles the wait until the next, so
  // that what can't be healed is not tried for ever; a quiet window forgets it.
  Time may_heal_at(const std::string& device, Path path, Time now) const;
  void healed(const std::string& device, Path path, Time now);

 private:
  struct Leafs {
    std::vector<Time> changes;
    int heals = 0;
    Time last_heal{};
  };
  Limits limits_;
  std::map<std::pair<std::string, std::uint32_t>, Leafs> leaves_;
};

struct WatchEvent {
  enum class Kind : std::uint8_t { appeared, cleared, flapping, unreadable, readable };
  Kind kind = Kind::appeared;
  DriftEntry item;                           // for unreadable: device and reason only
  std::chrono::microseconds since_event{0};  // from the wake-up to this report

  bool about_leaf() const { return kind != Kind::unreadable && kind != Kind::readable; }
};
constexpr auto words(WatchEvent::Kind) {
  return std::to_array<std::string_view>({"drift", "cleared", "flapping", "unreadable", "readable"});
}
// An item as the report of `drift` has it (as it was, where it cleared), and which event, how fast.
nlohmann::json to_json(const WatchEvent& event);

struct WatchSettings {
  ObserveOptions observe;
  std::chrono::milliseconds poll_every{30'000};
  std::chrono::milliseconds gather{5};  // events that come together are read together
  Damping::Limits damping;
  // Called with the devices that drift and may be healed now (converge); null: watch only.
  std::function<void(const std::vector<std::size_t>& devices)> heal;
};

Result<Done> watch(Fleet& fleet, RealExecutor& executor, const Origins& origins, const Sources& sources,
                   const WatchSettings& options, const std::function<void(const WatchEvent&)>& report,
                   std::stop_token stop);

}  // namespace lockstep
