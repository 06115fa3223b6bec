// One lossless priority or DSCP replaces another at a port: the state between the two halves, and what
// remains when a half fails.
#include "reconciler/engine/replacements.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "cluster.hpp"
#include "reconciler/engine/approved.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/step_order.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

int below(int n) { return *rc::gen::inRange(0, n); }

// The classes of a port, by member.
struct PortSettings {
  std::set<int> pfc;
  std::map<int, int> class_of_priority;  // of all eight priorities
  std::map<int, int> class_of_dscp;
  std::map<int, int> shares;  // by class: either none, or all classes, with a sum of 100
};

std::set<int> classes_of(const PortSettings& port) {
  std::set<int> out;
  for (const auto& [priority, number] : port.class_of_priority) out.insert(number);
  return out;
}

bool is_lossless(const PortSettings& port, int number) {
  bool any = false;
  for (const auto& [priority, its] : port.class_of_priority) {
    if (its == number && !port.pfc.contains(priority)) return false;
    any = any || its == number;
  }
  return any;
}

Tree tree_of(const std::string& port, const PortSettings& settings) {
  Tree out;
  const auto at = [&port](const std::string& part) { return entry("interface[" + port + "]/" + part); };
  const auto texts = [](const auto& numbers) {
    std::vector<std::string> all;
    for (const int one : numbers) all.push_back(std::to_string(one));
    return Value::set(all);
  };
  out.set(at("pfc"), texts(settings.pfc));
  for (const int one : settings.pfc) out.set(at(fmt::format("buffer[{}]/size", one)), number(100'000));
  std::map<int, std::pair<std::vector<int>, std::vector<int>>> members;
  for (const auto& [priority, number] : settings.class_of_priority) members[number].first.push_back(priority);
  for (const auto& [dscp, number] : settings.class_of_dscp) members[number].second.push_back(dscp);
  for (const auto& [number, its] : members) {
    const std::string name = fmt::format("class[{}]", number);
    out.set(at(name), there());
    out.set(at(name + "/priority"), texts(its.first));
    if (!its.second.empty()) out.set(at(name + "/dscp"), texts(its.second));
    if (settings.shares.contains(number))
      out.set(at(name + "/share"), lockstep::number(settings.shares.at(number)));
  }
  return out;
}

// DSCPs 0, 8 ... 56 in classes, some of which have several priorities.
PortSettings random_port() {
  PortSettings out;
  for (int priority = 0; priority < 8; ++priority)
    out.class_of_priority[priority] = below(3) == 0 ? priority : 0;
  out.class_of_priority[0] = 0;
  for (const int number : classes_of(out))
    if (number != 0 && below(2) == 0)
      for (const auto& [priority, its] : out.class_of_priority)
        if (its == number) out.pfc.insert(priority);
  const std::set<int> numbers = classes_of(out);
  for (int dscp = 0; dscp < 64; dscp += 8) {
    const int drawn = below(8);
    out.class_of_dscp[dscp] = numbers.contains(drawn) ? drawn : 0;
  }
  int left = 100;
  for (const int number : numbers)
    left -= out.shares[number] = number == 0 ? 0 : 1 + below(60 / static_cast<int>(numbers.size()));
  out.shares[0] = left;
  return out;
}

std::vector<AtomChange> atom_changes(const Tree& before, const Tree& after) {
  std::vector<AtomChange> out;
  std::set<Path> paths;
  for (const Tree* const tree : {&before, &after})
    for (const Entry& one : tree->entries()) paths.insert(one.path);
  for (const Path path : paths)
    if (before.value(path) != after.value(path))
      out.push_back({path, before.value(path), after.value(path), 0, false});
  return out;
}

Observation seen(const Tree& tree) {
  Observation out;
  out.have = tree;
  return out;
}

// Applies the changes of one half to a tree. Each must find the value that it expects.
void make(const std::vector<AtomChange>& changes, bool removals, Tree& tree) {
  for (const AtomChange& change : changes) {
    if ((change.half == Half::removes) != removals) continue;
    RC_ASSERT(tree.value(change.path) == change.was);
    if (change.want)
      tree.set(change.path, change.want);
    else
      tree.erase(change.path);
  }
}

std::set<int> numbers_in(const Value& list) {
  std::set<int> out;
  if (list.kind() != Value::Kind::list) return out;
  for (const std::string_view one : list.as_list()) out.insert(std::stoi(std::string(one)));
  return out;
}

// Reads the settings back from a tree. A priority or DSCP that is in two classes has -1.
PortSettings settings_of(const std::string& port, const Tree& tree) {
  PortSettings out;
  const auto value = [&](const std::string& part) {
    return tree.value(entry("interface[" + port + "]/" + part));
  };
  out.pfc = numbers_in(value("pfc"));
  for (int number = 0; number < 8; ++number) {
    const std::string name = fmt::format("class[{}]", number);
    if (!value(name)) continue;
    for (const int one : numbers_in(value(name + "/priority")))
      if (!out.class_of_priority.emplace(one, number).second) out.class_of_priority[one] = -1;
    for (const int one : numbers_in(value(name + "/dscp")))
      if (!out.class_of_dscp.emplace(one, number).second) out.class_of_dscp[one] = -1;
    if (const Value share = value(name + "/share")) out.shares[number] = static_cast<int>(share.as_integer());
  }
  return out;
}

void check_between(const PortSettings& before, const PortSettings& now, const PortSettings& after) {
  for (const PortSettings* const one : {&before, &after}) RC_ASSERT(std::ranges::includes(now.pfc, one->pfc));
  int sum = 0;
  for (const auto& [number, share] : now.shares) {
    RC_ASSERT(share > 0);
    sum += share;
  }
  RC_ASSERT(sum == 100);
  for (const bool dscps : {false, true}) {
    const auto of = [dscps](const PortSettings& one) -> const std::map<int, int>& {
      return dscps ? one.class_of_dscp : one.class_of_priority;
    };
    for (const auto& [member, was] : of(before)) {
      const auto at = of(now).find(member);
      RC_ASSERT(at != of(now).end() && at->second >= 0);
      if (is_lossless(before, was)) RC_ASSERT(is_lossless(now, at->second) && at->second == was);
      const int is = of(after).at(member);
      if (is_lossless(after, is)) RC_ASSERT(is_lossless(now, at->second) && at->second == is);
    }
  }
}

// Whether something lossless is added while something lossless is removed.
bool replaces(const PortSettings& before, const PortSettings& after) {
  const auto gains = [](const PortSettings& from, const PortSettings& to) {
    if (!std::ranges::includes(from.pfc, to.pfc)) return true;
    for (const bool dscps : {false, true})
      for (const auto& [member, number] : dscps ? to.class_of_dscp : to.class_of_priority) {
        const auto& was = dscps ? from.class_of_dscp : from.class_of_priority;
        if (is_lossless(to, number) && !is_lossless(from, was.at(member))) return true;
      }
    return false;
  };
  return gains(before, after) && gains(after, before);
}

TEST(Replacements, KeepBothClassesBetweenTheHalves) {
  std::size_t cut = 0;
  EXPECT_TRUE(rc::check([&cut] {
    const PortSettings before = random_port();
    const PortSettings after = random_port();
    const Tree was = tree_of("swp1", before);
    const Tree is = tree_of("swp1", after);
    const std::vector<AtomChange> asked = atom_changes(was, is);
    const Observation observed = seen(was);
    const Replacements made = cut_replacements(&observed, asked, schema_columns());
    Tree tree = was;
    make(made.changes, false, tree);
    const Tree between = tree;
    make(made.changes, true, tree);
    RC_ASSERT(tree.to_string() == is.to_string());
    const bool whole =
        std::ranges::all_of(made.changes, [](const AtomChange& one) { return one.half == Half::none; });
    if (!replaces(before, after)) {
      RC_ASSERT(whole && made.in_one_write.empty() && made.changes.size() == asked.size());
      return;
    }
    const PortSettings now = settings_of("swp1", between);
    for (const PortSettings* const one : {&before, &after})
      RC_ASSERT(std::ranges::includes(now.pfc, one->pfc));
    for (const int priority : now.pfc)
      RC_ASSERT(
          static_cast<bool>(between.value(entry(fmt::format("interface[swp1]/buffer[{}]/size", priority)))));
    if (!made.in_one_write.empty()) return;
    ++cut;
    check_between(before, now, after);
  }));
  EXPECT_GT(cut, 5U);
}

// How a change of `before` is split: "in two", "as it is", or the reason for one write.
std::string why(PortSettings before, const std::function<void(PortSettings&)>& change) {
  PortSettings after = before;
  change(after);
  const Tree was = tree_of("swp1", before);
  const Observation observed = seen(was);
  const Replacements made =
      cut_replacements(&observed, atom_changes(was, tree_of("swp1", after)), schema_columns());
  if (!made.in_one_write.empty()) return made.in_one_write.at("swp1");
  const bool cut =
      std::ranges::any_of(made.changes, [](const AtomChange& one) { return one.half != Half::none; });
  return cut ? "in two" : "as it is";
}

// DSCP 26 in class and priority 3, which are lossless, 48 in class 6, which is not, and all others in class
// 0.
PortSettings usual() {
  PortSettings out;
  out.pfc = {3};
  for (int priority = 0; priority < 8; ++priority)
    out.class_of_priority[priority] = priority == 3 || priority == 6 ? priority : 0;
  for (const int dscp : {0, 26, 34, 48}) out.class_of_dscp[dscp] = dscp == 26 ? 3 : dscp == 48 ? 6 : 0;
  out.shares = {{0, 40}, {3, 55}, {6, 5}};
  return out;
}

void move_to_4(PortSettings& port) {
  port.pfc = {4};
  port.class_of_priority[3] = 0;
  port.class_of_priority[4] = 4;
  port.class_of_dscp[26] = 0;
  port.class_of_dscp[34] = 4;
  port.shares = {{0, 40}, {4, 55}, {6, 5}};
}

TEST(Replacements, SplitWhereBothCanCoexistAndExplainWhereNot) {
  EXPECT_EQ(why(usual(), [](PortSettings& port) { move_to_4(port); }), "in two");
  EXPECT_EQ(why(usual(),
                [](PortSettings& port) {
                  port.class_of_dscp = {{0, 0}, {26, 0}, {34, 3}, {48, 6}};
                }),
            "in two")
      << "another DSCP in the same class";
  EXPECT_EQ(why(usual(), [](PortSettings& port) { port.pfc = {3, 6}; }), "as it is") << "one more";
  EXPECT_EQ(why(usual(), [](PortSettings& port) { port.pfc = {}; }), "as it is") << "one less";
  EXPECT_EQ(why(usual(), [](PortSettings& port) { port.shares = {{0, 50}, {3, 45}, {6, 5}}; }), "as it is");
  EXPECT_EQ(why(usual(),
                [](PortSettings& port) {
                  move_to_4(port);
                  port.class_of_dscp[26] = 4;
                }),
            "DSCP 26 moves from class 3 to class 4, and both are lossless");
  EXPECT_EQ(why(usual(),
                [](PortSettings& port) {
                  port.pfc = {4};
                  port.class_of_priority[3] = 0;
                  port.class_of_priority[4] = 3;
                }),
            "class 3 stays lossless and gets another priority");
  PortSettings narrow = usual();
  narrow.shares = {{0, 94}, {3, 1}, {6, 5}};
  EXPECT_EQ(why(narrow,
                [](PortSettings& port) {
                  move_to_4(port);
                  port.shares = {{0, 94}, {4, 1}, {6, 5}};
                }),
            "classes that go have no share to leave to those that come");
}

TEST(Replacements, OfUnreadClassesSplitOnlyPfcAndItsBuffer) {
  PortSettings after = usual();
  move_to_4(after);
  const Tree was = tree_of("swp1", usual());
  const std::vector<AtomChange> asked = atom_changes(was, tree_of("swp1", after));
  Observation partly = seen(was);
  partly.unread.push_back(
      {row("interface[*]/class[*]/dscp"), {"swp1"}, Error{ErrorKind::transient, "no answer"}});
  for (const Observation* const observed :
       {static_cast<const Observation*>(nullptr), &std::as_const(partly)}) {
    const Replacements made = cut_replacements(observed, asked, schema_columns());
    EXPECT_EQ(made.in_one_write.at("swp1"),
              observed == nullptr ? "its classes were not read" : "its classes could not be read");
    for (const AtomChange& one : made.changes)
      EXPECT_EQ(one.half != Half::none, one.path.text() == "interface[swp1]/pfc" ||
                                            one.path.text() == "interface[swp1]/buffer[3]/size")
          << one.path.text();
  }
}

// gpu1 and gpu2 under leaf0 send in DSCP 26 and should send in 34.
struct Pod {
  Pod() {
    for (const char* const name : {"gpu1", "gpu2"}) cluster.add(name);
    cluster.add("leaf0", "leaf");
    join("gpu1", "rail0", "swp1");
    join("gpu2", "rail0", "swp2");
    for (const char* const host : {"gpu1", "gpu2"}) {
      cluster.devices[host]->set(entry("interface[rail0]/roce-tos"), number(26 << 2));
      cluster.want(host, "interface[rail0]/roce-tos", number(34 << 2));
    }
    cluster.wiring.index();
  }
  void join(const std::string& host, const std::string& port, const std::string& leaf_port) {
    cluster.cable(host, port, "leaf0", leaf_port);
    PortSettings after = usual();
    move_to_4(after);
    for (const auto& [device, at] : {std::pair{host, port}, {std::string("leaf0"), leaf_port}}) {
      const Tree now = tree_of(at, usual());
      const Tree wanted = tree_of(at, after);
      for (const Entry& one : now.entries()) cluster.devices[device]->set(one.path, one.value);
      for (const Entry& one : wanted.entries()) cluster.want(device, one.path.text(), one.value);
      cluster.claim(device, row("interface[*]/class[*]"), {at});
      cluster.claim(device, row("interface[*]/buffer[*]/size"), {at});
    }
  }
  Value at(const std::string& device, const std::string& path) {
    return cluster.devices[device]->truth().value(entry(path));
  }
  std::string lines(const Plan& plan, const ApplyReport& report) {
    std::string out = plan_lines(plan);
    for (const StepResult& one : report.steps)
      out += fmt::format("{} {} {}\n", one.id, to_string(one.state), one.why);
    for (const std::string& note : report.notes) out += note + "\n";
    return out;
  }
  Cluster cluster;
};

TEST(Replacements, Converge) {
  Pod pod;
  const Plan plan = pod.cluster.plan();
  const ApplyReport report = pod.cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << pod.lines(plan, report);
  for (const auto& [device, port] : {std::pair{"gpu1", "rail0"}, {"gpu2", "rail0"}, {"leaf0", "swp1"}})
    EXPECT_EQ(pod.at(device, fmt::format("interface[{}]/pfc", port)), Value::set({"4"}));
  EXPECT_TRUE(pod.cluster.plan().empty()) << plan_lines(pod.cluster.plan());
  EXPECT_EQ(plan_lines(plan).find("in one write"), std::string::npos) << plan_lines(plan);
}

TEST(Replacements, OfASinglePortAreTwoStepsAndSurviveJson) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.devices["gpu1"]->set(entry("interface[rail0]/pfc"), Value::set({"3"}));
  cluster.want("gpu1", "interface[rail0]/pfc", Value::set({"4"}));
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 2U) << plan_lines(plan);
  EXPECT_FALSE(plan.steps[0].removes_replaced);
  EXPECT_EQ(plan.steps[0].changes[0].want, Value::set({"3", "4"}));
  EXPECT_TRUE(plan.steps[1].removes_replaced);
  EXPECT_EQ(plan.steps[1].after, std::vector<std::uint32_t>{1});
  const Result<Plan> read = plan_from_json(to_json(plan));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->steps, plan.steps);
  EXPECT_EQ(cluster.apply_plan(plan).verdict, ApplyVerdict::kept);
  EXPECT_EQ(cluster.devices["gpu1"]->truth().value(entry("interface[rail0]/pfc")), Value::set({"4"}));
}

// For each removing step, all steps before it.
std::map<std::uint32_t, std::set<std::uint32_t>> before_removals(const Plan& plan) {
  std::vector<std::set<std::uint32_t>> before(plan.steps.size() + 1);
  std::map<std::uint32_t, std::set<std::uint32_t>> out;
  for (const Step& step : plan.steps) {
    for (const std::uint32_t one : steps_before(plan, step)) {
      before[step.id].insert(one);
      before[step.id].insert(before[one].begin(), before[one].end());
    }
    if (step.removes_replaced) out[step.id] = before[step.id];
  }
  return out;
}

// The sender may be something that the specs do not mention.
TEST(Replacements, AddEverywhereBeforeRemovingEvenWithoutASenderChange) {
  Pod pod;
  for (const char* const host : {"gpu1", "gpu2"})
    pod.cluster.devices[host]->set(entry("interface[rail0]/roce-tos"), number(34 << 2));
  const Plan plan = pod.cluster.plan();
  std::set<std::uint32_t> adds;
  for (const Step& step : plan.steps)
    if (!step.removes_replaced) adds.insert(step.id);
  const auto before = before_removals(plan);
  for (const auto& [id, those] : before) EXPECT_TRUE(std::ranges::includes(those, adds)) << plan_lines(plan);
  EXPECT_EQ(before.size(), 3U) << plan_lines(plan);
  for (const Step& step : plan.steps) {
    const auto says = [&step](std::string_view what) {
      return std::ranges::any_of(step.notes,
                                 [what](const std::string& one) { return one.starts_with(what); });
    };
    EXPECT_EQ(says("removes what was lossless"), step.removes_replaced) << plan_lines(plan);
    EXPECT_FALSE(step.removes_replaced && says("adds what takes the place")) << plan_lines(plan);
  }
}

// The leaf switch is held only because of its far ends, and approval for these lifts that hold too.
TEST(Replacements, RetriedWithApprovalAddAtBothEndsBeforeRemoving) {
  Pod pod;
  for (const char* const host : {"gpu1", "gpu2"})
    ASSERT_TRUE(pod.cluster.ledger.refuse(
        {{.digest = write_digest(host, entry("interface[rail0]/pfc"), Value::set({"3", "4"})),
          .change = 1,
          .why = "guilty: slower"}}));
  const Plan plan = pod.cluster.plan();
  for (const auto& [id, those] : before_removals(plan)) {
    const Step& removal = plan.steps[id - 1];
    for (const Step& step : plan.steps) {
      if (step.removes_replaced || step.together != removal.together || step.device == removal.device)
        continue;
      EXPECT_TRUE(those.contains(step.id)) << "step " << id << " and " << step.id << plan_lines(plan);
    }
  }
  pod.cluster.options.approved = *parse_approved("gate");
  EXPECT_EQ(pod.cluster.apply_plan(plan).verdict, ApplyVerdict::kept) << plan_lines(plan);
}

// Senders already use the new class, so it stays at both ends, and so does the old one.
TEST(Replacements, FailedRemovalAtOneEndKeepsBothClassesAtBothEnds) {
  for (const std::string refuser : {"gpu1", "leaf0"}) {
    Pod pod;
    SimulatedDevice& device = *pod.cluster.devices[refuser];
    device.seen = [&device](const SimulatedCall& call) {
      const Path pfc = entry(device.truth().value(entry("interface[rail0]/pfc")) ? "interface[rail0]/pfc"
                                                                                 : "interface[swp1]/pfc");
      if (call.kind == SimulatedCall::Kind::apply && device.truth().value(pfc) == Value::set({"3", "4"}))
        device.refuses = {row("interface[*]/pfc")};
    };
    const Plan plan = pod.cluster.plan();
    const ApplyReport report = pod.cluster.apply_plan(plan);
    EXPECT_NE(report.verdict, ApplyVerdict::kept);
    for (const auto& [at, port] : {std::pair{"gpu1", "rail0"}, {"leaf0", "swp1"}}) {
      EXPECT_EQ(pod.at(at, fmt::format("interface[{}]/pfc", port)), Value::set({"3", "4"}))
          << at << "\n"
          << pod.lines(plan, report);
      EXPECT_EQ(pod.at(at, fmt::format("interface[{}]/class[4]/dscp", port)), Value::set({"34"})) << at;
      EXPECT_TRUE(pod.at(at, fmt::format("interface[{}]/buffer[3]/size", port))) << "PFC without headroom";
    }
    EXPECT_EQ(pod.at("gpu1", "interface[rail0]/roce-tos"), number(34 << 2)) << pod.lines(plan, report);
  }
}

// One end replaces, the other already has both and only removes. Neither changes without the other.
TEST(Replacements, FailedRemovalAtAnEndThatOnlyRemovesRollsBackBothEnds) {
  Cluster cluster;
  cluster.add("gpu1");
  cluster.add("leaf0", "leaf");
  cluster.cable("gpu1", "rail0", "leaf0", "swp1");
  cluster.devices["gpu1"]->set(entry("interface[rail0]/pfc"), Value::set({"3"}));
  cluster.devices["leaf0"]->set(entry("interface[swp1]/pfc"), Value::set({"3", "4"}));
  cluster.want("gpu1", "interface[rail0]/pfc", Value::set({"4"}));
  cluster.want("leaf0", "interface[swp1]/pfc", Value::set({"4"}));
  cluster.wiring.index();
  cluster.devices["leaf0"]->refuses = {row("interface[*]/pfc")};
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.steps.size(), 3U) << plan_lines(plan);
  for (const Step& step : plan.steps) EXPECT_EQ(step.together, plan.steps[0].together) << plan_lines(plan);
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_NE(report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(cluster.devices["gpu1"]->truth().value(entry("interface[rail0]/pfc")), Value::set({"3"}));
  EXPECT_EQ(cluster.devices["leaf0"]->truth().value(entry("interface[swp1]/pfc")), Value::set({"3", "4"}));
}

// The new class is refused: nothing was removed, and no host sends in it.
TEST(Replacements, RefusedAdditionKeepsTheOldClass) {
  for (const std::string refuser : {"gpu1", "leaf0"}) {
    Pod pod;
    pod.cluster.devices[refuser]->refuses = {row("interface[*]/pfc")};
    const Plan plan = pod.cluster.plan();
    const ApplyReport report = pod.cluster.apply_plan(plan);
    for (const auto& [at, port] : {std::pair{"gpu1", "rail0"}, {"leaf0", "swp1"}}) {
      EXPECT_EQ(pod.at(at, fmt::format("interface[{}]/pfc", port)), Value::set({"3"}))
          << at << "\n"
          << pod.lines(plan, report);
      EXPECT_EQ(pod.at(at, fmt::format("interface[{}]/class[3]/dscp", port)), Value::set({"26"})) << at;
    }
    EXPECT_EQ(pod.at("gpu1", "interface[rail0]/roce-tos"), number(26 << 2)) << pod.lines(plan, report);
  }
}

}  // namespace
}  // namespace lockstep
