// Hosts on one leaf switch, and one pair for each, measured before a change and after it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>

#include "gate_lab.hpp"

namespace lockstep {

// One pair for each host, with its state before the change, after it, and after the rollback.
class PairOfEachHost final : public Measurer {
 public:
  std::map<std::string, SloState> before;
  std::map<std::string, SloState> after;
  std::map<std::string, SloState> again;
  std::map<std::string, SloState> confirmed_again;  // in the confirming rounds after the rollback
  std::function<void(const GateQuestion&, GateFigure&)> tell = [](const auto&, auto&) {
  };                                           // sets more than the state
  std::vector<std::string> without_benchmark;  // measured after a change
  std::vector<GateQuestion> asked;
  const std::map<std::string, SloState>& states_of(const GateQuestion& question) const {
    if (question.when == GateQuestion::When::before) return before;
    if (question.when == GateQuestion::When::again) return again;
    const bool was_undone = std::ranges::any_of(
        asked, [](const GateQuestion& one) { return one.when == GateQuestion::When::again; });
    return was_undone ? confirmed_again : after;
  }
  Result<GateMeasurement> measure(const GateQuestion& question, const Call&) override {
    asked.push_back(question);
    const auto& states = states_of(question);
    GateMeasurement out;
    std::uint32_t cable = 0;
    for (const char* const host : {"gpu1", "gpu2", "gpu3"}) {
      const bool asks = (question.affected.touches_cable(cable) || question.also.contains(host)) &&
                        !question.pending.touches_cable(cable);
      ++cable;
      if (!asks || (!question.only.empty() && !question.only.contains(host))) continue;
      GateFigure one;
      one.subject = host;
      const auto found = states.find(host);
      one.state = found == states.end() ? SloState::holds : found->second;
      if (one.state != SloState::unknown) one.figure = one.state == SloState::holds ? 1.0 : 0.5;
      tell(question, one);
      out.figures.push_back(one);
    }
    out.selected = out.measured = out.figures.size();
    if (question.when == GateQuestion::When::after) out.without_benchmark = without_benchmark;
    return out;
  }
  bool crosses(const std::string& subject, const BlastRadius& changed) const override {
    return changed.touches_cable(static_cast<std::uint32_t>(subject.back() - '1'));
  }
};

class GateOfPairs : public Gate {
 protected:
  GateOfPairs() { cluster.options.measurer = &pairs; }
  void want_new_mtu(const std::vector<const char*>& hosts) {
    for (const char* const host : hosts) cluster.want(host, kMtu, number(4000));
  }
  PairOfEachHost pairs;
};

}  // namespace lockstep
