// Objects as a table: for each kind, what one wants to know of many at once.
//
// Promises: pure. All that objects say is made printable (Table). A row of a watch is as wide as those
// before it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "reconciler/client/object_kinds.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep::client {

class ObjectTable {
 public:
  // `now`: what ages are counted to.
  ObjectTable(const KindRow& kind, bool wide, const Terminal& terminal)
      : kind_(kind), wide_(wide), terminal_(terminal) {}
  // With a header.
  std::string table(const std::vector<const nlohmann::json*>& objects, WallTime now);
  std::string rows(const std::vector<const nlohmann::json*>& objects, WallTime now);

 private:
  Table filled(const std::vector<const nlohmann::json*>& objects, WallTime now);

  const KindRow& kind_;
  const bool wide_;
  const Terminal terminal_;
  std::vector<std::string> widest_;  // of each column so far
};

}  // namespace lockstep::client
