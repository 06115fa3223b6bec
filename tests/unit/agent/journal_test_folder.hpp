// A folder for one test, in memory where the machine has such a filesystem: journals are synced often.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace lockstep::agent {

class TestFolder {
 public:
  TestFolder() {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code none;
    const auto root =
        std::filesystem::is_directory(memory, none) ? memory : std::filesystem::temp_directory_path();
    std::string name = (root / "lockstep-agent-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TestFolder() {
    std::error_code none;
    if (!path_.empty()) std::filesystem::remove_all(path_, none);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string text_of_file(const std::string& file) {
  std::ifstream in(file);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}
inline void write_file(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::trunc) << text;
}

}  // namespace lockstep::agent
