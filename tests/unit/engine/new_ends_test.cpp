// Hosts that a change adds: no pair ended there before, so a failure there is rolled back only there.
#include "reconciler/engine/new_ends.hpp"

#include "pairs_lab.hpp"

namespace lockstep {
namespace {

// gpu1 exists. gpu2 and gpu3 are added by the change, and so are their ports on the leaf switch.
class NewHosts : public ::testing::Test {
 protected:
  NewHosts() {
    cluster.add("leaf0", "leaf");
    for (const char* const host : {"gpu1", "gpu2", "gpu3"}) {
      cluster.add(host);
      cluster.cable(host, "rail0", "leaf0", std::string("swp") + host[3]);
    }
    come("gpu1");
    cluster.converge();
    cluster.options.measurer = &pairs;
    come("gpu2");
    come("gpu3");
    pairs.before["gpu2"] = pairs.before["gpu3"] = SloState::broken;  // no path to them exists yet
    pairs.tell = [](const GateQuestion& question, GateFigure& one) {
      if (question.when != GateQuestion::When::after && one.state == SloState::broken) one.figure = 0;
    };
  }
  void come(const std::string& host) {
    cluster.want(host, "interface[rail0]/address[10.0.0.1/31]", there());
    cluster.want(host, kMtu, number(9000));
    cluster.want("leaf0", "interface[swp" + host.substr(3) + "]/mtu", number(9000));
    cluster.want("leaf0", "interface[swp" + host.substr(3) + "]/address[10.0.0.0/31]", there());
  }
  bool is_there(const std::string& host) {
    return static_cast<bool>(
        cluster.devices[host]->truth().value(entry("interface[rail0]/address[10.0.0.1/31]")));
  }
  Value leaf_mtu(const std::string& port) {
    return cluster.devices["leaf0"]->truth().value(entry("interface[" + port + "]/mtu"));
  }
  Cluster cluster;
  PairOfEachHost pairs;
};

TEST_F(NewHosts, ThatPassAreKept) {
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << report.gate->why;
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(cluster.ledger.befores.size(), 0u);
}

TEST_F(NewHosts, BrokenOneIsRolledBackAlone) {
  pairs.after["gpu3"] = pairs.again["gpu3"] = pairs.confirmed_again["gpu3"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone_in_part) << report.gate->why;
  EXPECT_EQ(report.guilt(), Guilt::guilty);
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_EQ(report.undone.back().hosts, std::set<std::string>{"gpu3"});
  EXPECT_FALSE(is_there("gpu3"));
  EXPECT_TRUE(is_there("gpu2"));
  // Both ends of the cable are as before, and the other cables are as desired.
  EXPECT_NE(leaf_mtu("swp3"), number(9000));
  EXPECT_EQ(leaf_mtu("swp2"), number(9000));
  EXPECT_EQ(cluster.ledger.outcomes.back(), "undone in part");
  EXPECT_EQ(cluster.ledger.gates[report.change_id], GateState::settled);
}

// The write to the other new host fails.
TEST_F(NewHosts, RolledBackOnesHideNoOtherFailure) {
  pairs.after["gpu3"] = pairs.again["gpu3"] = pairs.confirmed_again["gpu3"] = SloState::broken;
  cluster.devices["gpu2"]->refuses = {row("interface[*]/mtu")};
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone_in_part) << report.gate->why;
  EXPECT_FALSE(is_there("gpu3"));
  EXPECT_EQ(report.exit_code(), 1);
}

// The rollback does not wait for an effect that exists only since the host was added.
TEST_F(NewHosts, TheirEffectsAreNotAwaitedAfterARollback) {
  const Path peer = entry("interface[rail0]/peer");
  cluster.want("gpu3", peer.text(), Value::text("leaf0:swp3"));
  cluster.devices["gpu3"]->effects = [peer](Tree& tree) {
    if (tree.value(entry("interface[rail0]/address[10.0.0.1/31]")))
      tree.set(peer, Value::text("leaf0:swp3"));
    else
      tree.erase(peer);
  };
  pairs.after["gpu3"] = pairs.again["gpu3"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone_in_part);
  EXPECT_TRUE(report.undone.back().whole);
  EXPECT_FALSE(is_there("gpu3"));
}

TEST_F(NewHosts, IncludeEffectsAtTheFarEndsOfTheirCables) {
  const NewEnds ends = new_ends(cluster.plan().steps, cluster.fleet());
  const auto comes = [&](const std::string& device, const char* path) {
    return comes_with(ends, cluster.fleet(), device, entry(path));
  };
  EXPECT_TRUE(comes("gpu3", "interface[rail0]/peer"));
  EXPECT_TRUE(comes("leaf0", "interface[swp3]/peer"));
  EXPECT_FALSE(comes("leaf0", "interface[swp1]/peer"));
  EXPECT_FALSE(comes("gpu1", "interface[rail0]/peer"));
}

// What was rolled back is not written again without approval. The others are as desired.
TEST_F(NewHosts, RolledBackOnesAreHeld) {
  pairs.after["gpu3"] = pairs.again["gpu3"] = SloState::broken;
  cluster.converge();
  pairs.after.clear();
  const Plan plan = cluster.plan();
  ASSERT_FALSE(plan.empty());
  for (const Step& step : plan.steps) {
    EXPECT_TRUE(step.device == "gpu3" || step.device == "leaf0") << step.device;
    EXPECT_FALSE(standing_holds(step, {}).empty()) << step.device;
  }
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_FALSE(is_there("gpu3"));
  EXPECT_EQ(report.exit_code(), 2);
}

TEST_F(NewHosts, AllBrokenOnesAreRolledBack) {
  for (const char* const host : {"gpu2", "gpu3"}) pairs.after[host] = pairs.again[host] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_FALSE(is_there("gpu2"));
  EXPECT_FALSE(is_there("gpu3"));
  EXPECT_TRUE(is_there("gpu1"));
}

TEST_F(NewHosts, WithUnknownVerdictStayPending) {
  pairs.after["gpu3"] = SloState::unknown;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::not_validated);
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_TRUE(report.owes);
  EXPECT_EQ(cluster.ledger.subjects[report.change_id], std::set<std::string>{"gpu3"});
}

// Their pairs do not exist before their wave and say nothing about earlier waves.
TEST_F(NewHosts, OfLaterWavesDoNotFailEarlierGates) {
  cluster.want("gpu1", kMtu, number(4000));
  cluster.want("leaf0", "interface[swp1]/mtu", number(4000));
  Plan plan = cluster.plan();
  for (Step& step : plan.steps)
    if (step.device == "gpu3" || step.device == "gpu2") step.wave = plan.waves() + 1;
  pairs.tell = [this](const GateQuestion&, GateFigure& one) {
    if (is_there(one.subject)) return;
    one.state = SloState::broken;
    one.figure = 0;
  };
  pairs.before.clear();
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << report.gate->why;
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_TRUE(is_there("gpu3"));
}

// Where only their addresses are missing, nothing else excludes their pairs from earlier gates.
TEST_F(NewHosts, OfLaterWavesWithOnlyAddressesMissingDoNotFailEarlierGates) {
  for (const char* const host : {"gpu2", "gpu3"}) {
    cluster.devices[host]->set(entry(kMtu), number(9000));
    cluster.devices["leaf0"]->set(entry(std::string("interface[swp") + host[3] + "]/mtu"), number(9000));
  }
  Plan plan = cluster.plan();
  const std::uint32_t last = plan.waves() + 1;
  for (Step& step : plan.steps)
    if (step.device != "leaf0") step.wave = last;
  pairs.tell = [this](const GateQuestion&, GateFigure& one) {
    if (is_there(one.subject)) return;
    one.state = SloState::broken;
    one.figure = 0;
  };
  const ApplyReport report = cluster.apply_plan(plan);
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << report.gate->why;
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_TRUE(is_there("gpu2"));
}

// Its address was removed by another writer and is restored. What is still broken there was broken before.
TEST_F(NewHosts, RepairedHostIsNotNew) {
  cluster.options.was_written = [](const std::string& device, Path) { return device == "gpu3"; };
  pairs.after["gpu3"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << report.gate->why;
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_TRUE(is_there("gpu3"));
}

// A failure of an existing host rolls back the whole change.
TEST_F(NewHosts, RegressionOfAnExistingHostRollsBackEverything) {
  cluster.want("gpu1", kMtu, number(4000));
  cluster.want("leaf0", "interface[swp1]/mtu", number(4000));
  pairs.after["gpu1"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::undone);
  EXPECT_TRUE(report.undone.back().hosts.empty());
  EXPECT_FALSE(is_there("gpu2"));
}

// The host had addresses of another pool. As slow as before is not broken by the change.
TEST_F(NewHosts, HostReachableBeforeIsNotNew) {
  pairs.tell = [](const GateQuestion&, GateFigure&) {};
  pairs.after["gpu3"] = SloState::broken;
  const ApplyReport report = cluster.converge();
  EXPECT_EQ(report.verdict, ApplyVerdict::kept) << report.gate->why;
  EXPECT_EQ(report.exit_code(), 2);
  EXPECT_TRUE(is_there("gpu3"));
}

// A port that already had one of its addresses was an end before.
TEST_F(NewHosts, PortWithAnAdditionalAddressIsNotNew) {
  cluster.converge();
  cluster.want("gpu2", "interface[rail0]/address[fd00::1/127]", there());
  EXPECT_TRUE(new_ends(cluster.plan().steps, cluster.fleet()).empty());
}

// A pair crosses a cable if its name contains the cable's letter.
class ByName final : public Measurer {
 public:
  Result<GateMeasurement> measure(const GateQuestion&, const Call&) override { return GateMeasurement{}; }
  bool crosses(const std::string& subject, const BlastRadius& changed) const override {
    return std::ranges::any_of(changed.cables, [&](std::uint32_t cable) {
      return subject.find(static_cast<char>('a' + cable)) != subject.npos;
    });
  }
};

TEST(HostsToBlame, AreThoseWithTheMostBrokenPairs) {
  const NewEnds ends{{"A", {{}, {0}}}, {"B", {{}, {1}}}, {"C", {{}, {2}}}, {"D", {{}, {3}}}};
  const ByName measurer;
  const auto of = [&](const std::set<std::string>& broken, const std::vector<std::string>& holding = {}) {
    std::map<std::string, Judged> judged;
    for (const std::string& one : holding) judged[one] = {one, Attribution::holds, "", {}};
    return hosts_to_blame(broken, judged, ends, measurer);
  };
  using Hosts = std::set<std::string>;
  EXPECT_EQ(of({"ad", "bd", "cd"}), (Hosts{"D"}));
  EXPECT_EQ(of({"ad", "bd", "cd", "xc"}), (Hosts{"C", "D"}));
  EXPECT_EQ(of({"ad"}, {"ab", "ac"}), (Hosts{"D"}));  // A's other pairs hold
  EXPECT_EQ(of({"ad"}), (Hosts{"A", "D"}));           // nothing decides
  EXPECT_EQ(of({"xy"}), Hosts{});                     // ends at no new host
  EXPECT_EQ(of({}), Hosts{});
}

}  // namespace
}  // namespace lockstep
