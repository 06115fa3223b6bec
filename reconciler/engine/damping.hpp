// Damping: counts how often an entry drifts, clears and is healed, and decides when it may be healed again.
//
// Promises: pure: time is an argument. An entry that was never healed may be healed at once. Each heal that
// does not last (the entry drifts again, or never cleared) doubles the wait before the next one, up to
// `heal_wait_max`, independent of how often another writer changes it back: the wait begins when the drift
// returns. Counts and waits are reset once the entry has stayed clear for `forget_factor` times as long as
// its heals lasted or as long as its last wait, and at the latest after `forget_max`; the drift that ends
// such a quiet time starts a new count.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/runtime/executor.hpp"
#include "specs/model/path.hpp"

namespace lockstep {

class Damping {
 public:
  // All of these are choices.
  struct Limits {
    int flaps_max = 4;  // changes within `flap_window`
    std::chrono::milliseconds flap_window{10'000};
    int returns_max = 3;  // returns after a heal: a third one is no accident
    std::chrono::milliseconds heal_wait_min{1'000};
    std::chrono::milliseconds heal_wait_max{300'000};
    int forget_factor = 4;  // periodic writers are irregular: a job may be skipped once or twice
    std::chrono::milliseconds forget_max = std::chrono::hours(48);  // the slowest writer is a daily job
  };
  explicit Damping(Limits limits) : limits_(limits) {}
  Damping() : Damping(Limits{}) {}

  // The entry drifts from `now` on, or drifts in another way than before.
  void came(const std::string& device, Path path, Time now);
  void went(const std::string& device, Path path, Time now);
  // A heal of the device is over that began while the entry drifted.
  void healed(const std::string& device, Path path, Time now);

  // Whether it changed `flaps_max` times within the window.
  bool flaps(const std::string& device, Path path, Time now) const;
  // How often it drifted again after a heal, since it was last quiet.
  int returns(const std::string& device, Path path, Time now) const;
  // Whether another writer keeps changing it back.
  bool is_fought_over(const std::string& device, Path path, Time now) const {
    return returns(device, path, now) >= limits_.returns_max;
  }
  Time may_heal_at(const std::string& device, Path path, Time now) const;

 private:
  struct Counted {
    std::vector<Time> changes;  // within the window
    bool there = false;
    std::optional<Time> came;  // first drift since the last heal
    std::optional<Time> gone;  // when it last cleared
    int heals = 0;
    int returns = 0;
    Time last_heal{};
    Time::duration lasted{};  // the longest time that it stayed clear
  };
  using Key = std::pair<std::string, std::uint32_t>;
  const Counted* find(const std::string& device, Path path) const;
  Time::duration wait_after(int heals) const;
  bool is_forgotten(const Counted& entry, Time now) const;
  void note_change(Counted& entry, Time now) const;
  void drop_old(Time now);

  Limits limits_;
  std::map<Key, Counted> entries_;
  std::size_t drop_at_ = 1024;  // entries; a choice: old ones are dropped whenever the count has doubled
};

}  // namespace lockstep
