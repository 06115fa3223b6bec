// Entries that devices do not support, folded by the reason: which settings, how many entries, on which
// devices.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/engine/status.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

class Unsupported {
 public:
  explicit Unsupported(const DriftReport& report);
  // Under a title, a line for each reason and one with its settings; empty: there are none.
  std::string text(const Terminal& terminal) const;
  // [{"reason", "settings", "entries", "devices"}]
  nlohmann::json json() const;

 private:
  struct Reason {
    std::set<std::string_view> rows;
    std::set<std::string> devices;
    std::size_t entries = 0;
    std::vector<std::string> device_names() const;
  };
  std::map<std::string, Reason> reasons_;
};

}  // namespace lockstep
