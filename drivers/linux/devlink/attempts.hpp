// Collects the outcomes of actions that are each attempted regardless of the others.
//
// Promises: outcome() is the first error, with its message followed by those of the others, each once.
#pragma once

#include <optional>
#include <utility>

#include "specs/model/result.hpp"

namespace lockstep::devlink_map {

class Attempts {
 public:
  template <class T>
  void add(const Result<T>& one) {
    if (one) return;
    if (!failed_)
      failed_ = Error{one.error().kind, one.error().text()};
    else if (failed_->what.find(one.error().text()) == std::string::npos)
      failed_->what += "; and " + one.error().text();
  }
  Result<Done> outcome() const { return failed_ ? Result<Done>(*failed_) : Done{}; }

 private:
  std::optional<Error> failed_;
};

}  // namespace lockstep::devlink_map
