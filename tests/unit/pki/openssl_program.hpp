// openssl(1), the oracle for what the authority makes, and a folder for its files.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/needs.hpp"

namespace lockstep {

struct ProgramAnswer {
  int code = 0;
  std::string text;  // both outputs
};

inline ProgramAnswer openssl(const std::string& arguments) {
  ProgramAnswer out;
  FILE* const pipe = ::popen(("openssl " + arguments + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen"};
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    out.text.append(part.data(), got);
  const int status = ::pclose(pipe);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

inline std::string text_of_file(const std::string& file) {
  std::stringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

inline void write_text(const std::string& file, const std::string& text, mode_t mode = 0600) {
  std::ofstream(file) << text;
  EXPECT_EQ(::chmod(file.c_str(), mode), 0) << file;
}

inline int mode_of(const std::string& path) {
  struct stat found {};
  EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
  return static_cast<int>(found.st_mode & 07777);
}

// A test with a folder of its own, that is removed.
class WithOpenssl : public ::testing::Test {
 protected:
  WithOpenssl() {
    std::string form = (std::filesystem::temp_directory_path() / "lockstep-pki-XXXXXX").string();
    EXPECT_NE(::mkdtemp(form.data()), nullptr);
    top_ = form;
  }
  ~WithOpenssl() override {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }
  void SetUp() override {
    if (openssl("version").code != 0) LOCKSTEP_NOT_TESTED_BUT_ON_CI("openssl(1) is the oracle");
  }
  std::string at(const std::string& name) const { return top_ + "/" + name; }

 private:
  std::string top_;
};

}  // namespace lockstep
