// The content of plan files without the digest: whoever forges a plan file can compute its digest.
#include "reconciler/engine/plan.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/engine/earlier_plan.hpp"
#include "specs/model/bounded_json.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {

void parse_plan(std::string_view input) {
  JsonBounds bounds;
  bounds.values = 100'000;  // chosen so that a fuzzer can read many inputs a second
  const Result<nlohmann::json> document = parse_bounded_json(input, bounds);
  if (!document) return;
  const Result<Plan> plan = plan_from_json(*document);
  if (!plan) return;
  const nlohmann::json written = to_json(*plan);
  const Result<Plan> again = plan_from_json(written);
  must(again && to_json(*again) == written, "what is read, written and read again is the same");
  // Only steps that are also in the plan that is made now may run.
  const ApprovedPart of_nothing = approved_part(*plan, Plan{}, {});
  must(of_nothing.plan.steps.empty(), "a plan file adds no step");
  must(of_nothing.refused.size() == plan->steps.size(), "each of its steps is refused");
  (void)approved_part(*plan, *plan, {});
}

std::vector<std::string> seeds_of_plan() {
  Plan plan;
  plan.origins.push_back({"fabric.yaml", 3, 7, "Fabric/backend", "mtu"});
  Step step;
  step.id = 1;
  step.device = "gpu1";
  step.driver = "linux";
  step.changes = {
      {*Path::parse("interface[rail0]/mtu"), Value::integer(1500), Value::integer(9000), 1, false},
      {*Path::parse("sysctl[net.core.rmem_max]"), Value::text("1"), Value::text("2"), 0, true}};
  step.holds = {{Hold::Kind::window, "the window opens at 09:00"}};
  step.notes = {"carries traffic"};
  step.live = true;
  step.disruption = Disruption::traffic;
  plan.steps.push_back(step);
  step.id = 2;
  step.after = {1};
  step.together = 1;
  step.remedy = "reinstall-multipath";
  step.wave = 2;
  step.undo_after = std::chrono::seconds(30);
  plan.steps.push_back(step);
  step.id = 3;
  step.after.clear();
  step.after_barriers = {1};
  plan.steps.push_back(step);
  plan.barriers = {{{1, 2}}};
  plan.devices = {
      {"gpu1", "sha256:00", "boot", {{*Path::parse("interface[rail0]/mtu"), Value::integer(1500)}}}};
  plan.refusals = {"3 of 4 devices would go"};
  plan.ungated = {1};
  return {to_json(plan).dump(), to_json(Plan{}).dump()};
}

}  // namespace lockstep::fuzzing
