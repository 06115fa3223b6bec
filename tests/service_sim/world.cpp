#include "world.hpp"

#include <algorithm>
#include <cstdio>

namespace lockstep::service_simulation {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325ULL;  // FNV-1a
constexpr std::uint64_t kFnvPrime = 0x100000001b3ULL;
constexpr std::uint64_t kOfOutages = 0x6f757461676573ULL;  // any number: another stream of the same seed

}  // namespace

World::World(const WorldOptions& options)
    : options_(options),
      random_(options.seed),
      outages_(options.seed ^ kOfOutages),
      has_outages_(outages_.chance(0.4)),
      has_window_(random_.chance(0.3)),
      repository_(directory_.path() + "/commits", has_window_),
      journal_(directory_.path() + "/state", [this] { return refuses_commit(); }) {
  result_.history = kFnvOffset;
  build();
}

WorldResult World::run() {
  wall_epoch_ = WallTime(hours(24 * 365 * 56) + minutes(random_.below(24 * 60)));
  arm_faults();
  commit_something();
  live_until(now() + hours(1) + minutes(random_.below(120)), [this] { act(); });
  stop_faults();
  check_quiet();
  converge();
  return result_;
}

void World::arm_faults() {
  // First draws which kinds of faults are armed, then how often each occurs.
  const bool any_of_network = random_.chance(0.7);
  const auto draw = [this](double most) { return random_.chance(0.4) ? random_.unit() * most : 0.0; };
  delays_.lost_request = draw(0.03);
  delays_.lost_reply = draw(0.03);
  delays_.slow = draw(0.05);
  if (random_.chance(0.1)) delays_.slow_max = seconds(300);  // longer than a fetch may take
  faults_.transient = draw(0.05);
  faults_.refused = draw(0.03);
  faults_.lost_reply = draw(0.05);
  faults_.reboot_in_apply = draw(0.03);
  faults_.stale_read = draw(0.03);
  faults_.unread = draw(0.03);
  faults_.conflict = draw(0.03);
  if (!any_of_network) {
    delays_ = {};
    faults_ = {};
  }
  if (delays_.lost_request + delays_.lost_reply + delays_.slow + faults_.transient + faults_.stale_read +
          faults_.unread >
      0)
    lossy_until_ = Time::max();
  kill_chance_ = draw(0.004);
  full_chance_ = draw(0.02);
  unknown_chance_ = draw(0.2);
  interrupts_ = random_.chance(0.5);
  approves_ = random_.chance(0.8) ? random_.unit() : 0;
}

void World::stop_faults() {
  delays_ = {};
  faults_ = {};
  kill_chance_ = full_chance_ = unknown_chance_ = 0;
  interrupts_ = false;
  quiet_ = true;
  full_for_ = 0;
  repository_.trouble.reset();
  for (auto& [name, place] : places_) {
    place.device->faults = {};
    place.device->unreachable = false;
    place.flaps = false;
    set_dark(place, false);
  }
  lossy_until_ = std::min(lossy_until_, Time(now() + minutes(5)));
  // When the window of the day opens.
  wall_epoch_ = std::chrono::ceil<std::chrono::days>(wall_epoch_) + hours(kOpens) - now().time_since_epoch();
  ++clock_jumps_;
  clock_jumped_ = now();
  if (process_) {
    process_->executor->delays() = {};
    process_->executor->wall_epoch = wall_epoch_;
  }
  record("faults stop");
}

// Runs the service, dead or alive, and lets the world act once in a minute or two.
void World::live_until(Time end, const std::function<void()>& act) {
  while (now() < end) {
    try {
      if (!process_) begin_process();
      const Time next = std::min<Time>(end, now() + seconds(5 + random_.below(120)));
      run_until(next);
      if (process_->ended) end_process();
      if (process_) act();
      if (dies_) throw Killed{};
    } catch (const Killed&) {
      killed();
    }
  }
}

void World::run_until(Time when) {
  bool over = false;
  process_->executor->at(when, [&over] { over = true; });
  while (!over && process_->executor->step()) {
    if (dies_) throw Killed{};
    follow_status();
  }
}

void World::after_step() {
  may_be_killed(kill_chance_);
  process_->retired.sweep();
}

void World::begin_process() {
  process_ = std::make_unique<Process>();
  process_->executor = std::make_unique<SimulatedExecutor>(random_.next(), delays_, clock_);
  process_->executor->wall_epoch = wall_epoch_;
  process_->executor->after_step = [this] { after_step(); };
  process_->feed = make_feed(make_specs_feed(repository_.source(), {.keeps = directory_.path() + "/keeps"}),
                             version_.kind, [this] { may_be_killed(kill_chance_); });
  ServiceSettings settings;
  settings.version = version_.name;
  ServiceSeams seams{.drivers = drivers_,
                     .executor = *process_->executor,
                     .specs = *process_->feed,
                     .retired = process_->retired};
  seams.directory = directory_.path() + "/state";
  seams.measurer = this;
  seams.traffic = [this](const auto& plan, const auto& ends) { return traffic(plan, ends); };
  seams.seed = random_.next();
  seams.event = [this](const ServiceEvent& event) {
    measurement_told(event.kind);
    record(std::string(to_string(event.kind)) + " " + event.object + " " + event.message);
  };
  record("lockstep " + version_.name + " starts");
  count("starts");
  process_begun_ = now();
  unjudged_.reset();
  measured_.is_under_way = false;
  status_seen_ = 0;
  states_.clear();
  process_->service = std::make_unique<ServiceLoop>(std::move(seams), std::move(settings));
  process_->service->start([this](const Result<Done>&) { process_->ended = true; });
}

void World::end_process() {
  if (process_->service->status()->leads) violation("stopped, and it still leads");
  count("stops");
  record("ended");
  clock_ = now();
  process_.reset();
  clock_ += seconds(random_.below(60));
  restart();
}

void World::killed() {
  follow_journal();
  if (gate_fails_ && last_begun_ != 0 && changes_.at(last_begun_).claim == Claim::goal)
    facts_.doubted(changes_.at(last_begun_).key);
  record("killed");
  count("kills");
  clock_ = now();
  process_.reset();
  dies_ = false;
  full_for_ = 0;
  clock_ += seconds(random_.below(200));
  restart();
}

// As the version that ran, or as another.
void World::restart() {
  static const Version kVersions[] = {{"1", Kind::plain}, {"2", Kind::other}, {"3", Kind::plain}};
  if (!quiet_ && random_.chance(0.2)) {
    version_ = kVersions[random_.below(3)];
    count("other versions");
  }
  stops_.reset();
}

void World::may_be_killed(double chance) {
  if (dies_ || (chance > 0 && random_.chance(chance))) {
    dies_ = true;
    throw Killed{};
  }
}

// A full disk, or a process that is killed before a commit, or right after it: nothing is stored any more.
bool World::refuses_commit() {
  if (!process_) return false;
  if (dies_) return true;
  if (kill_chance_ > 0 && random_.chance(kill_chance_ * 4)) {
    dies_ = true;
    count("kills at a commit");
    return random_.chance(0.5);
  }
  if (full_for_ == 0 && full_chance_ > 0 && random_.chance(full_chance_))
    full_for_ = random_.chance(0.5) ? 1 : 1 + random_.below(60);
  if (full_for_ == 0) return false;
  --full_for_;
  ++unstored_;
  count("commits that a full disk refuses");
  record("not stored");
  return true;
}

void World::check_quiet() {
  if (!process_) begin_process();
  const Time begin = now();
  std::size_t changes = 0;
  live_until(begin + minutes(10), [this] { resume(); });
  live_until(begin + minutes(60), [] {});
  const auto begun = [this, begin] {
    return static_cast<std::size_t>(std::ranges::count_if(
        changes_, [begin](const auto& one) { return one.second.begun > begin + minutes(10); }));
  };
  changes = begun();
  live_until(begin + minutes(90), [] {});
  if (begun() != changes) violation("changes are begun half an hour after everything has come to rest");
  if (changes > kQuietChanges) violation(std::to_string(changes) + " changes are begun in quiet");
  check_knows_head();
  check_measured();
  const std::optional<Key> to = goal();
  if (!to) return;
  if (!to->starts_with(repository_.head())) count("quiet with a newer revision in git");
  const auto status = process_->service->status();
  const std::string why = status->why_not_run;
  // Files of the last three good revisions stay for a restart.
  constexpr int kBeforeGood = 3;
  const auto newer = std::ranges::find_if(
      status->revisions, [&](const RevisionStatus& one) { return key_of(one.shown.revision) == *to; });
  const auto out = std::count_if(status->revisions.begin(), newer, [this](const RevisionStatus& one) {
    return facts_.is_out(key_of(one.shown.revision));
  });
  if (out >= kBeforeGood && why.find("are gone") != why.npos) return count("goals whose files are gone");
  const std::set<std::string> behind = behind_the_first_wave(*to);
  if (!behind.empty()) count("goals whose first wave waits");
  for (const std::string& wrong : not_as(*to, behind))
    violation("quiet, and the goal is " + *to + ": " + wrong + (why.empty() ? "" : "; " + why));
  count("quiet ends at a goal");
  if (has_outages_) check_outage(*to);
}

// What is configured as it should be is left alone, however many devices lack something: nobody could write
// it.
void World::check_outage(const Key& goal) {
  const auto in_sync = [this] {
    std::set<std::string> out;
    const auto status = process_->service->status();
    if (!status->devices) return out;
    for (const auto& one : status->devices->devices)
      if (one && one->in_sync()) out.insert(one->device);
    return out;
  };
  const std::set<std::string> before = in_sync();
  const Path path = *Path::parse(path_of(Group::open));
  const auto drifts = std::ranges::find_if(hosts_of(Group::open), [&](const std::string& host) {
    const auto wanted = facts_.wanted(goal);
    const auto value = wanted.find(setting(host, path.text()));
    if (value == wanted.end() || !before.contains(host)) return false;
    const Content content{value->first, "7", value->second};
    return !facts_.waits(goal, content, {content});
  });
  const auto status = process_->service->status();
  // All steps of an upgrade wait for somebody, and so does what it would heal.
  const bool is_upgrade = std::ranges::any_of(status->revisions, [&](const RevisionStatus& one) {
    return key_of(one.shown.revision) == goal &&
           one.shown.why.find("compiled to other") != one.shown.why.npos;
  });
  if (drifts == hosts_of(Group::open).end() || is_upgrade || !status->breaker.empty()) return;
  count("outages of all devices");
  const std::size_t changes = changes_.size();
  for (auto& [name, place] : places_) set_dark(place, true);
  live_until(now() + minutes(15), [] {});
  for (const std::string& name : in_sync()) violation(name + " lacks its effects, and is shown in sync");
  if (changes_.size() != changes) violation("an outage begins a change");
  Place& place = places_.at(*drifts);
  const Value wanted = place.device->truth().value(path);
  place.device->set(path, Value::text("7"));
  // Where a full disk kept it from recording what a device was brought to, that is gone for with the
  // revision, whose devices are looked at each ten minutes and a tenth more.
  live_until(now() + minutes(12), [] {});
  if (place.device->truth().value(path) != wanted) violation("drift is not healed during an outage");
  if (const std::string why = process_->service->status()->breaker; !why.empty())
    violation("an outage opens the circuit breaker: " + why);
  for (auto& [name, one] : places_) set_dark(one, false);
  live_until(now() + minutes(20), [] {});
  for (const std::string& name : before)
    if (!in_sync().contains(name)) violation(name + " has its effects again, and is not shown in sync");
}

void World::check_knows_head() {
  const auto status = process_->service->status();
  const Commit& head = repository_.at(repository_.head());
  if (!head.loads && (!status->invalid || status->invalid->source != head.id))
    violation("quiet, and the status does not say that " + head.id + " is invalid");
  if (!head.loads || status->revisions.empty()) return;
  const Key newest = key_of(status->revisions.front().shown.revision);
  if (newest != key_of(head, version_.kind))
    violation("quiet, and the newest revision is " + newest + ": the branch is at " + head.id);
  if (status->invalid) violation("quiet, and the status says that specs are invalid");
}

// The last commit is good, and whoever is asked approves.
void World::converge() {
  harmful_.clear();
  Commit last{.id = "last" + std::to_string(++commits_), .values = {}};
  for (auto& value : last.values) value = 10 * ++commits_;
  repository_.commit(last);
  facts_.committed(last);
  record("commits the last one");
  const Time end = now() + hours(1);
  const Key key = key_of(last, version_.kind);
  const auto is_there = [&] {
    const auto status = process_->service->status();
    return not_as(key).empty() && status->last_good && key_of(*status->last_good) == key &&
           status->revisions.front().shown.state == RevisionState::kept;
  };
  while (now() < end && !is_there()) live_until(now() + minutes(1), [this] { approve_all(); });
  for (const std::string& wrong : not_as(key)) violation("everything is approved, and at the end " + wrong);
  const auto status = process_->service->status();
  if (!is_there())
    violation("at the end the last revision is not the last good one: " + status->why_not_run + "; " +
              status->why_not_leads + "; " + status->record_trouble);
  live_until(now() + minutes(20), [] {});
  for (const std::string& wrong : not_as(key)) violation("after the end " + wrong);
  if (journal_.not_ended() != 0) violation("at the end a change is still open in the journal");
}

void World::violation(const std::string& what) {
  if (dies_) return;
  if (result_.violations.size() < 20) result_.violations.push_back(what);
  record("VIOLATION " + what);
}

void World::record(const std::string& what) {
  const auto at = now().time_since_epoch().count();
  const std::string& folder = directory_.path();
  std::string text = what + std::to_string(at);
  for (auto found = text.find(folder); found != text.npos; found = text.find(folder))
    text.erase(found, folder.size());
  for (const char c : text) result_.history = (result_.history ^ static_cast<unsigned char>(c)) * kFnvPrime;
  if (options_.steps) std::printf("%10.1f s  %s\n", static_cast<double>(at) / 1e9, what.c_str());
}

}  // namespace lockstep::service_simulation
