#include "reconciler/api/service_desk.hpp"

#include <utility>

namespace lockstep::api {
namespace {

Result<Done> carry_out(ServiceLoop& loop, Action action) {
  switch (action.verb) {
    case Verb::approve: return loop.approve(action.name, action.steps, std::move(action.by));
    case Verb::reject: return loop.reject(action.name, std::move(action.by));
    case Verb::suspend: return loop.suspend(std::move(action.by));
    case Verb::resume: return loop.resume(std::move(action.by));
    case Verb::reconcile: loop.reconcile_now(); return Done{};
    case Verb::cordon: return loop.cordon(action.name, std::move(action.by));
    case Verb::uncordon: return loop.uncordon(action.name, std::move(action.by));
  }
  return Error{ErrorKind::unsupported, "unknown action"};
}

class LoopDesk final : public ServiceDesk {
 public:
  LoopDesk(Executor& executor, ServiceLoop& loop, std::unique_ptr<CommandQueue> queue)
      : executor_(executor), loop_(loop), queue_(std::move(queue)) {}

  std::shared_ptr<const ServiceStatus> status() const override { return loop_.status(); }

  std::shared_ptr<AskedAction> ask(Action action, Time deadline, std::function<void(Answer)> then) override {
    auto asked = std::make_shared<AskedAction>(deadline);
    queue_->post([this, asked, action = std::move(action), then = std::move(then)] {
      if (asked->begin(executor_.now())) then(carry_out(loop_, action));
    });
    return asked;
  }

  void fetch_soon() override {
    queue_->post([this] { loop_.fetch_now(); });
  }

 private:
  Executor& executor_;
  ServiceLoop& loop_;
  std::unique_ptr<CommandQueue> queue_;
};

}  // namespace

Result<std::unique_ptr<ServiceDesk>> open_desk(Executor& executor, ServiceLoop& loop) {
  TRY(std::unique_ptr<CommandQueue> queue, CommandQueue::open(executor));
  return std::unique_ptr<ServiceDesk>(std::make_unique<LoopDesk>(executor, loop, std::move(queue)));
}

}  // namespace lockstep::api
