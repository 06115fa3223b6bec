#include "drivers/sonic/map_watchdog.hpp"

#include <algorithm>
#include <array>

#include "drivers/sonic/port_rows.hpp"
#include "drivers/sonic/state_check.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::sonic {
namespace {

constexpr const char* kTable = "PFC_WD";
constexpr const char* kGlobal = "GLOBAL";
constexpr const char* kPoll = "POLL_INTERVAL";

struct WatchdogTime {
  RowId row;
  const char* field;
  std::int64_t most;  // ms (sonic-pfcwd.yang)
};
constexpr std::int64_t kLeast = 100;  // ms, of all
constexpr std::array kTimes{
    WatchdogTime{row("interface[*]/pfc-watchdog/detection-time"), "detection_time", 5000},
    WatchdogTime{row("interface[*]/pfc-watchdog/restoration-time"), "restoration_time", 60'000},
};
constexpr std::int64_t kUsualPoll = 100;  // ms
constexpr WatchdogTime kPollTime{row("pfc-watchdog/poll-interval"), kPoll, 1000};

std::optional<std::int64_t> time_in(const ConfigDb& config, const std::string& key, const char* field) {
  return number_in(config.find(kTable, key), field);
}

// The field as it was before; the row goes if it has no other.
void put_back(const ConfigDb& before, ConfigDb& config, const std::string& key, const char* field) {
  const std::string* const was = text_in(before.find(kTable, key), field);
  set_field(config, kTable, key, field, was == nullptr ? std::nullopt : std::optional(*was));
  const ConfigRow* const row = config.find(kTable, key);
  if (row != nullptr && row->empty() && before.find(kTable, key) == nullptr)
    make_move({kTable, key, std::nullopt}, config);
}

class Watchdogs {
 public:
  Watchdogs(const ConfigDb& before, const ChangeSet& changes, Edited& edited)
      : before_(before), changes_(changes), edited_(edited) {}

  void refuse() {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (!changes_[i].want || edited_.outcomes[i]) continue;
      for (const WatchdogTime& time : {kPollTime, kTimes[0], kTimes[1]})
        if (time.row == changes_[i].path.row()) refuse_range(i, time);
    }
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (changes_[i].path.row() == kPollTime.row && changes_[i].want && !edited_.outcomes[i]) refuse_poll(i);
    const auto poll = time_in(edited_.config, kGlobal, kPoll);
    if (!poll) return;
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (!edited_.outcomes[i] && changes_[i].want) refuse_time(i, *poll);
  }

 private:
  bool sets(const std::string& port, const WatchdogTime& time) const {
    for (std::size_t i = 0; i < changes_.size(); ++i)
      if (changes_[i].path.row() == time.row && changes_[i].path.key(0) == port && !edited_.outcomes[i])
        return true;
    return false;
  }

  void refuse_range(std::size_t index, const WatchdogTime& time) {
    const Change& change = changes_[index];
    const std::int64_t wanted = change.want.as_integer();
    if (wanted >= kLeast && wanted <= time.most) return;
    edited_.outcomes[index] =
        Error{ErrorKind::unsupported, std::string("SONiC's ") + time.field + " is " + std::to_string(kLeast) +
                                          " to " + std::to_string(time.most) + " ms, not " +
                                          std::to_string(wanted)};
    put_back(before_, edited_.config, time.row == kPollTime.row ? kGlobal : std::string(change.path.key(0)),
             time.field);
  }

  // Because of ports whose times stay as they are.
  void refuse_poll(std::size_t index) {
    const auto rows = edited_.config.tables.find(kTable);
    const auto poll = time_in(edited_.config, kGlobal, kPoll);
    if (rows == edited_.config.tables.end() || !poll) return;
    for (const auto& [port, row] : rows->second)
      for (const WatchdogTime& time : kTimes) {
        const auto its = number_in(&row, time.field);
        if (!its || *its >= *poll || sets(port, time)) continue;
        edited_.outcomes[index] =
            Error{ErrorKind::invalid_spec,
                  "the watchdog can't look every " + std::to_string(*poll) + " ms: " + time.field + " of " +
                      port + " is " + std::to_string(*its) + " ms, and must not be shorter (" + kTable + ")"};
        return put_back(before_, edited_.config, kGlobal, kPoll);
      }
  }

  void refuse_time(std::size_t index, std::int64_t poll) {
    const Change& change = changes_[index];
    const auto* const time = std::ranges::find(kTimes, change.path.row(), &WatchdogTime::row);
    if (time == kTimes.end() || change.want.as_integer() >= poll) return;
    edited_.outcomes[index] =
        Error{ErrorKind::invalid_spec,
              std::to_string(change.want.as_integer()) + " ms is shorter than " + std::to_string(poll) +
                  " ms, after which this switch looks at its queues again (PFC_WD|GLOBAL, POLL_INTERVAL); "
                  "pfc.watchdog.pollInterval of a RoceProfile sets that"};
    put_back(before_, edited_.config, std::string(change.path.key(0)), time->field);
  }

  const ConfigDb& before_;
  const ChangeSet& changes_;
  Edited& edited_;
};

}  // namespace

void add_usual_interval(const ConfigDb& config, const Scope& scope, TreeBuilder& tree) {
  if (scope.wants(kPollTime.row) && text_in(config.find(kTable, kGlobal), kPoll) == nullptr)
    tree.add(Path(kPollTime.row, {}), Value::integer(kUsualPoll));
}

void refuse_watchdog_times(const ConfigDb& before, const ChangeSet& changes, Edited& edited) {
  Watchdogs(before, changes, edited).refuse();
}

}  // namespace lockstep::sonic
