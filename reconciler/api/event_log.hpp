// EventLog: what has happened to the objects of the API, numbered, for those who watch.
//
// Promises: any thread. Numbers increase by one; with the log's epoch, a random id of this start of the
// service, they make positions ("EPOCH-SEQ") that mean the same for as long as the epoch lasts. The newest
// `capacity` entries are kept, so memory is bounded whatever readers do: one that is slower, or
// whose position is of another epoch or no longer kept, gets a `reset` and starts again: no reader misses an
// entry without a reset.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconciler/api/api_object.hpp"

namespace lockstep::api {

struct LogEntry {
  std::uint64_t sequence = 0;
  ApiObjectPtr before{};  // null: the object was added
  ApiObjectPtr now{};     // null: it was deleted
  Kind kind() const { return (now ? now : before)->kind; }
};

class EventLog {
 public:
  EventLog(std::string epoch, std::size_t capacity) : epoch_(std::move(epoch)), capacity_(capacity) {}

  const std::string& epoch() const { return epoch_; }
  std::string position(std::uint64_t sequence) const;
  // The number of a position; none: it is of another epoch, or malformed.
  std::optional<std::uint64_t> parse(std::string_view position) const;

  // `then` is called after entries were added, by the thread that did; null: nobody is, and none is still
  // called when this returns.
  void listen(std::function<void()> then);

  // Returns the number of the last one. Numbers are given here, and 0 is before the first.
  std::uint64_t append(std::vector<LogEntry> entries);
  std::uint64_t newest() const;

  // The entries after `sequence`, oldest first, at most `most`. None: reset.
  std::optional<std::vector<LogEntry>> after(std::uint64_t sequence, std::size_t most) const;

 private:
  const std::string epoch_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<LogEntry> entries_;  // under mutex_
  std::uint64_t newest_ = 0;      // under mutex_
  std::mutex listening_;
  std::function<void()> listener_;  // under listening_
};

}  // namespace lockstep::api
