// ServiceStatus: what a service knows and does, for readers, as of one turn of its loop; StatusBoard
// publishes the newest one.
//
// Promises: a status never changes, and lives as long as it is referenced; read() may be called on any thread
// and never waits for a device. `sequence` increases with each status.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/service/goal_plan.hpp"
#include "reconciler/service/service_record.hpp"
#include "reconciler/session/snapshot.hpp"
#include "reconciler/session/spec_objects.hpp"
#include "reconciler/source/source.hpp"

namespace lockstep {

struct RevisionStatus {
  Revisions::Shown shown;
  Authorship made_by{};
};

struct SourceStatus {
  std::string title;
  std::optional<WallTime> fetched{};  // the last fetch that answered
  std::optional<SourceTrouble> trouble{};
  std::string why{};  // of the trouble
};

// The plan of the goal, as last made.
struct PlanStatus {
  RevisionId revision;
  std::shared_ptr<const GoalPlan> plan;
  WallTime at{};
};

struct RunStatus {
  RevisionId revision;
  std::string phase{};  // "measure", as Progress::phase
  std::uint32_t wave = 0;
  std::uint32_t waves = 0;
  std::size_t steps = 0;
  std::size_t over = 0;  // of `steps`
  WallTime since{};
  DeviceNames devices{};  // of `steps`; null: they are not known yet
};

// A suite that is measured by the clock.
struct ScheduleStatus {
  SuiteSchedule schedule;
  WallTime due{};
  std::optional<SuiteResult> last{};
  std::string why_not{};  // why the newest run was not judged; empty: it was, or there is none
  bool runs = false;      // now
};

// Why the last heal left differences of a device.
struct NotHealed {
  std::string why;
  bool waits = false;  // for a window
  bool asks = false;   // for an approval
};

// Since the service was started.
struct ServiceCounts {
  std::uint64_t changes = 0;             // that ended, however; heals aside
  std::array<std::uint64_t, 4> gates{};  // by GateVerdict
  std::uint64_t healed = 0;
  std::uint64_t heals_failed = 0;
};

struct ServiceStatus {
  std::uint64_t sequence = 0;
  std::string cluster{};     // its name; empty: no valid revision yet
  std::string state_name{};  // OpenedCluster::state_name: a twin's is not the cluster's
  bool twin = false;
  std::string directory{};  // of the cluster's store; empty: not known yet
  SourceStatus source{};
  bool leads = false;
  std::string why_not_leads{};
  std::vector<RevisionStatus> revisions{};      // newest first
  std::optional<Revisions::Invalid> invalid{};  // the newest one, if it is
  std::optional<RevisionId> last_good{};
  std::optional<RevisionId> watched{};  // towards which drift is told
  bool in_force = false;                // devices may be at it: others are only looked at
  std::optional<PlanStatus> plan{};
  std::optional<PlanStatus> refused{};  // of the last revision that its gate refused, since the start
  std::optional<RunStatus> run{};
  std::shared_ptr<const DriftReport> problems{};  // of the last watch, with their causes; null: not known yet
  std::string why_not_run{};  // of the goal: why nothing is done about it now; empty: nothing is in the way
  std::optional<SpokenBy> suspended{};
  std::map<std::string, SpokenBy> cordoned{};
  std::vector<ScheduleStatus> schedules{};        // of what is watched
  std::map<std::string, NotHealed> not_healed{};  // by device
  std::string breaker{};                          // why it is open; empty: it is closed
  std::string record_trouble{};                   // why the last decisions are not stored; empty: they are
  std::shared_ptr<const Snapshot> devices{};      // null: nothing is watched yet
  std::shared_ptr<const SpecObjects> objects{};   // of `watched`; null: nothing is
  std::shared_ptr<const SourceFolder> files{};    // the same
  ServiceCounts counts{};
};

class StatusBoard {
 public:
  StatusBoard() : newest_(std::make_shared<const ServiceStatus>()) {}
  std::shared_ptr<const ServiceStatus> read() const {
    const std::scoped_lock lock(mutex_);
    return newest_;
  }
  void publish(ServiceStatus status) {
    status.sequence = ++sequence_;
    auto next = std::make_shared<const ServiceStatus>(std::move(status));
    const std::scoped_lock lock(mutex_);
    newest_.swap(next);
  }

 private:
  std::uint64_t sequence_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<const ServiceStatus> newest_;  // under mutex_
};

}  // namespace lockstep
