// What an agent answers, decoded and checked against what it was asked. Part of driver.cpp.
//
// Contract: an answer that does not fit is an error that names its field, `refused` for what only reads and
// `unknown_outcome` for what may have written. The caller adds which agent it was.
#pragma once

#include <chrono>
#include <string>

#include "drivers/driver.hpp"

namespace lockstep::agent_answers {

struct Wanted {
  std::string cluster;
  std::string device;
  std::string driver;
};

// Errors: `denied`: another device or cluster; `unsupported`: another protocol, or no such driver there.
Result<Traits> traits_from(const std::string& hello, const Wanted& wanted);
Result<Observation> observation_from(const std::string& body, std::chrono::steady_clock::time_point sent,
                                     const std::string& device, const Scope& scope);
Result<Receipt> receipt_from(const std::string& body, const ChangeSet& changes, const std::string& ticket);
Result<Done> settled_from(const std::string& body);
Result<Done> cured_from(const std::string& body);
Result<Usage::Use> use_from(const std::string& body);

}  // namespace lockstep::agent_answers
