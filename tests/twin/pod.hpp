// Pod: the twin of examples/rail-pod, driven as a person drives it: by the binary under test
// (LOCKSTEP_BINARY).
//
// Promises: specs and state are in a folder of their own; the twin and the folder are gone when the Pod is; a
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
  std::string out;  // and standard error
};

// A command that runs beside the test.
class Running {
 public:
  Running(const std::vector<std::string>& argv, std::chrono::seconds patience);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Reads on until the output has `text` or the command has ended; true: it has.
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
  // Why a twin can't be made here; empty: it can.
  static std::string impossible();

  Pod();
  ~Pod();
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;

  const std::string& specs() const { return specs_; }
  // Where journal and locks of the twin are.
  std::string state() const;

  // `lockstep WORDS...`; the words must name the specs.
  Said run(const std::vector<std::string>& words) const;
  std::vector<std::string> argv(const std::vector<std::string>& words) const;

  Said drift() const { return run({"drift", "--twin", "-o", "json", specs_}); }
  // With what the pod's policy asks a person.
  Said apply() const {
    return run({"apply", "--twin", "--yes", "--approve", "approval,drain,budget", "--no-measure", specs_});
  }
  Said break_it(const std::string& fault, const std::vector<std::string>& words) const;

 private:
  std::string folder_;
  std::string specs_;
};

// Looks again and again.
bool eventually(const std::function<bool()>& holds, std::chrono::seconds patience);

}  // namespace lockstep::twin_test
