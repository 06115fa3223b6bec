// One setting of a host (or a few that are read together) behind the rows that carry it: what HostPart is
// made of. Which rows those are, and which of them are written, says the table (map.hpp).
//
// Promises asked of each: read changes nothing, and what it can't read is in `unread` with the kernel's or
// the tool's own words; set reads back what it wrote, and what did not take is an error that leaves what was,
// or says that it could not (shares.hpp). An entry that stands for several devices (CPUs, NICs, GPUs) is
// their common value; where they differ it is a text that counts them (in_common), which equals no legal
// value, so that the difference is seen whatever is wanted.
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
  // What this machine lacks of its rows, or what is not lockstep's to do here, with the reason; of entries
  // that are looked for by name, those that the scope names.
  virtual std::vector<Incapable> incapable(const Scope&, const Call&) { return {}; }
  virtual void read(HostReading& out, const Call& call) = 0;
  // Asked for of rows that are written.
  virtual Result<Done> set(const Change& change, const Call&) { return not_written(change); }
};

// The one value that all have; else a text such as "512 (2 of 8), 4096 (6 of 8)". None: there are none.
Value in_common(const std::vector<Value>& values);

// The wanted boolean, text or number, or an error that says what the entry takes.
Result<bool> wanted_boolean(const Change& change);
Result<std::string> wanted_text(const Change& change);

}  // namespace lockstep
