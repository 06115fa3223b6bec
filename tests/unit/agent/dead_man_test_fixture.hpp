// An agent without its server: a DeadMan over simulated devices, in virtual time, that a test kills wherever
// a driver is called.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drivers/sim/simulated_device.hpp"
#include "journal_test_folder.hpp"
#include "reconciler/agent/dead_man.hpp"

namespace lockstep::agent {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

inline Path entry(const std::string& text) { return *Path::parse(text); }
inline Value number(std::int64_t value) { return Value::integer(value); }

// Makes changes one at a time, and stops between two when asked to.
class StoppableDriver final : public Driver, public Remedy, public Passing {
 public:
  explicit StoppableDriver(const std::string& name) : device("gpu1", 1) { device.driver_name = name; }

  Result<Traits> traits(const Call& call) override {
    Result<Traits> out = device.traits(call);
    if (out) out->orders_itself = orders_itself;
    return out;
  }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    if (at) at("observe", call);
    if (dead) return Error{ErrorKind::transient, "killed"};
    if (call.stop.stop_requested()) return Error{ErrorKind::cancelled, "asked to stop"};
    Result<Observation> out = device.observe(scope, if_not, {});
    if (out)
      for (const Path path : unreadable)
        out->unread.push_back({path.row(), {std::string(path.key(0))}, {ErrorKind::transient, "no answer"}});
    return out;
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    applies.push_back(changes);
    for (const Change& one : changes)
      if (forbidden.contains(one.path)) return Error{ErrorKind::denied, one.path.text() + " is forbidden"};
    Receipt out{guard.ticket, {}, {}};
    Guard each = guard;
    TRY(const ChangeSet way_back, this->way_back(changes, {}));
    for (const Change& one : way_back) device.set(one.path, one.was);
    for (const Change& one : changes) {
      if (at) at("write", call);
      if (dead) return Error{ErrorKind::unknown_outcome, "killed"};
      if (call.stop.stop_requested()) {
        out.outcomes.push_back({one.path, Error{ErrorKind::cancelled, "not attempted: asked to stop"}});
        continue;
      }
      TRY(Receipt done, device.apply({one}, each, {}));
      each.revision.clear();
      out.outcomes.push_back(std::move(done.outcomes.at(0)));
      if (stays_on_the_way) out.outcomes.back().error = Error{ErrorKind::unknown_outcome, "a port is down"};
    }
    if (at) at("written", call);
    if (dead) return Error{ErrorKind::unknown_outcome, "killed"};
    for (const Change& one : way_back)
      if (!stays_on_the_way) device.set(one.path, one.want);
    return out;
  }
  Result<ChangeSet> way_back(const ChangeSet& changes, const Call&) override {
    ChangeSet out;
    for (const Path path : on_the_way)
      if (device.truth().value(path) == Value::boolean(true) &&
          std::ranges::none_of(changes, [path](const Change& one) { return one.path == path; }))
        out.push_back({path, Value::boolean(false), Value::boolean(true), 0});
    return out;
  }
  Result<Done> settle(std::string_view, Settlement, const Call&) override {
    return Error{ErrorKind::unsupported, "not armed here"};
  }
  std::optional<Offer> offer(const Change&) const override { return std::nullopt; }
  Result<Done> cure(const ChangeSet&, const Call& call) override {
    if (at) at("cure", call);
    ++cures;
    return Done{};
  }

  SimulatedDevice device;
  std::function<void(const std::string& moment, const Call& call)> at;  // before it happens
  bool orders_itself = false;
  bool stays_on_the_way = false;  // an apply that can't put it back, and says so of all its changes
  std::set<Path> on_the_way;      // set to false by every apply, and back to true at its end
  bool dead = false;              // the agent was killed: nothing happens
  std::set<Path> unreadable;
  std::set<Path> forbidden;  // an apply of one of them is refused as a whole
  std::vector<ChangeSet> applies;
  int cures = 0;
};

class AgentUnderTest {
 public:
  AgentUnderTest() {
    for (const char* const name : {"linux", "frr"}) {
      drivers_[name] = std::make_unique<StoppableDriver>(name);
      attached_[name].remedy = drivers_[name].get();
      attached_[name].passing = drivers_[name].get();
      attached_[name].driver = std::make_unique<Through>(*drivers_[name]);
    }
    start();
  }

  StoppableDriver& linux() { return *drivers_.at("linux"); }
  StoppableDriver& frr() { return *drivers_.at("frr"); }
  DeadMan& dead_man() { return *dead_man_; }
  Value have(const Path path) { return linux().device.truth().value(path); }
  JournalState journal() const { return *parse_journal(text_of_file(journal_file(folder()))); }
  std::string folder() const { return test_.path("journal" + std::to_string(lives_)); }
  std::map<std::string, Attached*> attached() {
    std::map<std::string, Attached*> out;
    for (auto& [name, one] : attached_) out.emplace(name, &one);
    return out;
  }

  // The machine's time, and the loop of the daemon.
  nanoseconds now() const { return now_->load(); }
  void skip(nanoseconds time) { now_->store(now() + time); }  // the loop has not come to it yet
  void pass(nanoseconds time) {
    skip(time);
    dead_man_->keep_time();
  }

  // From now on nothing more that this agent does takes effect, on the device or on disk.
  void kill() {
    if (std::exchange(killed_, true)) return;
    left_ = text_of_file(journal_file(folder()));
    for (auto& [name, one] : drivers_) one->dead = true;
  }
  bool is_killed() const { return killed_; }
  // Killed when it is to call a driver for the nth time from now; -1: it lives on.
  void kill_at(int moment) {
    for (auto& [name, one] : drivers_)
      one->at = [this, moments = std::make_shared<int>(moment)](const std::string&, const Call&) {
        if ((*moments)-- == 0) kill();
      };
  }
  void restart() {
    kill();
    restart(left_);
  }
  void restart(const std::string& journal) {
    dead_man_.reset();
    ++lives_;
    std::filesystem::create_directory(folder());
    write_file(journal_file(folder()), journal);
    for (auto& [name, one] : drivers_) {
      one->dead = false;
      one->at = nullptr;
    }
    killed_ = false;
    start();
  }
  // Another boot: its clock begins anew.
  void reboot() {
    kill();
    for (auto& [name, one] : drivers_) one->device.reboot();
    ++boots_;
    now_->store(seconds(20));
    restart();
  }

  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const std::string& driver = "linux") {
    return dead_man_->apply({driver, changes, guard}, {});
  }
  Result<Done> settle(const std::string& transaction, Settlement settlement, std::uint64_t epoch = 1) {
    return dead_man_->settle({transaction, settlement, epoch}, {});
  }
  Result<Observation> observe(std::uint64_t epoch = 0, const std::string& driver = "linux") {
    return dead_man_->observe({driver, {}, "", epoch}, {});
  }

 private:
  // As Attached owns its driver, and the test reads it.
  class Through final : public Driver {
   public:
    explicit Through(Driver& to) : to_(to) {}
    Result<Traits> traits(const Call& call) override { return to_.traits(call); }
    Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
      return to_.observe(scope, if_not, call);
    }
    Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
      return to_.apply(changes, guard, call);
    }
    Result<Done> settle(std::string_view name, Settlement settlement, const Call& call) override {
      return to_.settle(name, settlement, call);
    }

   private:
    Driver& to_;
  };

  void start() {
    auto journal = AgentJournal::open(folder());
    ASSERT_TRUE(journal) << journal.error().text();
    dead_man_ = std::make_unique<DeadMan>(
        *std::move(journal), attached(),
        Machine{[now = now_] { return now->load(); }, "boot" + std::to_string(boots_)});
    dead_man_->keep_time();
  }

  const TestFolder test_;
  std::shared_ptr<std::atomic<nanoseconds>> now_ = std::make_shared<std::atomic<nanoseconds>>(seconds(1000));
  int boots_ = 1;
  int lives_ = 1;
  bool killed_ = false;
  std::string left_;  // of the journal, when it was killed
  std::map<std::string, std::unique_ptr<StoppableDriver>> drivers_;
  std::map<std::string, Attached> attached_;
  std::unique_ptr<DeadMan> dead_man_;
};

constexpr minutes kUndoAfter{2};

// What the engine plans: the reverse, in reverse order.
inline ChangeSet reverse_of(const ChangeSet& changes) {
  ChangeSet out;
  for (auto one = changes.rbegin(); one != changes.rend(); ++one)
    out.push_back({one->path, one->want, one->was, 0});
  return out;
}

inline Guard armed(const std::string& transaction, const ChangeSet& undo, std::uint64_t epoch = 1) {
  Guard guard;
  guard.ticket = transaction + "-1";
  guard.transaction = transaction;
  guard.undo_after = kUndoAfter;
  guard.undo = undo;
  guard.epoch = epoch;
  return guard;
}

template <class T>
std::string kind_of(const Result<T>& answer) {
  return answer ? "done" : std::string(to_string(answer.error().kind));
}

}  // namespace lockstep::agent
