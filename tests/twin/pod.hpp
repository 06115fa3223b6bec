// Pod: a twin of examples/rail-pod, controlled like a user would: with the binary under test
// (LOCKSTEP_BINARY).
//
// Promises: specs and state are in a temporary folder; the destructor removes the twin and the folder; a
// command that hangs is killed and fails the test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::twin_test {

struct Said {
  int code = -1;
  std::string out;  // standard output and standard error
};

// A command that runs in parallel to the test.
class Running {
 public:
  Running(const std::vector<std::string>& argv, std::chrono::seconds patience);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Reads until the output contains `text`, and returns true; false if the command ends first.
  bool says(const std::string& text);
  Said end();

 private:
  bool read_some();

  int pid_ = -1;
  int output_ = -1;
  std::chrono::steady_clock::time_point until_;
  std::string out_;
};

class Pod {
 public:
  // The reason why a twin can't be made here; empty if it can.
  static std::string impossible();

  Pod();
  ~Pod();
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;

  const std::string& specs() const { return specs_; }
  // The folder of the twin's journal and locks.
  std::string state() const;

  // Runs `lockstep WORDS...`; the arguments must include the specs.
  Said run(const std::vector<std::string>& words) const;
  std::vector<std::string> argv(const std::vector<std::string>& words) const;

  Said drift() const { return run({"drift", "--twin", "-o", "json", specs_}); }
  // With the approvals that the pod's policy needs.
  Said apply() const {
    return run({"apply", "--twin", "--yes", "--approve", "approval,drain,budget", "--no-measure", specs_});
  }
  Said break_it(const std::string& fault, const std::vector<std::string>& words) const;

 private:
  std::string folder_;
  std::string specs_;
};

// Polls `holds` until it is true or `patience` has passed.
bool eventually(const std::function<bool()>& holds, std::chrono::seconds patience);

}  // namespace lockstep::twin_test
