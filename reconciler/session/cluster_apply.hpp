// ClusterApply: applies one plan for a session and accepts the result, as an object that the executor drives.
// Made by ClusterSession::make_apply, which holds the cluster's lock.
//
// Promises: those of Application; the answer comes after what was accepted is stored, or contains the reason
// why it could not be. It is destroyed before the executor and the session.
#pragma once

#include <functional>
#include <memory>

#include "reconciler/engine/application.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

class ClusterApply {
 public:
  using Answer = Applied;
  ClusterApply(std::unique_ptr<Application> application, std::function<Applied(ApplyReport)> accept)
      : application_(std::move(application)), accept_(std::move(accept)) {}
  ClusterApply(const ClusterApply&) = delete;
  ClusterApply& operator=(const ClusterApply&) = delete;

  void start(std::function<void(Applied)> done) {
    application_->start(
        [this, done = std::move(done)](ApplyReport report) { done(accept_(std::move(report))); });
  }
  void stop() { application_->stop(); }

 private:
  std::unique_ptr<Application> application_;
  std::function<Applied(ApplyReport)> accept_;
};

}  // namespace lockstep
