// A desk without a service: the status is what the test says, and actions are noted and answered as it says.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reconciler/api/service_desk.hpp"

namespace lockstep::api {

class FakeDesk final : public ServiceDesk {
 public:
  std::shared_ptr<const ServiceStatus> status() const override {
    const std::scoped_lock lock(mutex_);
    return status_;
  }
  void set(ServiceStatus status) {
    const std::scoped_lock lock(mutex_);
    status.sequence = ++sequence_;
    status_ = std::make_shared<const ServiceStatus>(std::move(status));
  }
  std::shared_ptr<AskedAction> ask(Action action, Time deadline, std::function<void(Answer)> then) override {
    auto asked = std::make_shared<AskedAction>(deadline);
    std::optional<Answer> answer;
    {
      const std::scoped_lock lock(mutex_);
      actions_.push_back(action);
      answer = answer_;
      asked_ = asked;
      then_ = then;
    }
    if (answer && asked->begin(std::chrono::steady_clock::now())) then(*answer);
    return asked;
  }
  void fetch_soon() override {
    const std::scoped_lock lock(mutex_);
    ++fetches_;
  }
  // None: the engine is busy for good.
  void answers(std::optional<Answer> answer) {
    const std::scoped_lock lock(mutex_);
    answer_ = std::move(answer);
  }
  // Of the last action that was not answered: an engine that takes it up, and one that has done it.
  bool begin() {
    const std::scoped_lock lock(mutex_);
    return asked_->begin(std::chrono::steady_clock::now());
  }
  void finish(Answer answer) {
    const std::scoped_lock lock(mutex_);
    then_(std::move(answer));
  }
  std::vector<Action> actions() const {
    const std::scoped_lock lock(mutex_);
    return actions_;
  }
  int fetches() const {
    const std::scoped_lock lock(mutex_);
    return fetches_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ServiceStatus> status_ = std::make_shared<const ServiceStatus>();
  std::uint64_t sequence_ = 0;
  std::optional<Answer> answer_ = Answer(Done{});
  std::vector<Action> actions_;
  std::shared_ptr<AskedAction> asked_;
  std::function<void(Answer)> then_;
  int fetches_ = 0;
};

}  // namespace lockstep::api
