// A copy of a folder of specs that a test may edit.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/session/temporary_folder.hpp"

namespace lockstep {

inline const std::string kRailPod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";

inline std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class SpecsCopy {
 public:
  explicit SpecsCopy(const std::string& of = kRailPod) {
    std::filesystem::copy(of, folder_.path() + "/specs", std::filesystem::copy_options::recursive);
  }
  std::string path() const { return folder_.path() + "/specs"; }
  SpecsCopy& replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = text_of(path() + "/" + name);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << name << " has no '" << from << "'";
    if (at != text.npos) folder_.write("specs/" + name, text.replace(at, from.size(), to));
    return *this;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace lockstep
