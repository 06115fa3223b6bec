#include "reconciler/engine/observe.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "specs/model/schema_rows.hpp"

namespace lockstep {

void DriverReply::observe(Driver& driver, bool is_known, const Scope& scope, const Call& call) {
  if (!is_known) traits = driver.traits(call);
  seen = is_known || *traits ? driver.observe(scope, "", call) : traits->error();
}

ObserveRound::ObserveRound(Fleet& fleet, Executor& executor, ObserveOptions options)
    : fleet_(fleet), executor_(executor), options_(std::move(options)) {}

ObserveRound::~ObserveRound() {
  for (const std::uint64_t job : jobs_) executor_.cancel(job);
  if (timer_ != 0) executor_.cancel(timer_);
}

void ObserveRound::start(std::function<void(Answer)> done) {
  auto states = std::make_shared<Answer>(fleet_.size());
  for (std::size_t i = 0; i < fleet_.size(); ++i) (*states)[i].device = fleet_[i].name;
  start_in_parts([states, done = std::move(done)](Part part) {
    for (auto& [device, state] : part.devices) (*states)[device] = std::move(state);
    if (part.is_last) done(std::move(*states));
  });
}

void ObserveRound::start_in_parts(std::function<void(Part)> some) {
  some_ = std::move(some);
  const auto choose = [this](std::size_t device) {
    Reading& one = reading_[device];
    one.scope = std::make_shared<const Scope>(scope_of(*fleet_[device].intent));
    one.answers.resize(fleet_[device].drivers.size(), Error{ErrorKind::transient, "not asked"});
  };
  for (const std::size_t device : options_.only) choose(device);
  for (std::size_t i = 0; options_.only.empty() && i < fleet_.size(); ++i) choose(i);
  left_ = reading_.size();
  for (auto& [device, one] : reading_) {
    for (std::size_t d = 0; d < fleet_[device].drivers.size(); ++d) observe(device, d, 1);
    if (one.open == 0) ended(device);
  }
  if (reading_.empty()) executor_.defer(callbacks_.bind([this] { pass_on(); }));
}

void ObserveRound::stop() {
  if (std::exchange(stopped_, true)) return;
  for (const std::uint64_t job : jobs_) executor_.cancel(job);
}

void ObserveRound::observe(std::size_t device, std::size_t driver, int attempt) {
  Reading& one = reading_.at(device);
  ++one.open;
  auto reply = std::make_shared<DriverReply>();
  Driver* const observed = fleet_[device].drivers[driver]->driver.get();
  const bool is_known = fleet_.carriers(device).traits(driver) != nullptr;
  jobs_.push_back(executor_.start(
      Job{.key = fleet_[device].name,
          .lane = fleet_[device].lane,
          .timeout = options_.timeout,
          .run = [reply, observed, is_known,
                  scope = one.scope](const Call& call) { reply->observe(*observed, is_known, *scope, call); },
          .done = callbacks_.bind([this, reply, device, driver, attempt](const Outcome& outcome) {
            answered(device, driver, attempt, *reply, outcome);
          })}));
}

void ObserveRound::answered(std::size_t device, std::size_t driver, int attempt, DriverReply& reply,
                            const Outcome& outcome) {
  Reading& one = reading_.at(device);
  --one.open;
  Result<Observation>& answer = one.answers[driver];
  answer = Error{ErrorKind::transient, fleet_[device].name + ": " + outcome.reason_or("no answer in time")};
  if (outcome == Outcome::returned) {
    answer = std::move(reply.seen);
    if (reply.traits) fleet_.learn(device, driver, *std::move(reply.traits));
  }
  const bool may_pass = !answer && answer.error().kind == ErrorKind::transient;
  if (may_pass && attempt < options_.tries && !stopped_) return observe(device, driver, attempt + 1);
  const bool is_armed = answer && !answer->armed.empty();
  if (is_armed && options_.undoes_armed && attempt <= options_.tries && !stopped_)
    return undo_armed(device, driver, attempt);
  if (answer && !is_armed && undone_.contains({device, driver}))
    answer->notes.push_back("what an earlier run had left armed is rolled back");
  if (one.open == 0) ended(device);
}

// The next observation shows whether it was rolled back.
void ObserveRound::undo_armed(std::size_t device, std::size_t driver, int attempt) {
  Reading& one = reading_.at(device);
  ++one.open;
  undone_.emplace(device, driver);
  Driver* const armed = fleet_[device].drivers[driver]->driver.get();
  jobs_.push_back(executor_.start(
      Job{.key = fleet_[device].name,
          .lane = fleet_[device].lane,
          .timeout = options_.timeout,
          .run = [armed, transaction = one.answers[driver]->armed](
                     const Call& call) { (void)armed->settle(transaction, Settlement::undo, call); },
          .done = callbacks_.bind([this, device, driver, attempt](const Outcome&) {
            const std::size_t open = --reading_.at(device).open;
            if (!stopped_) return observe(device, driver, attempt + 1);
            if (open == 0) ended(device);
          })}));
}

// All of it was read, or not answered for.
void ObserveRound::ended(std::size_t device) {
  ended_.push_back(device);
  --left_;
  if (left_ > 0) {
    if (timer_ == 0)
      timer_ = executor_.at(executor_.now() + kPassOn, [this] {
        timer_ = 0;
        pass_on();
      });
    return;
  }
  if (timer_ != 0) executor_.cancel(std::exchange(timer_, 0));
  executor_.defer(callbacks_.bind([this] { pass_on(); }));
}

void ObserveRound::pass_on() {
  Part part{.devices = {}, .is_last = left_ == 0};
  std::ranges::sort(ended_);
  for (const std::size_t i : std::exchange(ended_, {}))
    part.devices.emplace_back(i, compare(fleet_[i], fleet_.carriers(i), std::move(reading_.at(i).answers)));
  if (!part.is_last) return some_(std::move(part));
  jobs_.clear();
  const auto some = std::move(some_);  // which may end this round
  some(std::move(part));
}

namespace {

Observation merged(const std::string& device, std::vector<Observation> parts) {
  if (parts.size() == 1) {
    parts.front().device = device;
    return std::move(parts.front());
  }
  Observation all;
  all.device = device;
  TreeBuilder builder;
  for (Observation& part : parts) {
    for (const Entry& entry : part.have.entries()) builder.add(entry.path, entry.value, entry.origin);
    if (all.boot_id.empty()) all.boot_id = part.boot_id;
    all.when = std::max(all.when, part.when);
    all.revision += (all.revision.empty() ? "" : " ") + part.revision;
    std::move(part.unread.begin(), part.unread.end(), std::back_inserter(all.unread));
    std::move(part.incapable.begin(), part.incapable.end(), std::back_inserter(all.incapable));
    std::move(part.notes.begin(), part.notes.end(), std::back_inserter(all.notes));
    all.facts.merge(part.facts);
  }
  all.have = builder.build();
  return all;
}

void set_apart(ChangeSet& changes, const Carriers& carriers, const std::vector<Incapable>& incapable,
               std::vector<NotApplied>& out) {
  std::erase_if(changes, [&](const Change& change) {
    auto why = carriers.why_not(change, incapable);
    if (!why) return false;
    out.push_back({change.path, change.want, change.origin, std::move(why->reason), why->by_hand});
    return true;
  });
}

}  // namespace

DeviceState compare(const FleetDevice& device, const Carriers& carriers, DriverAnswers answers) {
  DeviceState state;
  state.device = device.name;
  if (answers.empty()) {
    if (device.unattached) state.errors.push_back(*device.unattached);
    return state;
  }
  std::vector<Observation> parts(answers.size());
  for (std::size_t driver = 0; driver < answers.size(); ++driver) {
    Result<Observation>& answer = answers[driver];
    // Its answer on rows that another driver claims is ignored.
    if (answer && carriers.traits(driver) == nullptr) answer = carriers.why_unknown(driver);
    if (answer) {
      parts[driver] = *std::move(answer);
      if (!parts[driver].armed.empty()) state.armed.push_back(parts[driver].armed);
      continue;
    }
    carriers.add_unread(driver, {}, answer.error(), parts[driver].unread);
    state.errors.push_back(std::move(answer.error()));
  }
  state.reachable = state.errors.size() < parts.size();
  state.observation = merged(device.name, std::move(parts));
  state.difference = diff(*device.intent, state.observation);
  for (const Unread& unread : state.observation.unread)
    for (const Claim& claim : device.intent->claims)
      state.claims_unread = state.claims_unread || claim.collection == unread.row;
  const std::vector<Incapable>& incapable = state.observation.incapable;
  set_apart(state.difference.changes, carriers, incapable, state.not_applied);
  set_apart(state.difference.effects, carriers, incapable, state.not_applied);
  return state;
}

}  // namespace lockstep
