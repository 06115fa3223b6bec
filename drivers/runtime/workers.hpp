// Workers: threads that run bodies, created on demand and reused.
//
// Promises: a body is run at once, on a thread of its own; the destructor waits for all. Refuses (transient)
// if no thread can be created. Called by one thread.
#pragma once

#include <functional>
#include <memory>

#include "specs/model/result.hpp"

namespace lockstep {

class Workers {
 public:
  Workers();
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // `body` must not throw.
  Result<Done> run(std::function<void()> body);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace lockstep
