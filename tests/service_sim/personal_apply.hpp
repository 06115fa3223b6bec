// PersonalApply: `lockstep apply` as somebody runs it beside a service: a process of its own, with its own
// leadership for as long as it takes.
//
// Promises: refused where the cluster is led by another process. Destroyed at any point, it ends as a killed
// process does: its locks are free, and what it wrote stays.
#pragma once

#include <functional>
#include <memory>

#include "reconciler/service/retired_sessions.hpp"
#include "reconciler/session/cluster_apply.hpp"
#include "reconciler/session/cluster_observe.hpp"
#include "reconciler/session/former_entries.hpp"

namespace lockstep::service_simulation {

class PersonalApply {
 public:
  PersonalApply(Executor& executor, RetiredSessions& retired)
      : executor_(executor), retired_(retired), served_(std::make_shared<ServedSession>(executor)) {}
  ~PersonalApply() {
    apply_.reset();
    observe_.reset();
    if (served_->session) served_->session->leave();
    retired_.add(std::move(served_));
  }
  PersonalApply(const PersonalApply&) = delete;
  PersonalApply& operator=(const PersonalApply&) = delete;

  // `seams`: without an executor. `done`: once, in a later step.
  Result<Done> start(OpenedCluster cluster, const std::function<SessionSeams(Executor&)>& seams,
                     std::function<void()> done) {
    done_ = std::move(done);
    TRY(served_->session, ClusterSession::open(std::move(cluster), seams(served_->executor)));
    TRY_DONE(served_->session->prepare_apply(request()));
    observe_ = served_->session->make_observe();
    observe_->start([this](std::vector<DeviceState> states) {
      executor_.defer(callbacks_.bind([this, states = std::move(states)] { carry_out(states); }));
    });
    return Done{};
  }

 private:
  static ApplyRequest request() { return {.command = "lockstep apply", .author = "operator bob"}; }
  void carry_out(const std::vector<DeviceState>& states) {
    observe_.reset();
    ClusterSession& session = *served_->session;
    const Result<Plan> plan = session.plan(states);
    const auto written = session.settle_written(states);
    const auto deletion = plan ? session.deletion_by(*plan) : Result<Deletion>(Deletion{});
    if (!plan || !written || !deletion || !session.why_refused(*deletion, false).empty()) return done_();
    std::vector<WrittenEntry> left = left_behind(session.fleet(), states, *written);
    apply_ = session.make_apply(*plan, std::move(left), request(), {});
    apply_->start([this](const Applied&) { executor_.defer(callbacks_.bind([this] { done_(); })); });
  }

  Executor& executor_;
  RetiredSessions& retired_;
  std::shared_ptr<ServedSession> served_;
  std::unique_ptr<ClusterObserve> observe_;
  std::unique_ptr<ClusterApply> apply_;
  std::function<void()> done_;
  CallbackScope callbacks_;
};

}  // namespace lockstep::service_simulation
