// SpecsFollower: notices that files of specs were edited, while something else runs.
//
// Promises: level-triggered: it compares names, sizes and times of what is there now with what was there when
// the specs were loaded, so that no edit is lost, however it is made (in place, by rename, by a checkout, on
// a file system without events). `changed` is called once two looks in a row have found the same, other than
// what was loaded: an edit under way is not read. Where it answers false it is asked again at the next look.
// Single-threaded over the executor.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drivers/runtime/executor.hpp"

namespace lockstep {

// What is in the folders and files that load() is given, of the numbers beside them, and of `files`: not the
// content. Take it before they are loaded.
std::string specs_seen(const std::vector<std::string>& paths, std::vector<std::string> files = {});

class SpecsFollower {
 public:
  // `files`: that load() has read besides, as inventories. Only loaded specs tell which these are: those that
  // `seen` lacks are told as changed, once. `seen`: specs_seen() of what was loaded. `changed` gets it of
  // what is there now.
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
