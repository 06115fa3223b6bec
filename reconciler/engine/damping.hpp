// Damping: how often an entry came, went and was healed, and when it may be healed again.
//
// Promises: pure: time is an argument. What was never healed may be healed at once. Each healing that did not
// last (the entry came back, or never went) doubles the wait before the next one, up to `heal_wait_max`,
// whatever the period of whoever writes it back: the wait begins when the entry came back. Both are forgotten
// once the entry has stayed away for `forget_factor` times as long as its healings lasted, or as it last had
// to wait, and at the latest after `forget_max`; the return that ends such a quiet time is the first of a new
// count.
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
  // Choices, all of them.
  struct Limits {
    int flaps_max = 4;  // changes within `flap_window`
    std::chrono::milliseconds flap_window{10'000};
    int returns_max = 3;  // after a healing each: a third return is nobody's accident
    std::chrono::milliseconds heal_wait_min{1'000};
    std::chrono::milliseconds heal_wait_max{300'000};
    int forget_factor = 4;  // writers with a period are irregular: a job that is skipped once or twice
    std::chrono::milliseconds forget_max = std::chrono::hours(48);  // a daily job is the slowest that counts
  };
  explicit Damping(Limits limits) : limits_(limits) {}
  Damping() : Damping(Limits{}) {}

  // It differs from `now` on, or in another way than before.
  void came(const std::string& device, Path path, Time now);
  void went(const std::string& device, Path path, Time now);
  // A healing of its device, which it was there for, is over.
  void healed(const std::string& device, Path path, Time now);

  // Changes `flaps_max` times within the window.
  bool flaps(const std::string& device, Path path, Time now) const;
  // How often it came back after it was healed, since it was last quiet.
  int returns(const std::string& device, Path path, Time now) const;
  // Somebody writes it back.
  bool is_fought_over(const std::string& device, Path path, Time now) const {
    return returns(device, path, now) >= limits_.returns_max;
  }
  Time may_heal_at(const std::string& device, Path path, Time now) const;

 private:
  struct Counted {
    std::vector<Time> changes;  // within the window
    bool there = false;
    std::optional<Time> came;  // for the first time since it was last healed
    std::optional<Time> gone;  // when it last went
    int heals = 0;
    int returns = 0;
    Time last_heal{};
    Time::duration lasted{};  // the longest time that it stayed away
  };
  using Key = std::pair<std::string, std::uint32_t>;
  const Counted* find(const std::string& device, Path path) const;
  Time::duration wait_after(int heals) const;
  bool is_forgotten(const Counted& entry, Time now) const;
  void note_change(Counted& entry, Time now) const;
  void drop_old(Time now);

  Limits limits_;
  std::map<Key, Counted> entries_;
  std::size_t drop_at_ = 1024;  // entries; a choice: few enough to go through, whenever they have doubled
};

}  // namespace lockstep
