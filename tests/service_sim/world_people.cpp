// What people do to the service of a World, and to its repository.
#include <fmt/format.h>

#include <algorithm>

#include "specs/language/hostlist.hpp"
#include "world.hpp"

namespace lockstep::service_simulation {
namespace {

using std::chrono::minutes;

// What somebody names by its commit.
bool is_newest_of_source(const ServiceStatus& status, const RevisionStatus& one) {
  return std::ranges::find_if(status.revisions, [&one](const RevisionStatus& other) {
           return other.shown.revision.source == one.shown.revision.source;
         })->shown.revision == one.shown.revision;
}

SpokenBy ann() { return {.who = "operator ann", .reason = "simulated"}; }

}  // namespace

void World::act() {
  if (stops_) return;
  switch (random_.below(8)) {
    case 0:
    case 1: return commit_something();
    case 2:
    case 3:
    case 4: return people_act();
    default: return device_acts();
  }
}

Commit World::draw_commit() {
  Commit out{.id = "", .values = {1, 1, 1, 1}};
  std::vector<const Commit*> good;
  for (const auto& [id, one] : repository_.commits())
    if (one.loads) good.push_back(&one);
  if (!good.empty()) out = random_.chance(0.2) ? *good[random_.below(good.size())] : *good.back();
  out.id = fmt::format("c{:04}", ++commits_);
  const auto change = [&](std::size_t group) { out.values[group] = 10 * commits_; };
  const std::uint64_t drawn = random_.below(100);
  if (drawn < 40) {
    change(random_.below(kGroups));
    if (random_.chance(0.3)) change(random_.below(kGroups));
  } else if (drawn < 58) {
    const std::size_t group = random_.below(kGroups);
    change(group);
    harmful_.insert(std::to_string(*out.values[group]));
    harmful_.insert(other_value(std::to_string(*out.values[group])));
    count("harmful commits");
  } else if (drawn < 68) {
    out.loads = false;
    count("commits that do not load");
  } else if (drawn < 78) {
    change(static_cast<std::size_t>(Group::manual));
    if (random_.chance(0.5)) change(static_cast<std::size_t>(Group::open));
  } else if (drawn < 86) {
    out.values = good.empty() ? out.values : good[random_.below(good.size())]->values;
    count("reverting commits");
  } else if (drawn < 92) {
    for (std::size_t left = 2 + random_.below(2); left > 0; --left)
      out.values[random_.below(kGroups)].reset();
  } else {
    for (std::size_t group = 0; group < kGroups; ++group) change(group);
  }
  return out;
}

void World::commit_something() {
  const std::uint64_t drawn = random_.below(10);
  if (drawn == 0 && !repository_.commits().empty()) {
    constexpr SourceTrouble kAll[] = {SourceTrouble::unreachable, SourceTrouble::denied};
    repository_.trouble = repository_.trouble ? std::nullopt : std::optional(kAll[random_.below(2)]);
    count("troubles of the source");
    record(repository_.trouble ? "the repository is in trouble" : "the repository is back");
    return;
  }
  if (drawn == 1 && !repository_.commits().empty()) {
    auto at = repository_.commits().begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(repository_.commits().size())));
    repository_.move_to(at->first);
    record("the branch is moved to " + at->first);
    count("forced pushes");
  } else {
    const Commit commit = draw_commit();
    repository_.commit(commit);
    facts_.committed(commit);
    std::string values;
    for (const auto& value : commit.values) values += value ? " " + std::to_string(*value) : " -";
    record("commits " + commit.id + values + (commit.loads ? "" : ", which does not load"));
  }
  if (process_ && random_.chance(0.7)) process_->service->fetch_now();
}

void World::people_act() {
  switch (random_.below(10)) {
    case 0: return suspend_or_resume();
    case 1: return random_.chance(0.5) ? suspend_or_resume() : person_applies();
    case 2: return cordon_or_uncordon();
    case 3: return reject_something();
    case 4: return person_applies();
    case 5: record("somebody asks to reconcile"); return process_->service->reconcile_now();
    case 6:
      if (!random_.chance(0.4)) return approve_something();
      record("is to stop");
      stops_ = now();
      unjudged_.reset();
      return process_->service->stop();
    default: return approve_something();
  }
}

// An answer of a process that was killed meanwhile has reached nobody.
bool World::said(const char* what, const Result<Done>& answer) {
  record(std::string(what) + ": " + (dies_ ? "?" : answer ? "done" : answer.error().text()));
  if (answer && !dies_) count(what);
  if (!answer && !dies_) count("refused requests");
  return bool(answer);
}

void World::approve(const Key& key, const std::string& source, const std::vector<std::string>& steps,
                    const std::set<std::string>& waits) {
  const Result<Done> answer = process_->service->approve(source, steps, ann());
  const bool done = said("approve", answer);
  if (!done && !dies_) return;
  for (const std::string& step : waits) {
    if (!steps.empty() && std::ranges::find(steps, step) == steps.end()) continue;
    if (deletions_.contains(step)) facts_.deletion_approved(key);
    const auto shown = shown_.find(step);
    const Shown one = shown == shown_.end() ? Shown() : shown->second;
    facts_.approved(key, one.contents, one.refusals);
  }
}

// The right steps, some of them, those of an older plan, or whatever waits; nothing that was never shown.
void World::approve_something() {
  if (!random_.chance(approves_)) return;
  const auto status = process_->service->status();
  for (const RevisionStatus& one : status->revisions) {
    if (!is_newest_of_source(*status, one) || one.shown.waits.empty() || random_.chance(0.3)) continue;
    const auto was_shown = [this](const auto& step) {
      return shown_.contains(step) || deletions_.contains(step);
    };
    if (!std::ranges::all_of(one.shown.waits, was_shown)) continue;
    const Key key = key_of(one.shown.revision);
    std::vector<std::string> steps(one.shown.waits.begin(), one.shown.waits.end());
    switch (random_.below(4)) {
      case 0: steps.clear(); break;
      case 1: std::erase_if(steps, [this](const auto&) { return random_.chance(0.4); }); break;
      case 2:
        count("approvals of older steps");
        for (const auto& [digest, shown] : shown_)
          if (shown.key == key && random_.chance(0.3)) steps.push_back(digest);
        break;
      default: break;
    }
    return approve(key, one.shown.revision.source, steps, one.shown.waits);
  }
}

void World::approve_all() {
  resume();
  const auto status = process_->service->status();
  for (const RevisionStatus& one : status->revisions)
    if (!one.shown.waits.empty() && one.shown.revision.source == repository_.head())
      return approve(key_of(one.shown.revision), one.shown.revision.source,
                     {one.shown.waits.begin(), one.shown.waits.end()}, one.shown.waits);
}

void World::reject_something() {
  const auto status = process_->service->status();
  for (const RevisionStatus& one : status->revisions) {
    if (!is_newest_of_source(*status, one) || one.shown.waits.empty() || random_.chance(0.3)) continue;
    rejections_.insert(key_of(one.shown.revision));
    const bool done = said("reject", process_->service->reject(one.shown.revision.source, ann()));
    if (done && !dies_) facts_.said_rejected(key_of(one.shown.revision));
    return;
  }
}

// While benchmarks run, no step does: from the answer on, nothing more is written.
void World::interrupt() {
  const Time since = now() - Facts::kStepMost;
  if (random_.chance(0.3)) {
    count("commits during a gate");
    return commit_something();
  }
  count("interrupted gates");
  unjudged_.reset();
  if (random_.chance(0.4)) {
    if (said("suspend", process_->service->suspend(ann())) && !dies_) facts_.suspended(since);
    return;
  }
  const std::string device = draw_place().device->name();
  if (said("cordon", process_->service->cordon(device, ann())) && !dies_) facts_.cordoned(device, since);
}

void World::suspend_or_resume() {
  if (process_->service->status()->suspended && random_.chance(0.7)) return resume();
  unjudged_.reset();
  const bool done = said("suspend", process_->service->suspend(ann()));
  if (done && !dies_ && !facts_.is_suspended()) facts_.suspended(now());
}

std::set<std::string> World::shown_to_differ(const ServiceStatus& status) {
  std::set<std::string> out;
  if (status.devices)
    for (const auto& one : status.devices->devices)
      if (one && one->differences > 0) out.insert(one->device);
  const std::size_t names = status.breaker.rfind(": ");
  if (names == std::string::npos) return out;
  const auto opened_it = expand_hostlist(status.breaker.substr(names + 2));
  if (opened_it) out.insert(opened_it->begin(), opened_it->end());
  return out;
}

// And nobody is cordoned any more once faults have stopped.
void World::resume() {
  const auto status = process_->service->status();
  if (quiet_ && !status->suspended && status->breaker.empty() && status->cordoned.empty()) return;
  const auto since = facts_.suspended_since();
  facts_.not_suspended();
  const Time before = std::exchange(resumed_, now());
  const std::set<std::string> seen_before = std::exchange(seen_, shown_to_differ(*status));
  const bool done = said("resume", process_->service->resume(ann()));
  if (!done && !dies_) {
    if (since) facts_.suspended(*since);
    resumed_ = before;
    seen_ = seen_before;
  }
  if (!quiet_ || dies_) return;
  for (const auto& [device, by] : process_->service->status()->cordoned)
    if (said("uncordon", process_->service->uncordon(device, ann()))) facts_.not_cordoned(device);
  // A breaker that opens again leaves the drift to whoever closes it.
  if (!process_->service->status()->breaker.empty()) process_->service->reconcile_now();
}

void World::cordon_or_uncordon() {
  const auto& cordons = facts_.cordons();
  if (!cordons.empty() && random_.chance(0.5)) {
    const auto [device, since] = *cordons.begin();
    facts_.not_cordoned(device);
    places_.at(device).moved = now();
    if (!said("uncordon", process_->service->uncordon(device, ann())) && !dies_)
      facts_.cordoned(device, since);
    return;
  }
  // Sometimes all of them.
  const bool all = random_.chance(0.1);
  for (const auto& [device, place] : places_) {
    if (!all && !random_.chance(0.15)) continue;
    unjudged_.reset();
    const bool done = said("cordon", process_->service->cordon(device, ann()));
    if (done && !dies_) facts_.cordoned(device, now());
    if (!all || dies_) return;
  }
}

// `lockstep apply` of the newest commit or an older one: refused while the service leads.
void World::person_applies() {
  if (process_->person || places_.empty()) return;
  const auto& commits = repository_.commits();
  auto at = commits.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(random_.below(commits.size())));
  Result<OpenedCluster> cluster = load_cluster({.specs = {repository_.folder_of(at->first)}});
  if (!cluster || !cluster->valid()) return;
  if (version_.kind == Kind::other) compile_otherwise(*cluster);
  const bool leads = process_->service->status()->leads;
  personal_key_ = key_of(at->second, version_.kind);
  process_->person = std::make_unique<PersonalApply>(*process_->executor, process_->retired);
  const Result<Done> begun = process_->person->start(
      *std::move(cluster), [this](Executor& executor) { return seams_of(executor); },
      [this] { process_->person_is_done = true; });
  if (dies_) throw Killed{};
  record("lockstep apply of " + at->first + (begun ? " begins" : ": " + begun.error().text()));
  if (begun && leads) violation("`lockstep apply` leads while the service says that it does");
  if (begun) count("personal applies");
  if (!begun) count("personal applies that are refused");
  if (!begun) process_->person.reset();
}

}  // namespace lockstep::service_simulation
