// A folder for the files of one test, removed with its contents.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/session/temporary_folder.hpp"

namespace lockstep::api {

class TemporaryPath : public TemporaryFolder {
 public:
  std::string file(const std::string& name) const { return path() + "/" + name; }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(file(name), std::ios::trunc) << text;
    ::chmod(file(name).c_str(), mode);
    return file(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

}  // namespace lockstep::api
