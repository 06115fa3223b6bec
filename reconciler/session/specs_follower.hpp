// SpecsFollower: detects edits of spec files while something else runs.
//
// Promises: level-triggered: it compares names, sizes and times of the current files with those at the time
// when the specs were loaded, so that no edit is lost, however it is made (in place, by rename, by a
// checkout, on a file system without events). `changed` is called once two checks in a row found the same
// state and that differs from what was loaded: an edit in progress is not read. If it returns false, it is
// called again at the next check. Single-threaded over the executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drivers/runtime/executor.hpp"

namespace lockstep {

// The state of the folders and files that load() is given, of the number files beside them, and of `files`:
// not the content. Call it before they are loaded.
std::string specs_seen(const std::vector<std::string>& paths, std::vector<std::string> files = {});

class SpecsFollower {
 public:
  // `files`: other files that load() has read, such as inventories. They are known only from loaded specs:
  // those missing in `seen` are reported as changed, once. `seen`: specs_seen() of what was loaded. `changed`
  // receives the current state.
  SpecsFollower(Executor& executor, std::vector<std::string> paths, std::vector<std::string> files,
                std::string seen, std::function<bool(const std::string& seen)> changed);
  ~SpecsFollower();
  SpecsFollower(const SpecsFollower&) = delete;
  SpecsFollower& operator=(const SpecsFollower&) = delete;

 private:
  void look_later();
  void look();

  Executor& executor_;
  const std::vector<std::string> paths_;
  const std::vector<std::string> files_;
  const std::function<bool(const std::string&)> changed_;
  std::string loaded_;
  std::string last_;
  std::uint64_t timer_ = 0;
};

}  // namespace lockstep
