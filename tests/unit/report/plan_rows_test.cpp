#include "reconciler/report/plan_rows.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

Path path(std::string_view text) { return *Path::parse(text); }

// Two spines and a leaf with the same change on ports with different names, and an address each.
Plan plan() {
  Plan out;
  out.origins = {{"fabric.yaml", 9, 1, "Fabric/backend", "mtu.fabric"},
                 {"fabric.yaml", 14, 1, "Fabric/backend", "mtu.fabric"},
                 {"fabric.yaml", 18, 1, "Fabric/backend", "loopback"}};
  const auto add = [&out](const std::string& device, const std::string& port, std::uint32_t origin,
                          int number) {
    Step step;
    step.device = device;
    step.driver = "linux";
    for (const char* const digit : {"0", "1"})
      step.changes.push_back({Path(row("interface[*]/mtu"), {port + digit}), Value::integer(1500),
                              Value::integer(9216), origin});
    step.changes.push_back(
        {path("interface[lo]/address[10.255.0." + std::to_string(number) + "/32]"), {}, Value::present(), 2});
    out.steps.push_back(std::move(step));
  };
  add("spine0", "down", 0, 3);
  add("spine1", "down", 0, 4);
  add("leaf0", "up", 1, 1);
  return out;
}

std::vector<PlanRow> rows_of(const Plan& plan) {
  std::vector<const Step*> steps;
  for (const Step& step : plan.steps) steps.push_back(&step);
  return plan_rows(plan, steps);
}

TEST(PlanRows, AKindOfChangeIsOneRowWithAllItsPorts) {
  const std::vector<PlanRow> rows = rows_of(plan());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].entry, "interface[*]/address[10.255.0.1/32 … 10.255.0.4/32]");
  EXPECT_EQ(rows[0].where, "leaf0,spine[0-1]:lo");
  EXPECT_EQ(rows[1].entry, "interface[*]/mtu");
  EXPECT_EQ(rows[1].value, "1500 → 9216");
  EXPECT_EQ(rows[1].where, "leaf0:up[0-1], spine[0-1]:down[0-1]");
  EXPECT_EQ(rows[1].origin, "fabric.yaml:9,14 mtu.fabric");
  EXPECT_TRUE(
      rows_text(rows, "", Terminal{})
          .ends_with("1500 → 9216  leaf0:up[0-1], spine[0-1]:down[0-1]  fabric.yaml:9,14 mtu.fabric\n"));
}

TEST(PlanRows, EachChangeIsInExactlyOneRow) {
  const Plan all = plan();
  std::size_t count = 0;
  for (const PlanRow& row : rows_of(all)) count += row.count;
  EXPECT_EQ(count, all.changes());
}

// The digits of an address family, or in the middle of a name, are not numbers that vary within a row.
TEST(PlanRows, OnlyNumbersAndPortsVaryWithinARow) {
  Plan all;
  all.origins = {{"hosts.yaml", 3, 1, "HostProfile/x", "sysctl"}};
  Step step;
  step.device = "gpu1";
  for (const char* const name : {"net.ipv4.fib_multipath_hash_policy", "net.ipv6.fib_multipath_hash_policy"})
    step.changes.push_back({Path(row("sysctl[*]"), {name}), Value::text("0"), Value::text("3"), 0});
  all.steps.push_back(std::move(step));
  EXPECT_EQ(rows_of(all).size(), 2U);
}

TEST(Shorten, KeepsBothEndsAndColours) {
  EXPECT_EQ(shorten("interface", 20), "interface");
  EXPECT_EQ(shorten("0123456789", 5), "01…89");
  EXPECT_EQ(shorten("\x1b[31m0123456789\x1b[0m", 5), "\x1b[31m01…89\x1b[0m");
  EXPECT_EQ(display_width(shorten("1500 → 9216 and more", 9)), 9U);
}

}  // namespace
}  // namespace lockstep
