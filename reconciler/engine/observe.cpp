// Looking at many devices at once, and setting apart what can't be there.
#include <algorithm>
#include <memory>
#include <utility>

#include "reconciler/engine/fleet.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// One driver of one device: what it said. Shared with the worker, which may outlive the question.
struct Answer {
  std::optional<Result<Observation>> result;
};

Observation nothing_read(const std::string& device, const Traits& traits, const Error& why) {
  Observation none;
  none.device = device;
  for (const RowId row : traits.reads) none.unread.push_back({row, {}, why});
  return none;
}

// Asks every driver, again where the error may pass by itself.
class Round {
 public:
  Round(const Fleet& fleet, Executor& executor, const ObserveOptions& options, std::stop_token stop)
      : fleet_(fleet), executor_(executor), options_(options), stop_(std::move(stop)) {}

  std::vector<DeviceState> run() {
    parts_.resize(fleet_.size());
    errors_.resize(fleet_.size());
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      if (!wanted(i)) continue;
      parts_[i].resize(fleet_[i].drivers.size());
      for (std::size_t d = 0; d < fleet_[i].drivers.size(); ++d) ask(i, d, 1);
    }
    while (open_ > 0 && executor_.step())
      if (stop_.stop_requested()) cancel_all();
    std::vector<DeviceState> states(fleet_.size());
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      states[i].device = fleet_[i].name;
      if (wanted(i))
        states[i] = compare(fleet_[i], fleet_.carriers(i), std::move(parts_[i]), std::move(errors_[i]));
    }
    return states;
  }

 private:
  bool wanted(std::size_t device) const {
    return options_.only.empty() ||
           std::find(options_.only.begin(), options_.only.end(), device) != options_.only.end();
  }

  void ask(std::size_t device, std::size_t driver, int attempt) {
    ++open_;
    auto answer = std::make_shared<Answer>();
    Driver* const asked = fleet_[device].drivers[driver]->driver.get();
    jobs_.push_back(executor_.start(
        Job{.key = fleet_[device].name,
            .lane = fleet_[device].lane,
            .deadline = executor_.now() + options_.timeout,
            .run = [answer, asked](const Call& call) { answer->result = asked->observe({}, "", call); },
            .done = [this, answer, device, driver,
                     attempt](Outcome outcome) { answered(device, driver, attempt, *answer, outcome); }}));
  }

  void answered(std::size_t device, std::size_t driver, int attempt, Answer& answer, Outcome outcome) {
    --open_;
    Observation& part = parts_[device][driver];
    if (outcome == Outcome::returned && answer.result && *answer.result) {
      part = **std::move(answer.result);
      return;
    }
    Error why{ErrorKind::transient, fleet_[device].name + ": no answer in time"};
    if (outcome == Outcome::returned && answer.result) why = answer.result->error();
    if (why.kind == ErrorKind::transient && attempt < options_.tries && !stop_.stop_requested()) {
      ask(device, driver, attempt + 1);
      return;
    }
    part = nothing_read(fleet_[device].name, fleet_.carriers(device).traits()[driver], why);
    errors_[device].push_back(std::move(why));
  }

  void cancel_all() {
    if (std::exchange(cancelled_, true)) return;
    for (const std::uint64_t job : jobs_) executor_.cancel(job);
  }

  const Fleet& fleet_;
  Executor& executor_;
  const ObserveOptions& options_;
  std::stop_token stop_;
  std::vector<std::vector<Observation>> parts_;
  std::vector<std::vector<Error>> errors_;
  std::vector<std::uint64_t> jobs_;
  std::size_t open_ = 0;
  bool cancelled_ = false;
};

Observation merged(const std::string& device, std::vector<Observation> parts) {
  if (parts.size() == 1) {
    parts.front().device = device;
    return std::move(parts.front());
  }
  Observation all;
  all.device = device;
  TreeBuilder builder;
  for (Observation& part : parts) {
    for (const Leaf& leaf : part.have.leaves()) builder.add(leaf.path, leaf.value, leaf.origin);
    if (all.boot_id.empty()) all.boot_id = part.boot_id;
    all.when = std::max(all.when, part.when);
    all.revision += (all.revision.empty() ? "" : " ") + part.revision;
    std::move(part.unread.begin(), part.unread.end(), std::back_inserter(all.unread));
    std::move(part.notes.begin(), part.notes.end(), std::back_inserter(all.notes));
  }
  all.have = builder.build();
  return all;
}

void set_apart(ChangeSet& changes, const Carriers& carriers, std::vector<NotApplied>& out) {
  std::erase_if(changes, [&](const Change& change) {
    auto why = carriers.why_not(change.path);
    if (!why) return false;
    out.push_back({change.path, change.want, change.origin, std::move(why->reason), why->by_hand});
    return true;
  });
}

}  // namespace

DeviceState compare(const FleetDevice& device, const Carriers& carriers, std::vector<Observation> parts,
                    std::vector<Error> errors) {
  DeviceState state;
  state.device = device.name;
  state.reachable = parts.empty() || errors.size() < parts.size();
  state.errors = std::move(errors);
  state.observation = merged(device.name, std::move(parts));
  state.difference = diff(*device.intent, state.observation);
  for (const Unread& unread : state.observation.unread)
    for (const Claim& claim : device.intent->claims)
      state.claims_unread = state.claims_unread || claim.collection == unread.row;
  set_apart(state.difference.changes, carriers, state.not_applied);
  set_apart(state.difference.effects, carriers, state.not_applied);
  return state;
}

std::vector<DeviceState> observe(const Fleet& fleet, Executor& executor, const ObserveOptions& options,
                                 std::stop_token stop) {
  return Round(fleet, executor, options, std::move(stop)).run();
}

}  // namespace lockstep
