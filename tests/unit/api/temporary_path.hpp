// A folder for the files of one test, removed with its contents.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace lockstep::api {

class TemporaryPath {
 public:
  TemporaryPath() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-api-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryPath() { std::filesystem::remove_all(path_); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(file(name), std::ios::trunc) << text;
    ::chmod(file(name).c_str(), mode);
    return file(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
};

}  // namespace lockstep::api
