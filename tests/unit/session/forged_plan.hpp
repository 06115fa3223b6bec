// A plan file whose author can compute digests, and the writes that devices receive from it.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lab.hpp"
#include "reconciler/engine/digest.hpp"
#include "reconciler/session/plan_file.hpp"

namespace lockstep {

inline constexpr const char* kMtu = "interface[rail0]/mtu";
inline constexpr const char* kProbing = "sysctl[net.ipv4.tcp_mtu_probing]";

class ForgedPlan : public Lab {
 protected:
  using Forge = std::function<void(Plan&)>;
  struct Outcome {
    std::string error;  // empty: it was applied, at least in part
    std::string refused;
    std::size_t unapproved = 0;
  };

  // An honest plan, as `lockstep plan --out` writes it.
  void plan_to_file(const std::vector<std::string>& only = {}) {
    open();
    ASSERT_TRUE(session->choose(only));
    const Result<Plan> plan = session->plan(session->observe());
    ASSERT_TRUE(plan) << plan.error().text();
    ASSERT_FALSE(plan->empty());
    const PlanAim aim{.source = {}, .only = "", .cluster = session->cluster().state_name()};
    ASSERT_TRUE(write_plan_file(file(), aim, *plan));
  }
  // With the source of lockstep a forger can compute every digest.
  void forge(const Forge& how) {
    Result<PlanFile> read = read_plan_file(file());
    ASSERT_TRUE(read) << read.error().text();
    how(read->plan);
    read->plan.digest = plan_digest(read->plan);
    ASSERT_TRUE(write_plan_file(file(), read->aim, read->plan));
  }
  // Like `lockstep apply plan.json --yes`.
  Outcome apply_file(const std::vector<std::string>& only = {}) {
    Result<PlanFile> read = read_plan_file(file());
    if (!read) return {read.error().text(), "", 0};
    open();
    if (!only.empty() && !session->choose(only)) return {"no such device", "", 0};
    for (const auto& [name, device] : devices)
      device->seen = [this, name = name](const SimulatedCall& call) {
        if (call.kind != SimulatedCall::Kind::apply) return;
        for (const Change& change : *call.changes)
          asked.insert(name + " " + change.path.text() + " " + change.want.to_string());
      };
    const ApplyRequest request{.command = "test",
                               .author = "ann",
                               .approved = {Hold::Kind::approval, Hold::Kind::budget, Hold::Kind::drain}};
    if (const auto earlier = session->prepare_apply(request); !earlier)
      return {earlier.error().text(), "", 0};
    const CheckedPlan checked = session->still_valid(read->plan, session->observe());
    Outcome out{"", "", checked.unapproved.size()};
    for (const auto& [id, why] : checked.refused) out.refused += std::to_string(id) + ": " + why + "\n";
    if (!checked.plan) return {checked.plan.error().text(), out.refused, out.unapproved};
    const Applied applied = session->apply(*checked.plan, {}, request, {});
    EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept) << to_string(applied.report.verdict);
    return out;
  }
  // The writes of an honest plan file.
  std::set<std::string> honest() {
    std::set<std::string> out;
    const Result<PlanFile> read = read_plan_file(file());
    for (const Step& step : read->plan.steps)
      for (const PlannedChange& change : step.changes)
        out.insert(step.device + " " + change.path.text() + " " + change.want.to_string());
    return out;
  }
  void edit(const std::function<void(nlohmann::json&)>& how) {
    nlohmann::json document = nlohmann::json::parse(std::ifstream(file()));
    how(document);
    std::ofstream(file(), std::ios::trunc) << document.dump(2);
  }
  static Step& step_with(Plan& plan, std::string_view device, std::string_view path) {
    for (Step& step : plan.steps)
      for (const PlannedChange& change : step.changes)
        if (step.device == device && change.path.text() == path) return step;
    throw std::runtime_error("no step of " + std::string(device) + " changes " + std::string(path));
  }
  static PlannedChange& change_of(Plan& plan, std::string_view device, std::string_view path) {
    for (PlannedChange& change : step_with(plan, device, path).changes)
      if (change.path.text() == path) return change;
    throw std::logic_error("not reached");
  }
  // Only writes of the honest plan were made, and none to this device.
  void expect_refused(const Outcome& outcome, const std::set<std::string>& honest, const std::string& device,
                      const std::string& why) {
    EXPECT_NE(outcome.refused.find(why), std::string::npos) << outcome.refused << outcome.error;
    for (const std::string& one : asked) {
      EXPECT_TRUE(honest.contains(one)) << one << " was asked for";
      EXPECT_FALSE(one.starts_with(device + " ")) << one << " was asked for";
    }
  }
  std::string file() const { return folder.path() + "/plan.json"; }

  std::set<std::string> asked;  // of all devices: "gpu1 interface[rail0]/mtu 9000"
};

}  // namespace lockstep
