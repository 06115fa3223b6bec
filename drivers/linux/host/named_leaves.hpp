// The leaves of one kind that are looked for by name: those that the intent names, and those that were
// applied since.
//
// Promises: safe in several threads at once, as a call that was given up on may still be at work.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "specs/model/path.hpp"

namespace lockstep {

class NamedLeaves {
 public:
  explicit NamedLeaves(const std::vector<Path>& named) {
    for (const Path one : named) add(one);
  }
  void add(Path path) {
    const std::lock_guard lock(mutex_);
    if (path.key_count() > 0) names_.emplace(path.row(), path.key(0));
  }
  std::vector<std::string> of(RowId row) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [its, name] : names_)
      if (its == row) out.push_back(name);
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<RowId, std::string>> names_;
};

}  // namespace lockstep
