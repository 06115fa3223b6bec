// A setting that stands for several devices (CPUs, NICs, bridges, interrupts), written as one.
//
// Promises: set_all() sets each device's share or none: when one refuses, those that were set are put back,
// and where that fails too the error names them and its outcome is unknown. Mixed holds how devices that
// differed were, so that the reverse of a change brings each back to its own; it lasts as long as the driver
// does.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

// One device's share: how it is set, and how it becomes again what it was, done or not.
struct Share {
  std::string device;
  std::function<Result<Done>()> set;
  std::function<Result<Done>()> put_back;
};
using Shares = std::vector<Share>;

Result<Done> set_all(const Shares& shares);

class Mixed {
 public:
  // `told`: the entry's text before the change ("performance (2 of 8), powersave (6 of 8)").
  void remember(const std::string& told, Shares shares);
  // None: no such text was remembered.
  std::optional<Result<Done>> put_back(const std::string& told);

 private:
  std::mutex mutex_;  // a call that was given up on may still be at work
  std::map<std::string, Shares> by_text_;
};

}  // namespace lockstep
