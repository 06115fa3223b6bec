// ObjectFeed: turns what the service does into objects (Board) and their changes (EventLog), on a thread of
// its own.
//
// Promises: a board never changes and lives as long as it is referenced; everything up to its `sequence` is
// in it, so that a list and a watch from its position miss nothing between them. An object changes its
// resourceVersion, and is logged, only when more than the time of its last observation changes: devices that
// are observed all the time wake nobody. The objects of the specs are those of the revision that is watched.
// Conditions are those of conditions.hpp: a proof that grows old turns them Unknown without any news. Of
// events the newest `events_kept` are kept, of changes and runs the newest `stored_kept`. happened() is for
// any thread and never waits for a reader; of more than kEventsWaiting that were not taken yet, the oldest
// are dropped, and an event EventsLost says how many.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "reconciler/api/event_log.hpp"
#include "reconciler/api/kept_device.hpp"
#include "reconciler/api/object_looks.hpp"
#include "reconciler/api/objects.hpp"
#include "reconciler/api/service_desk.hpp"
#include "reconciler/api/spec_looks.hpp"
#include "reconciler/api/stored_objects.hpp"

namespace lockstep::api {

struct Board {
  std::uint64_t sequence = 0;
  Board() : objects(kinds().size()) {}
  std::vector<std::vector<ApiObjectPtr>> objects;  // by kind; by name, events by age
  const std::vector<ApiObjectPtr>& of(Kind kind) const { return objects[index_of(kind)]; }
  ApiObjectPtr find(Kind kind, const std::string& name) const;  // null: there is none
};

struct FeedSettings {
  // Twice the resync of the service (service.md §4): one may be missed.
  std::chrono::seconds proof_lifetime{1200};
  // Of what a benchmark has shown. A choice: a week without a change or a bench says little of today's
  // fabric.
  std::chrono::seconds run_lifetime{std::chrono::hours(24 * 7)};
  std::size_t events_kept = 1000;
  std::size_t stored_kept = 100;
  // One line for an operator; any thread.
  std::function<void(const std::string&)> log = [](const std::string&) {};
};

class ObjectFeed {
 public:
  static constexpr std::size_t kEventsWaiting = 10'000;

  // `desk` and `log` outlive it.
  ObjectFeed(const ServiceDesk& desk, EventLog& log, FeedSettings settings);
  ~ObjectFeed();  // ends the thread
  ObjectFeed(const ObjectFeed&) = delete;
  ObjectFeed& operator=(const ObjectFeed&) = delete;

  // Errors (transient): no thread. Without it, somebody calls turn().
  Result<Done> start();
  void happened(const ServiceEvent& event);
  std::shared_ptr<const Board> board() const;
  StoredPlace stored_place() const;

  // What the thread does, ten times a second and when something happened.
  void turn(WallTime now);

 private:
  // An object as it was last logged.
  struct Kept {
    ApiObjectPtr object;
    std::string told;  // without what changes all the time
    std::string spec;
    ObjectMeta meta;
  };
  struct KeptObject {
    Conditions conditions;
    std::shared_ptr<const SpecObjects> of{};  // as it was last shown, with what follows
    ObjectTally tally{};
    std::optional<SuiteRun> run{};
    bool is_unsettled = true;  // another look is needed
  };
  using Build = std::function<nlohmann::json(const ObjectMeta&)>;

  void run(const std::stop_token& stop);
  std::int64_t generation_of(Kind kind, const std::string& name) const;
  void offer(Kind kind, const std::string& name, const Build& build);
  void remove_others(Kind kind, const std::vector<std::string>& names);
  void take_cluster(const ServiceStatus& status, WallTime now);
  void take_revisions(const ServiceStatus& status);
  void take_devices(const ServiceStatus& status, bool looks, WallTime now);
  void take_findings(const ServiceStatus& status, WallTime now);
  void take_objects(const ServiceStatus& status, WallTime now);
  void take_object(const ServiceStatus& status, const SpecObject& object, ObjectTally tally, WallTime now);
  void take_events(WallTime now);
  void take_stored(WallTime now);
  void publish();

  const ServiceDesk& desk_;
  EventLog& log_;
  const FeedSettings settings_;
  // Of the thread.
  std::vector<std::map<std::string, Kept>> kept_;  // by kind
  std::deque<ApiObjectPtr> events_;
  std::map<std::string, KeptDevice> devices_;
  Corrections corrections_;
  std::map<std::string, KeptObject> objects_;   // of the specs, by title
  std::optional<RevisionId> objects_of_;        // of which revision they are
  std::map<std::string, SuiteRun> suite_runs_;  // by suite
  std::shared_ptr<const DriftReport> findings_of_{};
  std::map<std::string, WallTime> finding_since_;  // by name
  std::optional<Conditions> cluster_conditions_;
  std::string cluster_name_;
  std::vector<LogEntry> entries_;  // of this turn
  bool changed_ = false;           // something of the board, in this turn
  std::uint64_t sequence_ = 0;     // of the log, with entries_
  std::uint64_t status_sequence_ = 0;
  WallTime looked_{};
  WallTime stored_at_{};
  bool stored_again_ = true;
  std::string stored_directory_;
  std::string stored_trouble_;

  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<ServiceEvent> waiting_;    // under mutex_
  std::size_t lost_ = 0;                // under mutex_
  std::shared_ptr<const Board> board_;  // under mutex_
  std::jthread thread_;
};

}  // namespace lockstep::api
