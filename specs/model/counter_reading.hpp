// CounterReading: the counters of one device at one time, under the names of counters.hpp, and what changed
// between two of them.
//
// Promises: a counter that the device does not report is absent, never 0, and why_absent() says why. What was
// reported and is no number is in `unreadable`. changes_between() has a difference only where the counter is
// known to have counted on in between; else it says why not. It is reset if it fell, if another counter of
// the same object and group fell (an object is cleared as a whole), if the device gave its object another
// identity, or if the program that keeps the counters was restarted. Gauges and watermarks have no
// differences. A counter that wraps has fallen. Not detected: a reset between two readings after which each
// counter of the object is already above its former value.
// Refuses (invalid_spec): the changes of two readings of which the second is not later.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "specs/model/counters.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct CounterId {
  std::string port;  // "Ethernet0", "mlx5_0/1"; empty: of the whole device (buffer pools)
  std::string name;  // "queue[3]/bytes"

  auto operator<=>(const CounterId&) const = default;
};

// A gauge is a double, all others are integers.
using CounterNumber = std::variant<std::uint64_t, double>;
inline constexpr std::size_t kNoCounterGroup = static_cast<std::size_t>(-1);

struct ReadCounter {
  const CounterRow* row = nullptr;  // never null in a reading
  CounterNumber value{};
  std::string native{};                 // the device's own name: "SAI_QUEUE_STAT_BYTES"
  std::string object{};                 // which the device counts for: "oid:0x15000000000357"
  std::size_t group = kNoCounterGroup;  // in CounterReading::groups

  std::optional<std::uint64_t> whole() const {
    const auto* const found = std::get_if<std::uint64_t>(&value);
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }
};

// Counters that a device turns on and off together.
struct CounterGroup {
  enum class State : std::uint8_t {
    read,         // the device reads them every `interval`
    off,          // `switch_on` turns them on; values that are there are old
    unsupported,  // this device cannot count any of them
    unknown,      // `why`
  };
  struct Setting {  // of the device's own configuration
    std::string table;
    std::string key;
    std::string field;
    std::string value;
  };
  std::string name;  // "queue-ecn"
  State state = State::unknown;
  std::string why{};  // for an operator; empty if it is read
  std::optional<Setting> switch_on{};
  std::chrono::milliseconds interval{0};      // 0: not known
  std::vector<std::string_view> counters{};   // patterns: "queue[#]/ecn-marked-packets"
  std::set<std::string_view> cannot_count{};  // of these
  std::string cannot_count_source{};          // "QUEUE_COUNTER_CAPABILITIES of STATE_DB"
};
std::string_view to_string(CounterGroup::State state);

// What the device counts for, by port and scope ("queue[3]").
struct CountedObject {
  std::string object;
  std::string missing{};  // why it has no counters; empty: it has
};

struct UnreadableCounter {
  CounterId id;  // the name is empty if it is not known
  std::string why;
};

struct CounterReading {
  std::chrono::system_clock::time_point at{};
  std::chrono::steady_clock::time_point moment{};  // the same, for differences
  std::string keeper{};  // identity of the program that keeps the counters: Redis' run_id; empty: the kernel
  std::map<CounterId, ReadCounter> counters{};
  std::vector<UnreadableCounter> unreadable{};
  std::map<CounterId, CountedObject> objects{};  // by port and scope
  std::vector<CounterGroup> groups{};

  const ReadCounter* find(std::string_view port, std::string_view name) const;
};

// As the end of a sentence: "Ethernet0 queue[3]/ecn-marked-packets is absent: ..."; empty: it is there.
std::string why_absent(const CounterReading& reading, std::string_view port, std::string_view name);

enum class CounterContinuity : std::uint8_t {
  counted_on,
  fell,
  others_fell,
  another_object,
  keeper_restarted,
  not_counting,  // its group was off
};
// "fell: it was reset"
std::string_view to_string(CounterContinuity continuity);

// Within the interval of its group a device has not read a counter again: its difference is 0.
struct CounterChange {
  CounterId id;
  const CounterRow* row = nullptr;
  CounterContinuity continuity = CounterContinuity::counted_on;
  std::optional<std::uint64_t> by{};  // only if it counted on
};

struct CounterChanges {
  std::chrono::nanoseconds over{0};
  std::vector<CounterChange> changes;  // of counts that both have, in order of their ids
  std::vector<CounterId> appeared;     // counts that only the second reading has: not 0 before
  std::vector<CounterId> vanished;     // that only the first has
};
Result<CounterChanges> changes_between(const CounterReading& before, const CounterReading& after);

}  // namespace lockstep
