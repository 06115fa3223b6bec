// CallbackScope: a member of an object that gives callbacks to an executor and may be destroyed before they
// are called.
//
// Promises: the function that bind() returns calls `callback` while the scope lives, and does nothing
// afterwards. For one thread.
#pragma once

#include <memory>
#include <utility>

namespace lockstep {

class CallbackScope {
 public:
  CallbackScope() = default;
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  template <class Callback>
  auto bind(Callback callback) const {
    return [alive = std::weak_ptr<const char>(alive_), callback = std::move(callback)](auto&&... arguments) {
      if (!alive.expired()) callback(std::forward<decltype(arguments)>(arguments)...);
    };
  }

 private:
  std::shared_ptr<const char> alive_ = std::make_shared<const char>();
};

}  // namespace lockstep
