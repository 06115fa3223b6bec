// The state directory of a simulation, in memory where the machine has such a file system. Removed with its
// object.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace lockstep::simulation {

class StateDirectory {
 public:
  StateDirectory() {
    std::error_code unseen;
    const std::filesystem::path memory = "/dev/shm";
    const bool is_there = std::filesystem::is_directory(memory, unseen) && access(memory.c_str(), W_OK) == 0;
    const std::filesystem::path top = is_there ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (top / "lockstep-simulate-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error("no folder can be made in " + top.string());
    path_ = pattern;
  }
  ~StateDirectory() {
    std::error_code unseen;
    std::filesystem::remove_all(path_, unseen);
  }
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The locks of machines and of first applies are private to this process, so that another simulation is not
// another leader.
class PrivateStates {
 public:
  PrivateStates() {
    setenv("LOCKSTEP_RUN_DIR", machines_.path().c_str(), 1);
    setenv("LOCKSTEP_STATE_DIR", states_.path().c_str(), 1);
  }

 private:
  StateDirectory machines_;
  StateDirectory states_;
};

}  // namespace lockstep::simulation
