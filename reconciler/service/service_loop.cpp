#include "reconciler/service/service_loop.hpp"

#include <algorithm>
#include <utility>

#include "reconciler/session/cluster_watch.hpp"

namespace lockstep {

ServiceLoop::ServiceLoop(ServiceSeams seams, ServiceSettings settings)
    : seams_(std::move(seams)),
      settings_(std::move(settings)),
      random_(seams_.seed),
      breaker_(settings_.breaker, 0) {
  source_.title = seams_.specs.title();
  publish();
}

ServiceLoop::~ServiceLoop() {
  for (std::uint64_t* const timer : {&fetch_timer_, &lead_timer_, &goal_timer_, &watch_timer_, &bench_timer_})
    cancel(*timer);
  apply_.reset();
  observe_.reset();
  bench_.reset();
  watch_.reset();
  drop_goal();
  if (watched_) seams_.retired.add(std::move(watched_));
}

void ServiceLoop::start(std::function<void(Answer)> done) {
  done_ = std::move(done);
  fetch();
}

void ServiceLoop::stop() {
  if (std::exchange(stopping_, true)) return;
  for (std::uint64_t* const timer : {&fetch_timer_, &lead_timer_, &goal_timer_, &watch_timer_, &bench_timer_})
    cancel(*timer);
  if (job_ != 0) seams_.executor.cancel(job_);
  if (observe_) observe_->stop();
  if (apply_) apply_->stop();
  stop_measuring("the service was stopped");
  stop_watch({});
  turn_soon();
}

// Turns ---------------------------------------------------------------------------------------------------

void ServiceLoop::turn_soon() {
  if (!std::exchange(turns_, true)) seams_.executor.defer(callbacks_.bind([this] { turn(); }));
}

void ServiceLoop::turn() {
  turns_ = false;
  seams_.retired.sweep();
  if (leads_) save();
  if (stopping_) return end_if_at_rest();
  if (leads_ && !record_.suspended)
    act();
  else if (cluster_)
    keep_watch();
  publish();
}

void ServiceLoop::act() {
  keep_watch();
  if (doing_ == Doing::nothing) {
    const std::optional<RevisionId> next = record_.revisions.next();
    const std::optional<RevisionId> waiting = record_.revisions.waiting();
    if (next || waiting) {
      go_for(next ? *next : *waiting);
    } else {
      drop_goal();
      why_not_run_.clear();
    }
  }
  keep_measuring();
}

void ServiceLoop::end_if_at_rest() {
  publish();
  if (job_ != 0 || watch_ || observe_ || apply_ || bench_ || !done_) return;
  if (leads_) {
    save();
    store_->leadership().resign();
    leads_ = false;
    why_not_leads_ = "it was stopped";
  }
  publish();
  const std::function<void(Answer)> done = std::exchange(done_, {});
  done(Done{});
}

// Timers --------------------------------------------------------------------------------------------------

void ServiceLoop::at(std::uint64_t& timer, std::chrono::milliseconds wait, void (ServiceLoop::*then)()) {
  cancel(timer);
  if (stopping_) return;
  timer = seams_.executor.at(seams_.executor.now() + wait, callbacks_.bind([this, &timer, then] {
    timer = 0;
    (this->*then)();
  }));
}

void ServiceLoop::cancel(std::uint64_t& timer) {
  if (const std::uint64_t id = std::exchange(timer, 0); id != 0) seams_.executor.cancel(id);
}

// Up to a tenth longer, so that services that were started together don't ask together.
std::chrono::milliseconds ServiceLoop::with_jitter(std::chrono::milliseconds wait) {
  return wait + std::chrono::milliseconds(random_.below(static_cast<std::uint64_t>(wait.count() / 10 + 1)));
}

std::chrono::milliseconds ServiceLoop::longer(std::chrono::milliseconds& wait,
                                              std::chrono::milliseconds most) {
  wait = std::clamp<std::chrono::milliseconds>(2 * wait, settings_.retry_min, most);
  return with_jitter(wait);
}

// What is stored ------------------------------------------------------------------------------------------

// Whether everything that was decided is stored.
bool ServiceLoop::save() {
  if (!unsaved_) return true;
  const Result<Done> kept = store_->blobs().keep(ServiceRecord::kKey, record_.to_json());
  unsaved_ = !kept;
  if (!kept && record_trouble_.empty())
    happened(ServiceEvent::Kind::record_trouble, cluster_object(), kept.error().text());
  record_trouble_ = kept ? "" : kept.error().text();
  return !unsaved_;
}

Result<Done> ServiceLoop::say(const std::function<Result<Done>(ServiceRecord&)>& change) {
  if (stopping_) return Error{ErrorKind::transient, "the service is stopping"};
  if (!leads_)
    return Error{ErrorKind::conflict, record_.suspended ? "the service is suspended: resume it first"
                                                        : "the service does not lead: " + why_not_leads_};
  ServiceRecord next = record_;
  TRY_DONE(change(next));
  // Who says it can do nothing about the disk: it may be said again later.
  if (const Result<Done> kept = store_->blobs().keep(ServiceRecord::kKey, next.to_json()); !kept)
    return Error{ErrorKind::transient, kept.error().text()};
  record_ = std::move(next);
  unsaved_ = false;
  record_trouble_.clear();
  look_now();
  turn_soon();
  return Done{};
}

// The goal is planned again, however long it was to wait.
void ServiceLoop::look_now() {
  goal_wait_ = {};
  again_wait_ = {};
  goal_at_ = {};
  if (goal_) goal_->look_at = seams_.executor.now();
}

// What is told --------------------------------------------------------------------------------------------

void ServiceLoop::happened(ServiceEvent::Kind kind, std::string object, std::string message) {
  happened(kind, std::move(object), std::move(message), {});
}

void ServiceLoop::happened(ServiceEvent::Kind kind, std::string object, std::string message,
                           const ApplyReport& report) {
  if (!seams_.event) return;
  seams_.event({.kind = kind,
                .at = now(),
                .object = std::move(object),
                .message = std::move(message),
                .cluster = cluster_ ? cluster_->state_name : "",
                .change = report.change_id,
                .devices = report.blast.devices});
}

std::string ServiceLoop::cluster_object() const { return "Cluster/" + (cluster_ ? cluster_->name : ""); }

std::vector<RevisionStatus> ServiceLoop::revisions_shown() const {
  std::vector<RevisionStatus> out;
  for (Revisions::Shown& one : record_.revisions.shown()) {
    RevisionStatus status{std::move(one)};
    if (const auto by = record_.made_by.find(status.shown.revision.source); by != record_.made_by.end())
      status.made_by = by->second;
    out.push_back(std::move(status));
  }
  return out;
}

void ServiceLoop::publish() {
  publishes_ = false;
  ServiceStatus status;
  if (cluster_) {
    status.cluster = cluster_->name;
    status.state_name = cluster_->state_name;
    status.twin = cluster_->twin;
  }
  status.directory = directory_;
  status.source = source_;
  status.leads = leads_;
  if (!leads_) status.why_not_leads = store_ || kept_trouble_.empty() ? why_not_leads_ : kept_trouble_;
  status.revisions = revisions_shown();
  status.invalid = record_.revisions.bad();
  status.last_good = record_.revisions.last_good();
  status.watched = watched_id_;
  status.in_force = is_in_force();
  if (goal_ && goal_->plan) status.plan = PlanStatus{goal_->id, goal_->plan, goal_->planned};
  status.refused = refused_;
  if (run_) status.run = run_->status;
  status.why_not_run = why_not_run_;
  status.suspended = record_.suspended;
  status.cordoned = record_.cordoned;
  status.schedules = schedules_shown();
  status.not_healed = not_healed_;
  status.breaker = breaker_.why();
  status.record_trouble = record_trouble_;
  if (watch_) status.devices = watch_->snapshot();
  status.problems = problems_;
  if (const auto specs = watched_id_ ? specs_.find(*watched_id_) : specs_.end(); specs != specs_.end()) {
    status.objects = specs->second.objects;
    status.files = specs->second.revision.folder;
  }
  status.counts = counts_;
  board_.publish(std::move(status));
}

// What people say -----------------------------------------------------------------------------------------

namespace {

const std::string kDigest = "sha256:";  // how each begins
constexpr std::size_t kShortest = 4;    // of the start of a revision's id: a choice, as git's

Error unknown(const std::string& what) { return Error{ErrorKind::conflict, what}; }

// The newest revision whose source begins with this.
Result<Revisions::Shown> find_revision(const Revisions& revisions, const std::string& start) {
  const std::vector<Revisions::Shown> all = revisions.shown();
  if (start.empty()) {
    const std::optional<RevisionId> waiting = revisions.waiting();
    const auto found = std::ranges::find_if(all, [&](const Revisions::Shown& one) {
      return waiting ? one.revision == *waiting : !one.waits.empty();
    });
    if (found == all.end()) return unknown("nothing waits for an approval");
    return *found;
  }
  if (start.size() < kShortest)
    return unknown("'" + start + "' is too short for a revision: at least " + std::to_string(kShortest) +
                   " characters");
  std::set<std::string> sources;
  for (const Revisions::Shown& one : all)
    if (one.revision.source.starts_with(start)) sources.insert(one.revision.source);
  if (sources.empty()) return unknown("no revision begins with '" + start + "'");
  if (sources.size() > 1) return unknown("more than one revision begins with '" + start + "'");
  return *std::ranges::find(all, *sources.begin(),
                            [](const auto& one) -> const std::string& { return one.revision.source; });
}

Result<std::set<std::string>> find_steps(const std::set<std::string>& waits,
                                         const std::vector<std::string>& starts) {
  if (starts.empty()) return waits;
  std::set<std::string> out;
  for (const std::string& start : starts) {
    const std::string whole = start.starts_with(kDigest) ? start : kDigest + start;
    const auto found = waits.lower_bound(whole);
    if (found == waits.end() || start.empty() || !found->starts_with(whole))
      return unknown("no step that waits begins with '" + start + "'");
    if (const auto next = std::next(found); next != waits.end() && next->starts_with(whole))
      return unknown("more than one step that waits begins with '" + start + "'");
    out.insert(*found);
  }
  return out;
}

}  // namespace

Result<Done> ServiceLoop::approve(const std::string& revision, const std::vector<std::string>& steps,
                                  SpokenBy by) {
  by.at = now();
  std::string source;
  TRY_DONE(say([&](ServiceRecord& record) -> Result<Done> {
    TRY(const Revisions::Shown one, find_revision(record.revisions, revision));
    TRY(std::set<std::string> found, find_steps(one.waits, steps));
    source = one.revision.source;
    return record.revisions.approve({one.revision, std::move(found), by});
  }));
  happened(ServiceEvent::Kind::approved, "Revision/" + source, said_by(by));
  return Done{};
}

Result<Done> ServiceLoop::reject(const std::string& revision, SpokenBy by) {
  by.at = now();
  std::string source;
  TRY_DONE(say([&](ServiceRecord& record) -> Result<Done> {
    TRY(const Revisions::Shown one, find_revision(record.revisions, revision));
    source = one.revision.source;
    return record.revisions.reject(one.revision, by);
  }));
  happened(ServiceEvent::Kind::rejected, "Revision/" + source, said_by(by));
  if (watch_ && watch_->is_healing()) stop_watch({});  // perhaps towards that one
  return Done{};
}

Result<Done> ServiceLoop::suspend(SpokenBy by) {
  by.at = now();
  if (record_.suspended) return Done{};
  TRY_DONE(say([&](ServiceRecord& record) -> Result<Done> {
    record.suspended = by;
    return Done{};
  }));
  if (apply_) apply_->stop();
  if (observe_) observe_->stop();
  stop_measuring("the service is suspended");
  happened(ServiceEvent::Kind::suspended, cluster_object(), said_by(by));
  stop_watch({});  // a heal ends; the next watch heals nothing
  resign_if_suspended();
  return Done{};
}

Result<Done> ServiceLoop::resume(SpokenBy by) {
  by.at = now();
  if (record_.suspended && !leads_) TRY_DONE(take_leadership());
  CircuitBreaker closed = breaker_;
  closed.close(devices_that_differ(), by.at);
  Result<Done> stored = say([&](ServiceRecord& record) -> Result<Done> {
    record.suspended.reset();
    record.breaker = closed.to_json();
    return Done{};
  });
  if (!stored) {
    resign_if_suspended();
    return stored;
  }
  breaker_ = std::move(closed);
  if (watch_ && !watch_stops_) watch_->retry_declined();
  happened(ServiceEvent::Kind::resumed, cluster_object(), said_by(by));
  return Done{};
}

// As they were last observed: what somebody who resumes sees.
std::set<std::string> ServiceLoop::devices_that_differ() const {
  std::set<std::string> out;
  if (!watch_) return out;
  for (const auto& one : watch_->snapshot()->devices)
    if (one && one->differences > 0) out.insert(one->device);
  return out;
}

// Once nothing of ours is under way: `lockstep apply` may lead meanwhile.
void ServiceLoop::resign_if_suspended() {
  if (!record_.suspended || !leads_ || apply_ || bench_ || watch_stops_ || doing_ == Doing::preparing) return;
  if (!save()) return;
  store_->leadership().resign();
  leads_ = false;
  why_not_leads_ = "it is suspended";
}

Result<Done> ServiceLoop::cordon(const std::string& device, SpokenBy by) {
  by.at = now();
  const bool is_new = !record_.cordoned.contains(device);
  TRY_DONE(say([&](ServiceRecord& record) -> Result<Done> {
    if (!watched_ || !watched_->session->fleet().find(device))
      return unknown("no device of this cluster is called '" + device + "'");
    record.cordoned[device] = by;
    return Done{};
  }));
  happened(ServiceEvent::Kind::cordoned, "Device/" + device, said_by(by));
  if (is_new) cordons_changed();
  return Done{};
}

Result<Done> ServiceLoop::uncordon(const std::string& device, SpokenBy by) {
  by.at = now();
  TRY_DONE(say([&](ServiceRecord& record) -> Result<Done> {
    if (record.cordoned.erase(device) == 0) return unknown("'" + device + "' is not cordoned");
    if (record.begun) record.revisions.drifted(*record.begun, device + " is not cordoned any more", by.at);
    return Done{};
  }));
  happened(ServiceEvent::Kind::uncordoned, "Device/" + device, said_by(by));
  ++cordons_;
  return Done{};
}

// What is under way was planned with the device: it ends, and is planned again without it.
void ServiceLoop::cordons_changed() {
  ++cordons_;
  if (apply_) apply_->stop();
  stop_measuring("a device was cordoned");
  if (watch_ && watch_->is_healing()) stop_watch({});
}

std::string ServiceLoop::said_by(const SpokenBy& by) {
  return "by " + by.who + (by.reason.empty() ? "" : ": " + by.reason);
}

}  // namespace lockstep
