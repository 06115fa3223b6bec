// JournalReader: reads the program's journal file independently, for checkers.
//
// Promises: sees committed data at once, and queries the file only when this process has written to a journal
// since the last query. It knows the tables, but not the code that fills them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "specs/model/diff.hpp"

struct sqlite3;

namespace lockstep::simulation {

struct NotedChange {
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  std::string reason;
};

struct NotedTicket {
  std::uint64_t place = 0;  // in the order of writing
  std::string ticket;
  std::uint64_t change = 0;
  std::string device;
};

class JournalReader {
 public:
  // `refuses`: called at each commit of this process to any journal. If it returns true, the commit stores
  // nothing, as on a full disk.
  JournalReader(const std::string& directory, std::function<bool()> refuses);
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  // Whether this process has written to any journal since the last call.
  bool moved();
  // The highest epoch used so far.
  std::uint64_t epoch();
  std::vector<NotedChange> changes_after(std::uint64_t id);
  std::vector<NotedTicket> tickets_after(std::uint64_t place);
  std::uint64_t ended();                      // changes
  std::uint64_t not_ended();                  // changes
  std::string outcome(std::uint64_t change);  // empty: it has not ended
  bool is_open(const std::string& ticket);
  std::vector<std::string> open_tickets(std::uint64_t epoch);  // of changes that have ended
  // The writes of a change by device, without those that were rolled back, in the order of the writes.
  std::vector<std::pair<std::string, ChangeSet>> writes_of(std::uint64_t change);

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  class Query;
  Query& query(const char* text);

  std::string file_;
  std::uint64_t writes_seen_ = 0;
  std::unique_ptr<sqlite3, Closer> database_;
  std::map<const char*, std::unique_ptr<Query>> queries_;
};

}  // namespace lockstep::simulation
