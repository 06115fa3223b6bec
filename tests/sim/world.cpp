// The course of events in a World: processes of the program that start, are killed and are followed by
// others.
#include "world.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "reconciler/session/cluster_apply.hpp"
#include "reconciler/session/cluster_observe.hpp"
#include "reconciler/session/former_entries.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep::simulation {
namespace {

constexpr std::uint64_t kFnvOffset = 14695981039346656037ULL;
constexpr std::uint64_t kFnvPrime = 1099511628211ULL;
constexpr double kContends = 0.02;  // of a step: a second leader tries

// The error for a process that waited while another changed the entries to restore.
bool is_to_run_again(const Error& why) {
  return why.kind == ErrorKind::conflict && why.text().find("since the specs were read") != std::string::npos;
}

bool is_over(StepState state) {
  return state == StepState::done || state == StepState::failed || state == StepState::undone ||
         state == StepState::nothing_to_do;
}

}  // namespace

// An operator who reverted a bad value in the specs approves the other rolled-back entries once nothing else
// is left to do.
ApplyRequest World::request() const {
  ApplyRequest out{
      .command = "lockstep apply", .author = "a person", .strict = strict_, .deletion_confirmed = true};
  if (exceeds_budgets_) out.approved.add(Hold::Kind::budget);
  if (asks_ && !bad_) out.approved.add(Hold::Kind::gate);
  return out;
}

WorldCounts& WorldCounts::operator+=(const WorldCounts& other) {
  calls += other.calls;
  writes += other.writes;
  killed += other.killed;
  refused += other.refused;
  took_over += other.took_over;
  late += other.late;
  healed += other.healed;
  moved += other.moved;
  asked += other.asked;
  for (std::size_t i = 0; i < kEdits; ++i) edited[i] += other.edited[i];
  locked += other.locked;
  unlocked += other.unlocked;
  chosen += other.chosen;
  away += other.away;
  far_away += other.far_away;
  half_read += other.half_read;
  saved += other.saved;
  kept += other.kept;
  unheard += other.unheard;
  armed += other.armed;
  told_to_undo += other.told_to_undo;
  undid += other.undid;
  alerted += other.alerted;
  not_cordoned += other.not_cordoned;
  strictly += other.strictly;
  clock_jumps += other.clock_jumps;
  unstored += other.unstored;
  stopped_short += other.stopped_short;
  gone_on += other.gone_on;
  out_meanwhile += other.out_meanwhile;
  out_planned += other.out_planned;
  out_measured += other.out_measured;
  out_counted += other.out_counted;
  out_held += other.out_held;
  spared += other.spared;
  cures += other.cures;
  all_fell += other.all_fell;
  both_ended += other.both_ended;
  one_ended += other.one_ended;
  evened += other.evened;
  undone += other.undone;
  return *this;
}

World::World(const WorldOptions& options)
    : options_(options),
      random_(options.seed),
      journal_(directory_.path(), [this] { return refuses_commit(); }) {
  result_.history = kFnvOffset;
  build();
}

WorldResult World::run() {
  const bool in_service = random_.chance(0.75);
  if (in_service) put_in_service();
  arm_faults();
  for (int i = 0; i < options_.rounds; ++i) {
    if ((i > 0 || in_service) && random_.chance(0.7)) change_spec(i);
    contested_apply();
  }
  if (!bad_ || random_.chance(0.5)) {
    take_spec_back();
    watch(true);
  }
  stop_faults();
  if (!bad_) watch(false);
  if (!converge_quietly()) violation("not converged within 30 virtual minutes after faults stopped");
  check_all_judged();
  check_saved();
  return result_;
}

void World::check_all_judged() {
  std::size_t paths = 0;
  std::string first;
  std::set<std::uint64_t> changes;
  for (const FlowPath& one : paths_) {
    if (!one.unjudged.empty() && paths++ == 0) first = one.subject;
    changes.insert(one.unjudged.begin(), one.unjudged.end());
  }
  std::string ids;
  for (const std::uint64_t change : changes) ids += " " + std::to_string(change);
  if (paths > 0)
    violation(std::to_string(paths) + " paths (" + first +
              ") were changed, and kept without being measured, by changes" + ids);
}

std::unique_ptr<World::Process> World::begin_process(std::vector<std::string> only) {
  auto process = std::make_unique<Process>();
  process->only = std::move(only);
  process->executor = std::make_unique<SimulatedExecutor>(random_.next(), delays_, now());
  process->executor->wall_epoch = wall_epoch_;
  come_back(now());
  unattached_.clear();
  SessionSeams seams{drivers_, *process->executor, directory_.path(), {}, this};
  seams.first_hops = [this](const std::vector<IpAddress>& addresses) { return first_hops(addresses); };
  auto opened = ClusterSession::open(cluster_, seams);
  if (!opened) throw std::runtime_error(opened.error().text());
  process->session = *std::move(opened);
  process->unattached = std::exchange(unattached_, {});
  if (const Result<Done> chosen = process->session->choose(process->only); !chosen)
    throw std::runtime_error(chosen.error().text());
  return process;
}

// Returns false when the process was killed. Only its journal remains. Calls on the wire are lost with its
// sockets.
bool World::runs(std::unique_ptr<Process> process, const std::function<void(Process&)>& work) {
  process_ = process.get();
  cured_.clear();
  reopened_.clear();
  process->executor->after_step = [this] { after_step(); };
  bool lives = true;
  try {
    work(*process);
  } catch (const Killed&) {
    record("killed");
    ++result_.counts.killed;
    lives = false;
  }
  follow_journal();  // its last writes, while its epoch is the newest
  was_unstored_ = std::exchange(unstored_, 0) > 0;
  unstored_before_ = 0;
  full_for_ = 0;  // the disk has space again
  const Time::duration wait = std::exchange(waits_, false) ? wait_for_window() : Time::duration{};
  clock_ = now() + wait;
  waited_ += wait;
  process_ = nullptr;
  plan_ = nullptr;
  ends_.clear();
  over_budget_.clear();
  for (auto& [name, place] : places_) {
    place.is_observed.fill(false);
    place.seen_down.clear();
    place.in_hand = {};
    lift(place);
  }
  return lives;
}

void World::after_step() {
  follow_journal();
  if (standby_ != nullptr && leads_ && random_.chance(kContends)) contend();
  arrive_late();
  come_back(now());
  if (away_chance_ > 0 && random_.chance(away_chance_)) leave();
  if (outage_chance_ > 0 && random_.chance(outage_chance_)) {
    break_something();
    result_.counts.out_meanwhile += leads_ ? 1 : 0;
  }
  if (clock_chance_ > 0 && random_.chance(clock_chance_)) jump_clock();
  if (drift_chance_ > 0 && random_.chance(drift_chance_)) drift();
}

// Draws devices for --only.
std::vector<std::string> World::draw_only() {
  const double share = random_.unit();
  std::vector<std::string> out;
  for (const auto& [name, place] : places_)
    if (random_.chance(share)) out.push_back(name);
  record("only " + std::to_string(out.size()));
  return out;
}

// Two operators at once. If the first process is killed, the second takes over.
void World::contested_apply() {
  if (away_chance_ > 0 && random_.chance(0.3)) leave();
  if (clock_chance_ > 0 && random_.chance(0.3)) jump_clock();
  exceeds_budgets_ = !options_.others || random_.chance(0.5);
  strict_ = options_.others && random_.chance(0.3);
  last_write_.reset();
  std::unique_ptr<Process> second = random_.chance(0.4) ? begin_process() : nullptr;
  standby_ = second.get();
  std::vector<std::string> only = random_.chance(0.2) ? draw_only() : std::vector<std::string>();
  const bool lives =
      runs(begin_process(std::move(only)), [this](Process& process) { person_applies(process); });
  standby_ = nullptr;
  leads_ = false;
  if (lives || !second) return;
  ++result_.counts.took_over;
  late_ = std::exchange(last_write_, {});
  // The second process slept meanwhile.
  second->executor->at(clock_, [] {});
  while (second->executor->now() < clock_) second->executor->step();
  runs(std::move(second), [this](Process& process) { person_applies(process); });
  if (std::exchange(runs_again_, false))
    runs(begin_process(), [this](Process& process) { person_applies(process); });
  leads_ = false;
  late_.reset();
}

void World::contend() {
  const Result<EarlierRuns> second = standby_->session->prepare_apply(request());
  ++result_.counts.refused;
  if (second)
    violation("two lead at once");
  else if (second.error().kind != ErrorKind::conflict)
    violation("a second leader is refused as " + std::string(to_string(second.error().kind)));
}

// Like `lockstep apply --yes`. Returns true when everything is as desired and nothing was left to judge.
bool World::person_applies(Process& process) {
  ClusterSession& session = *process.session;
  const Result<EarlierRuns> earlier = session.prepare_apply(request());
  if (!earlier && is_to_run_again(earlier.error())) {
    runs_again_ = true;
    return false;
  }
  if (!earlier) {
    if (is_unstored()) return false;
    violation("nobody leads, and the lock is not given: " + earlier.error().text());
    return false;
  }
  check_leads();
  result_.counts.gone_on += was_unstored_ ? 1 : 0;
  const std::set<std::string> away = all_away(process);
  const std::set<std::string> half_away = all_half_away();
  const std::unique_ptr<ClusterObserve> observed = session.make_observe();
  const std::vector<DeviceState> states = pump(*process.executor, *observed);
  unread_ = all_away(process);
  std::erase_if(unread_, [&away](const std::string& device) { return !away.contains(device); });
  half_read_ = all_half_away();
  std::erase_if(half_read_, [&half_away](const std::string& device) { return !half_away.contains(device); });
  check_states(states);
  const Result<Plan> plan = session.plan(states);
  const Result<std::vector<WrittenEntry>> written = session.settle_written(states);
  if (!plan || !written) {
    if (is_unstored()) return false;
    violation("no plan: " + (plan ? written.error() : plan.error()).text());
    return false;
  }
  forget_what_is_gone();
  record("plan " + plan->digest);
  note_ends(process);
  over_budget_.clear();
  for (const Step& step : plan->steps)
    if (exceeds_budgets_ &&
        std::ranges::any_of(step.holds, [](const Hold& one) { return one.kind == Hold::Kind::budget; }))
      over_budget_.insert(step.device);
  broken_before_ = std::ranges::any_of(paths_, [this](const FlowPath& one) { return is_broken(one); });
  if (options_.steps) std::printf("%s", plan_lines(*plan).c_str());
  const std::vector<WrittenEntry> left = left_behind(session.fleet(), states, *written);
  if (!plan->empty() || earlier->to_judge()) {
    unstored_before_ = unstored_;
    rounds_ = {.owed = !earlier->owed.empty()};
    carry_out(process, *plan, left);
    return false;
  }
  if (const Result<Done> noted = session.leave_as_is(left); !noted) {
    if (!is_unstored()) violation(noted.error().text());
    return false;
  }
  const Result<ObservedDrift> drift = session.drift_of(states, false);
  const bool converged = drift && drift->report.exit_code() == 0;
  if (converged && process.only.empty() && !unread_.empty())
    violation("all is called converged, and " + *unread_.begin() + " is away");
  if (converged && process.only.empty() && !half_read_.empty())
    violation("all is called converged, and the routing daemon of " + *half_read_.begin() + " is away");
  return converged;
}

void World::carry_out(Process& process, const Plan& plan, const std::vector<WrittenEntry>& left) {
  if (outage_chance_ > 0 && random_.chance(0.2)) {
    break_something();
    ++result_.counts.out_planned;
  }
  plan_ = &plan;
  const std::unique_ptr<ClusterApply> apply =
      process.session->make_apply(plan, left, request(), {.progress = progress()});
  const Applied applied = pump(*process.executor, *apply);
  plan_ = nullptr;
  record("verdict " + std::string(to_string(applied.report.verdict)));
  for (auto& [name, place] : places_) place.in_hand = {};
  check_unstored(applied.report, bool(applied.accepted));
  if (!applied.accepted && !is_unstored())
    violation("the outcome is not stored: " + applied.accepted.error().text());
  check_radius(applied.report.change_id, applied.report.blast, "its report");
  if (options_.steps) {
    if (applied.report.gate) std::printf("  %s\n", applied.report.gate->why.c_str());
    for (const std::string& note : applied.report.notes) std::printf("  %s\n", note.c_str());
    for (const UndoneChange& one : applied.report.undone) std::printf("%s", plan_lines(one.plan).c_str());
  }
  check_ends(applied.report);
  check_kept(applied.report);
  check_saved(applied.report);
  check_cause(applied.report);
  check_strict(applied.report);
  check_on_violation(applied.report);
  settle_specs(applied.report);
  waits_ = applied.report.verdict == ApplyVerdict::waits;
  asks_ = applied.report.verdict == ApplyVerdict::asks;
}

Progress World::progress() {
  Progress progress;
  progress.step = [this](const Step& step, const StepResult& result) {
    const bool names_journal = result.why.find(directory_.path()) != std::string::npos;
    record("step " + step.device + " " + std::string(to_string(result.state)) + " " +
           (names_journal ? "its journal takes nothing" : result.why));
    if (result.state == StepState::done) check_done(step);
    if (is_over(result.state)) places_.at(step.device).in_hand = {};
    if (result.state == StepState::held && result.why.find("out of service already") != std::string::npos)
      ++result_.counts.out_held;
    if (result.why.starts_with("not begun:") && !is_unstored()) violation(step.device + ": " + result.why);
    if (result.why.find("none is as long as the worst case") != std::string::npos) windows_too_short_ = true;
    may_be_killed(kill_chance_);
  };
  return progress;
}

// Like `lockstep watch --converge`, until the faults have come and gone, or without faults until everything
// that it may heal is healed.
void World::watch(bool with_faults) {
  std::set<std::string> held;  // devices that the last healing did not restore
  forget_what_is_gone();       // an entry that a healing restores after a rollback belongs to no change
  healing_ = true;
  runs(begin_process(), [&](Process& process) {
    const std::unique_ptr<ClusterWatch> watch = process.session->make_watch(
        {.command = "lockstep watch --converge",
         .author = "lockstep watch",
         .converge = true,
         .event =
             [this](const WatchEvent& event) {
               record("event " + event.item.device + " " + std::string(to_string(event.kind)));
             },
         .healed = [this, &held](const Healing& healing) { healed(healing, held); },
         .stands_back = [&held](const auto& devices) { held.insert(devices.begin(), devices.end()); },
         .progress = progress()});
    std::optional<Result<Done>> ended;
    watch_ = watch.get();
    watch->start([&ended](Result<Done> answer) { ended.emplace(std::move(answer)); });
    const Time until = now() + (with_faults ? std::chrono::minutes(1) : std::chrono::minutes(15));
    while (now() < until && (with_faults || !all_healed(held))) run_until(now() + std::chrono::seconds(5));
    if (!with_faults) check_healed(held);
    watch->stop();
    while (!ended && process.executor->step()) {
    }
    if (!ended || !*ended) violation("a watch that was stopped did not end");
  });
  healing_ = false;
  watch_ = nullptr;
  snapshot_.reset();
}

void World::healed(const Healing& healing, std::set<std::string>& held) {
  for (auto& [name, place] : places_) place.in_hand = {};
  reopened_.clear();
  if (healing.no_plan) return violation("no plan: " + healing.no_plan->text());
  if (healing.locked && is_unstored()) {
    unstored_before_ = unstored_;
    return;
  }
  if (healing.locked) return violation("nobody leads, and the lock is not given to the watch");
  check_unstored(healing.report, true);
  if (journal_.not_ended() != 0 && !is_unstored())
    violation("a change of a killed run is still open after a healing");
  ++result_.counts.healed;
  check_healed_by_remedies(healing);
  check_radius(healing.report.change_id, healing.report.blast, "its report");
  record("healed " + std::string(to_string(healing.report.verdict)));
  for (const Step& step : healing.plan.steps) held.erase(step.device);
  for (std::size_t i = 0; i < healing.report.steps.size(); ++i)
    if (!is_good(healing.report.steps[i].state)) held.insert(healing.plan.steps[i].device);
}

void World::run_until(Time when) {
  bool over = false;
  process_->executor->at(when, [&over] { over = true; });
  while (!over && process_->executor->step()) {
  }
}

// Faults have stopped: a few rounds must converge everything. The limit is in virtual minutes, plus the hours
// until a window opens. There is one window a day, and there may be as many waits as waves.
bool World::converge_quietly() {
  const Time until = clock_ + std::chrono::minutes(30) - waited_;
  const auto waited_most = waited_ + std::chrono::days(7);
  exceeds_budgets_ = true;
  strict_ = false;
  for (bool converged = false; clock_ < until + waited_ && waited_ < waited_most;) {
    if (windows_too_short_) lift_windows();
    if (asks_) take_spec_back();  // held steps need that, or an approval that a bad value never gets
    runs(begin_process(), [&](Process& process) { converged = person_applies(process); });
    leads_ = false;
    if (converged) return true;
  }
  return false;
}

void World::violation(const std::string& what) {
  if (result_.violations.size() < 20) result_.violations.push_back(what);
  record("VIOLATION " + what);
}

void World::record(const std::string& what) {
  const auto at = now().time_since_epoch().count();
  for (const char c : what + std::to_string(at))
    result_.history = (result_.history ^ static_cast<unsigned char>(c)) * kFnvPrime;
  if (options_.steps) std::printf("%12.3f ms  %s\n", static_cast<double>(at) / 1e6, what.c_str());
}

}  // namespace lockstep::simulation
