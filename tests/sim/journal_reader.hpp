// JournalReader: what the program wrote down, read from the journal's file beside it, for checkers.
//
// Promises: sees what is committed, at once; asks the file only when this process has written to a journal
// since it was asked last. It knows the tables, and nothing of the code that fills them.
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
  // `refuses`: asked at each commit of this process to any journal, true: nothing of it is stored, as where
  // the disk is full.
  JournalReader(const std::string& directory, std::function<bool()> refuses);
  ~JournalReader();
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  // Whether this process has written to any journal since the last call.
  bool moved();
  // The highest that was given out.
  std::uint64_t epoch();
  std::vector<NotedChange> changes_after(std::uint64_t id);
  std::vector<NotedTicket> tickets_after(std::uint64_t place);
  std::uint64_t ended();      // changes
  std::uint64_t not_ended();  // changes
  bool is_open(const std::string& ticket);
  std::vector<std::string> open_tickets(std::uint64_t epoch);  // of changes that have ended
  // What it wrote, by device, but for what was taken back; in the order of the writes.
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
