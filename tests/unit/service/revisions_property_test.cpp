// Random histories: every decision is compared with the plain rules, and where events stop, a small world
// ends as the specs want it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "damaged_document.hpp"
#include "plain_revisions.hpp"

namespace lockstep {
namespace {

using Steps = std::set<std::string>;

constexpr WallTime kNow{std::chrono::hours(500'000)};

Steps any_of(const Steps& all) {
  Steps out;
  for (const std::string& one : all)
    if (*rc::gen::inRange(0, 2) == 0) out.insert(one);
  return out;
}

// Sources 0 and 1 are compiled otherwise by each version, 2 and 3 to the same (a change of a comment), the
// others always alike; 4 depends on an inventory beside it too.
RevisionId compiled(int source, int version, bool inventory = false) {
  const std::string name = "commit" + std::to_string(source);
  if (source == 2 || source == 3) return {name, "sha256:same"};
  return {name, "sha256:" + name + (source < 2 ? "-by-" + std::to_string(version) : "") +
                    (source == 4 && inventory ? "-more" : "")};
}

Revisions restarted(const Revisions& revisions) {
  auto read = Revisions::from_json(nlohmann::json::parse(revisions.to_json().dump()));
  RC_ASSERT(static_cast<bool>(read));
  RC_ASSERT(read->to_json() == revisions.to_json());
  return *std::move(read);
}

// What people, git and gates may do to the service, done to both.
class PlayedHistory {
 public:
  void event() {
    now_ += std::chrono::minutes(1);
    switch (*rc::gen::weightedElement<int>(
        {{4, 0}, {1, 1}, {1, 2}, {8, 3}, {8, 4}, {3, 5}, {1, 6}, {4, 7}, {1, 8}})) {
      case 0: return fetch(*rc::gen::inRange(0, 7));
      case 1: return real_.invalid("commit9", "fabric.yaml:9:3: wrong", now_);
      case 2: version_ = *rc::gen::inRange(1, 4); return fetch(source_);
      case 3: return take_turn();
      case 4: return end_of_run();
      case 5: return approve();
      case 6: return reject();
      case 7: real_ = restarted(real_); return;
      default: return fetch(source_);
    }
  }
  void check() const {
    RC_ASSERT(real_.next() == plain_.next());
    RC_ASSERT(real_.last_good() == plain_.last_good());
    const auto running = real_.running();
    RC_ASSERT((running ? std::optional(running->revision) : std::nullopt) == plain_.running());
    const auto shown = real_.shown();
    const std::vector<RevisionId> all = plain_.newest_first();
    RC_ASSERT(shown.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Revisions::Shown& one = shown[i];
      RC_ASSERT(one.revision == all[i]);
      RC_ASSERT(one.waits == plain_.open(all[i]));
      RC_ASSERT((one.state == RevisionState::refused) == plain_.is_refused(all[i]));
      RC_ASSERT((one.state == RevisionState::rejected) == plain_.is_rejected(all[i]));
      RC_ASSERT((one.state == RevisionState::running) == (plain_.running() == all[i]));
      const bool is_goal = plain_.goal() == all[i];
      RC_ASSERT((is_goal || (one.state != RevisionState::pending && one.state != RevisionState::waiting)));
      RC_ASSERT(!is_goal || one.state != RevisionState::superseded);
      RC_ASSERT(one.state != RevisionState::waiting || !one.waits.empty());
      RC_ASSERT(one.since <= now_);
    }
  }

 private:
  void fetch(int source) {
    source_ = source;
    const std::string version = std::to_string(version_);
    const RevisionId id = compiled(source, version_, *rc::gen::arbitrary<bool>());
    real_.valid(id, version, now_);
    plain_.valid(id, version);
    RC_ASSERT(!real_.bad());
  }
  PlannedSteps any_plan() {
    const Steps all{"a", "b", "c", "d", "e"};
    PlannedSteps out{any_of(all), any_of(any_of(all)), *rc::gen::inRange(0, 4) > 0};
    return out;
  }
  // Plans what is to be gone for, or, as a resync does, what waits; and begins it.
  void take_turn() {
    auto to = real_.next();
    for (const Revisions::Shown& one : real_.shown())
      if (one.state == RevisionState::waiting) to = one.revision;
    if (*rc::gen::inRange(0, 20) == 0) to = compiled(*rc::gen::inRange(0, 8), version_);  // too late
    const auto running = real_.running();
    const auto shown = real_.shown();
    const bool kept = std::ranges::any_of(shown, [&](const Revisions::Shown& one) {
      return one.revision == to && one.state == RevisionState::kept;
    });
    if (!to || running || kept) return;
    const PlannedSteps plan = any_plan();
    const Steps may_run = real_.planned(*to, plan, now_);
    RC_ASSERT(may_run == plain_.planned(*to, plan));
    if (real_.next() != to || (may_run.empty() && !plan.steps.empty())) return;
    real_.began(*to, now_);
    plain_.began(*to);
    may_run_ = may_run;
  }
  void end_of_run() {
    if (!real_.running()) return;
    switch (*rc::gen::inRange(0, 5)) {
      case 0: real_.kept(now_); return plain_.kept();
      case 1: {
        const Steps steps = any_of(may_run_);
        real_.refused(steps, "broken", now_);
        return plain_.refused(steps);
      }
      case 2: real_.failed("unreachable", now_); return plain_.failed();
      default: RC_ASSERT(real_.goes_on(now_) == plain_.goes_on());
    }
  }
  RevisionId any_known() const {
    const auto shown = real_.shown();
    if (shown.empty() || *rc::gen::inRange(0, 10) == 0) return compiled(0, 9);
    for (const Revisions::Shown& one : shown)
      if (!one.waits.empty() && *rc::gen::inRange(0, 3) > 0) return one.revision;
    return shown[*rc::gen::inRange<std::size_t>(0, shown.size())].revision;
  }
  void approve() {
    const RevisionId id = any_known();
    const Steps steps = any_of({"a", "b", "c", "d", "e", "never"});
    const auto done = real_.approve({id, steps, {"ann", "", now_}});
    if (!done) RC_ASSERT(done.error().kind == ErrorKind::conflict);
    RC_ASSERT(static_cast<bool>(done) == plain_.approve(id, steps));
  }
  void reject() {
    const RevisionId id = any_known();
    const auto done = real_.reject(id, {"ann", "", now_});
    if (!done) RC_ASSERT(done.error().kind == ErrorKind::conflict);
    RC_ASSERT(static_cast<bool>(done) == plain_.reject(id));
  }

  Revisions real_;
  PlainRevisions plain_;
  WallTime now_ = kNow;
  int source_ = 0;
  int version_ = 1;
  Steps may_run_;
};

RC_GTEST_PROP(RevisionsProperty, DecideAsThePlainRulesAlsoAfterRestarts, ()) {
  for (int histories = 0; histories < 5; ++histories) {
    PlayedHistory history;
    for (int left = *rc::gen::inRange(0, 80); left > 0; --left) {
      history.event();
      history.check();
    }
  }
}

// Three settings whose values the specs choose; a gate that refuses some values wherever they are written.
class World {
 public:
  using Values = std::map<char, int>;
  static Values wanted(const RevisionId& id) {
    const std::size_t hash = std::hash<std::string>()(id.intents);
    return {{'a', static_cast<int>(hash % 4)},
            {'b', static_cast<int>(hash / 4 % 4)},
            {'c', static_cast<int>(hash / 16 % 4)}};
  }
  static std::string step(char name, int value) { return name + std::to_string(value); }

  World() : broken_(any_of(some_steps())), held_(any_of(any_of(some_steps()))) {}
  void event() {
    now_ += std::chrono::minutes(1);
    refused_since_.clear();
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
      case 1: return fetch();
      case 2: return answer();
      case 3: revisions_ = restarted(revisions_); return;
      default: turn(*rc::gen::inRange(0, 4) == 0);
    }
  }
  // False: there was nothing to do. The run is whole: a loop of turns without events ends all runs.
  bool turn(bool cut_short) {
    if (!revisions_.running() && !begin()) return false;
    const RevisionId id = revisions_.running()->revision;
    if (cut_short && *rc::gen::arbitrary<bool>()) {
      write(id, true);
      revisions_.failed("unreachable", now_);
      return true;
    }
    if (cut_short) {
      write(id, true);
      revisions_.goes_on(now_);
      return true;
    }
    Steps bad;
    for (const std::string& one : may_run_)
      if (broken_.contains(one)) bad.insert(one);
    if (!bad.empty()) {
      ++refusals_[id];
      for (const std::string& one : bad) ++refused_since_[one];
      revisions_.refused(bad, "bandwidth fell", now_);
      actual_ = before_;
      return true;
    }
    write(id, false);
    revisions_.kept(now_);
    return true;
  }
  void check_rest() const {
    RC_ASSERT(!revisions_.running());
    RC_ASSERT(!revisions_.next());
    for (const auto& [step, times] : refused_since_) RC_ASSERT(times == 1);
    if (!approved_)
      for (const auto& [id, times] : refusals_) RC_ASSERT(times == 1);
    const auto shown = revisions_.shown();
    const auto goal = std::ranges::find_if(shown, [](const Revisions::Shown& one) {
      return one.state != RevisionState::refused && one.state != RevisionState::rejected;
    });
    if (goal == shown.end()) return;
    RC_ASSERT((goal->state == RevisionState::kept || goal->state == RevisionState::waiting));
    for (const auto& [name, value] : wanted(goal->revision))
      RC_ASSERT(actual_.at(name) == value || goal->waits.contains(step(name, value)));
  }
  std::size_t known() const { return revisions_.shown().size(); }

 private:
  static Steps some_steps() {
    Steps out;
    for (const char name : {'a', 'b', 'c'})
      for (int value = 0; value < 4; ++value) out.insert(step(name, value));
    return out;
  }
  void fetch() {
    if (*rc::gen::inRange(0, 6) == 0) version_ = *rc::gen::inRange(1, 4);
    revisions_.valid(compiled(*rc::gen::inRange(0, 9), version_), std::to_string(version_), now_);
  }
  void answer() {
    for (const Revisions::Shown& one : revisions_.shown()) {
      if (one.waits.empty() || *rc::gen::arbitrary<bool>()) continue;
      if (*rc::gen::inRange(0, 4) == 0)
        static_cast<void>(static_cast<bool>(revisions_.reject(one.revision, {"ann", "", now_})));
      else
        approved_ |=
            static_cast<bool>(revisions_.approve({one.revision, any_of(one.waits), {"ann", "", now_}}));
      return;
    }
  }
  bool begin() {
    const auto to = revisions_.next();
    if (!to) return false;
    PlannedSteps plan;
    for (const auto& [name, value] : wanted(*to))
      if (actual_[name] != value) plan.steps.insert(step(name, value));
    plan.held = held_;
    may_run_ = revisions_.planned(*to, plan, now_);
    if (may_run_.empty() && !plan.steps.empty()) {
      RC_ASSERT(!revisions_.next());
      return false;
    }
    RC_ASSERT(revisions_.next() == to);
    revisions_.began(*to, now_);
    before_ = actual_;
    return true;
  }
  // What may run and works.
  void write(const RevisionId& id, bool only_some) {
    for (const auto& [name, value] : wanted(id)) {
      const std::string one = step(name, value);
      if (!may_run_.contains(one) || (only_some && broken_.contains(one))) continue;
      if (!only_some || *rc::gen::arbitrary<bool>()) actual_[name] = value;
    }
  }

  Revisions revisions_;
  Values actual_{{'a', 0}, {'b', 0}, {'c', 0}};
  Values before_;
  Steps may_run_;
  const Steps broken_;
  const Steps held_;
  std::map<RevisionId, int> refusals_;
  std::map<std::string, int> refused_since_;  // the last event
  bool approved_ = false;
  WallTime now_ = kNow;
  int version_ = 1;
};

// Each revision is refused at most once more, and after each refusal one may be kept.
void check_that_it_comes_to_rest(World& world) {
  std::size_t turns = 0;
  while (world.turn(false)) RC_ASSERT(++turns <= 2 * world.known() + 2);
  world.check_rest();
  RC_ASSERT(!world.turn(false));
}

RC_GTEST_PROP(RevisionsProperty, LeadToTheGoalAndStaySilentWhenEventsStop, ()) {
  for (int worlds = 0; worlds < 5; ++worlds) {
    World world;
    for (int left = *rc::gen::inRange(0, 60); left > 0; --left) world.event();
    check_that_it_comes_to_rest(world);
  }
}

Revisions any_revisions() {
  Revisions out;
  WallTime now = kNow;
  for (int left = *rc::gen::inRange(1, 6); left > 0; --left) {
    now += std::chrono::minutes(1);
    out.valid(compiled(*rc::gen::inRange(0, 5), left % 2), std::to_string(left % 2), now);
    if (const auto to = out.next()) {
      out.planned(*to, {any_of({"a", "b", "c"}), any_of({"a", "b"}), true}, now);
      if (out.next() == to) out.began(*to, now);
    }
    if (!out.running()) continue;
    if (*rc::gen::arbitrary<bool>())
      out.refused({"a"}, "bandwidth fell", now);
    else if (*rc::gen::arbitrary<bool>())
      out.kept(now);
  }
  if (*rc::gen::arbitrary<bool>()) out.invalid("commit9", "wrong", now);
  return out;
}

RC_GTEST_PROP(RevisionsProperty, AreReadFromADamagedDocumentOrNotAtAll, ()) {
  const auto document = damaged_document(any_revisions().to_json());
  auto read = Revisions::from_json(document);
  if (!read) {
    RC_ASSERT(read.error().kind == ErrorKind::invalid_spec);
    return;
  }
  RC_ASSERT(read->shown().size() <= Revisions::kShownMax);
  // Whatever was read serves as any other: nothing crashes, and a new revision is gone for.
  static_cast<void>(read->to_json().dump());
  if (read->running()) {
    read->goes_on(kNow);
    if (read->running()) read->kept(kNow);
  }
  for (const Revisions::Shown& one : read->shown()) {
    static_cast<void>(static_cast<bool>(read->approve({one.revision, one.waits, {"ann", "", kNow}})));
    static_cast<void>(static_cast<bool>(read->reject(one.revision, {"ann", "", kNow})));
  }
  read->valid({"new", "sha256:new"}, "9", kNow);
  RC_ASSERT(read->next() == (RevisionId{"new", "sha256:new"}));
  read->planned({"new", "sha256:new"}, {}, kNow);
  read->began({"new", "sha256:new"}, kNow);
  read->kept(kNow);
  RC_ASSERT(read->last_good() == (RevisionId{"new", "sha256:new"}));
}

TEST(RevisionsDocument, IsRefusedWhereItContradictsItself) {
  Revisions revisions;
  for (const std::string source : {"a", "b", "c"}) revisions.valid({source, "i"}, "1", kNow);
  revisions.lost({"c", "i"}, kNow);
  const nlohmann::json good = revisions.to_json();
  ASSERT_TRUE(Revisions::from_json(good));
  const auto refuses = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    const auto read = Revisions::from_json(bad);
    ASSERT_FALSE(read) << bad.dump(2);
    EXPECT_EQ(read.error().kind, ErrorKind::invalid_spec);
  };
  refuses("/revisions/1/source", "b");  // twice
  refuses("/revisions/1/state", "lost");
  refuses("/revisions/1/since", -1);
  refuses("/revisions/1/kept", -1);
  refuses("/revisions/1/kept", std::uint64_t{1} << 63U);
  refuses("/superseded", 3);
  refuses("/lost", 5);
  refuses("/lost/0/source", 5);
  refuses("/lost/0/former", 5);
  refuses("/refusals", nlohmann::json::object());
  refuses("/invalid", 5);
  for (const auto& [field, value] : good["revisions"][1].items()) {
    refuses(("/revisions/1/" + field).c_str(), 0.5);
    nlohmann::json without = good;
    without["revisions"][1].erase(field);
    EXPECT_FALSE(Revisions::from_json(without)) << field;
  }
  nlohmann::json two = good;
  for (auto& one : two["revisions"]) one["state"] = "running";
  EXPECT_FALSE(Revisions::from_json(two));
  two = good;
  for (auto& one : two["revisions"]) one["reached"] = true;
  EXPECT_FALSE(Revisions::from_json(two));
  two = good;
  for (std::size_t i = 0; i < Revisions::kShownMax; ++i) {
    two["revisions"].push_back(good["revisions"][0]);
    two["revisions"].back()["source"] = std::to_string(i);
  }
  EXPECT_FALSE(Revisions::from_json(two));
  for (const char* const other : {"null", "[]", "{}", "5", R"({"revisions": []})"})
    EXPECT_FALSE(Revisions::from_json(nlohmann::json::parse(other))) << other;
}

}  // namespace
}  // namespace lockstep
