// Hosts on one leaf switch, and a gate whose answers the test sets.
#pragma once

#include <functional>

#include "cluster.hpp"
#include "tests/told_gate.hpp"

namespace lockstep {

inline constexpr const char* kMtu = "interface[rail0]/mtu";

// Returns the answers that the test sets, and records the questions.
class ToldMeasurer final : public ToldGate {
 public:
  std::function<GateVerdict()> answer = [] { return GateVerdict::pass; };
  std::optional<Error> fault;  // why it can't measure
  std::vector<BlastRadius> asked;
  std::vector<BlastRadius> left_out;
  Result<GateVerdict> tell(const GateQuestion& question) override {
    asked.push_back(question.affected);
    left_out.push_back(question.pending);
    if (fault) return *fault;
    return answer();
  }
};

// Hosts on one leaf switch. Each port carries traffic and should get a new MTU.
class Gate : public ::testing::Test {
 protected:
  Gate() {
    cluster.add("leaf0", "leaf");
    for (const char* const host : {"gpu1", "gpu2", "gpu3"}) {
      cluster.add(host);
      cluster.cable(host, "rail0", "leaf0", std::string("swp") + host[3]);
      cluster.want(host, "interface[rail0]/address[10.0.0.1/31]", there());
      cluster.want(host, kMtu, number(9000));
    }
    cluster.converge();
    cluster.options.measurer = &measurer;
    cluster.ledger = MemoryLedger{};
    before = truth();
  }

  std::string truth() {
    std::string all;
    for (const auto& [name, device] : cluster.devices) all += name + "\n" + device->truth().to_string();
    return all;
  }
  Value mtu(const std::string& host) { return cluster.devices[host]->truth().value(entry(kMtu)); }
  // The first wave has `first` devices, the second all others.
  void in_waves(double first) {
    cluster.policy = Policy{};
    cluster.policy->waves = {{false, first}, {true, 1.0}};
  }
  // A later run, which takes over the pending verdicts.
  ApplyReport next_run() {
    cluster.options.owed = cluster.ledger.owed();
    return cluster.converge();
  }
  // A run that is stopped while it measures.
  ApplyReport stopped_run() {
    std::stop_source stop;
    measurer.answer = [&stop] {
      stop.request_stop();
      return GateVerdict::unknown;
    };
    ApplyReport report = cluster.apply_plan(cluster.plan(), {}, stop.get_token());
    measurer.answer = [] { return GateVerdict::pass; };
    return report;
  }

  Cluster cluster;
  ToldMeasurer measurer;
  std::string before;
};

}  // namespace lockstep
