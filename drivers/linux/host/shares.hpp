// A setting that covers several devices (CPUs, NICs, bridges, interrupts) and is written as one.
//
// Promises: set_all() sets every device's share or none: if one fails, those that were set are restored, and
// if that fails too the error names them and the outcome is unknown. Mixed remembers the previous values of
// devices that differed, so that the reverse of a change restores each device's own value; it lasts as long
// as the driver does.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

// One device's share: how to set it, and how to restore its previous value, whether or not set was done.
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
  std::mutex mutex_;  // an abandoned call may still be running
  std::map<std::string, Shares> by_text_;
};

}  // namespace lockstep
