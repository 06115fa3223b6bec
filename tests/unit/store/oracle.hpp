// SQLite's own view of a file, on a connection that the test opens, without code under test.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace lockstep {

class Oracle {
 public:
  explicit Oracle(const std::string& file, int flags = SQLITE_OPEN_READWRITE) {
    if (sqlite3_open_v2(file.c_str(), &database_, flags, nullptr) != SQLITE_OK)
      throw std::runtime_error(file + ": not opened by the oracle");
  }
  ~Oracle() { sqlite3_close(database_); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  // The first column of the last row, or "error: ..." on failure.
  std::string ask(const std::string& text) const {
    std::string last;
    const auto row = [](void* out, int columns, char** values, char**) {
      if (columns > 0) *static_cast<std::string*>(out) = values[0] != nullptr ? values[0] : "";
      return 0;
    };
    char* why = nullptr;
    if (sqlite3_exec(database_, text.c_str(), row, &last, &why) != SQLITE_OK)
      last = std::string("error: ") + (why != nullptr ? why : "");
    sqlite3_free(why);
    return last;
  }
  std::string count(const std::string& table) const { return ask("SELECT COUNT(*) FROM " + table); }
  bool sound() const {
    return ask("PRAGMA integrity_check") == "ok" && ask("PRAGMA foreign_key_check").empty();
  }

 private:
  sqlite3* database_ = nullptr;
};

}  // namespace lockstep
