// CircuitBreaker: stops a service that heals by itself more of the cluster than a stated share at once: what
// looks like drift everywhere is more probably a mistake of ours.
//
// Promises: pure: time is an argument, and may jump: a heal that seems to be in the future counts as one of
// now, and what was agreed to in the future is not. Devices, not heals, are counted: one device that is
// healed often counts once within the window. Open means that nothing is healed by itself until somebody
// closes it, nor are the devices of the call that opens it. Changes by a person are neither counted nor
// stopped. Whoever closes it agrees to the devices that opened it and to those that they saw differ: these
// are not counted within the next window. The share is of the devices of the cluster, rounded down, and never
// below kLeast, so that a small cluster can heal at all.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "drivers/runtime/executor.hpp"

namespace lockstep {

class CircuitBreaker {
 public:
  static constexpr std::size_t kLeast = 2;
  struct Limits {
    double share = 0.05;  // service.md §4
    std::chrono::minutes within{10};
  };
  CircuitBreaker(Limits limits, std::size_t devices);
  void resize(std::size_t devices) { devices_ = devices; }  // other specs have as many

  // Of those, the devices that may be healed now by itself: all, or none, and then it is open.
  std::set<std::string> admit(const std::set<std::string>& devices, WallTime now);
  // Of those, as many as may be healed now without opening it; counted only if it is told that they were.
  std::set<std::string> that_fit(const std::set<std::string>& devices, WallTime now);
  void healed(const std::set<std::string>& devices, WallTime now);
  bool is_open() const { return opened_.has_value(); }
  std::optional<WallTime> opened() const { return opened_; }
  // "7 devices of 96 were to be healed within 10 min, and 4 is the most: leaf[1-7]"; empty while it is
  // closed.
  const std::string& why() const { return why_; }
  // By somebody; the window begins anew. `seen`: the devices that are known to differ then.
  void close(const std::set<std::string>& seen, WallTime now);

  // For a restart.
  nlohmann::json to_json() const;
  // Invalid spec: the document is damaged; nothing of it is trusted, and this stays as it was.
  Result<Done> restore(const nlohmann::json& document);

 private:
  std::size_t most() const;
  void forget_before_window(WallTime now);

  Limits limits_;
  std::size_t devices_;
  std::map<std::string, WallTime> healed_;  // the last heal of each device within the window
  std::map<std::string, WallTime> agreed_;  // since when, by device
  std::set<std::string> stopped_;           // while it is open: the devices that opened it
  std::optional<WallTime> opened_;
  std::string why_;
};

}  // namespace lockstep
