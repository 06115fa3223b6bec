// One setting of a host (or a few that are read together) and the rows that it implements; HostPart consists
// of these. The table in map.hpp lists the rows and which of them are written.
//
// Contract of each: read changes nothing, and reports what it can't read in `unread` with the kernel's or the
// tool's own message; set reads back what it wrote, and a write that did not take effect is an error that
// leaves the previous value, or reports that it could not (shares.hpp). An entry that covers several devices
// (CPUs, NICs, GPUs) has their common value; if they differ it is a text that counts them (in_common), which
// equals no legal value, so that it differs from every desired value.
#pragma once

#include <string>
#include <vector>

#include "drivers/driver.hpp"

namespace lockstep {

struct HostReading {
  const Scope& scope;
  TreeBuilder& tree;
  std::vector<Unread>& unread;

  void add(Path path, Value value) {
    if (value && scope.wants(path.row())) tree.add(path, value);
  }
  void add(RowId row, Value value) { add(Path(row, {}), value); }
  void fails(RowId row, Error why, std::vector<std::string> keys = {}) {
    if (scope.wants(row)) unread.push_back({row, std::move(keys), std::move(why)});
  }
};

Error not_written(const Change& change);

class HostSetting {
 public:
  virtual ~HostSetting() = default;
  // Which of its rows this machine does not support, or lockstep must not set here, with the reason; for
  // entries that are read by name, those that the scope names.
  virtual std::vector<Incapable> incapable(const Scope&, const Call&) { return {}; }
  virtual void read(HostReading& out, const Call& call) = 0;
  // Called for rows that are written.
  virtual Result<Done> set(const Change& change, const Call&) { return not_written(change); }
};

// The one value that all have; else a text such as "512 (2 of 8), 4096 (6 of 8)". None: no values.
Value in_common(const std::vector<Value>& values);

// The desired boolean or text, or an error that describes what the entry accepts.
Result<bool> wanted_boolean(const Change& change);
Result<std::string> wanted_text(const Change& change);

}  // namespace lockstep
