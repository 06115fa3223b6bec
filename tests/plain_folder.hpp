// A folder of a revision that the test keeps itself.
#pragma once

#include <string>
#include <utility>

#include "reconciler/source/source.hpp"

namespace lockstep {

class PlainFolder final : public SourceFolder {
 public:
  explicit PlainFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const override { return path_; }

 private:
  std::string path_;
};

}  // namespace lockstep
