// Ladders where references or the schema leave no valid order.
#include "reconciler/engine/ladders.hpp"

#include "cluster.hpp"
#include "tests/plan_lines.hpp"

namespace lockstep {
namespace {

const char* const kSize = "interface[swp1]/buffer[3]/size";
const char* const kMax = "interface[swp1]/class[3]/ecn-max";

using Rows = std::vector<Row>;

// The rows of the schema, modified by `change`.
Rows rows_with(const std::function<void(Rows&)>& change) {
  Rows all(kSchema.begin(), kSchema.end());
  change(all);
  return all;
}

// A buffer that must follow the threshold that its ladder puts above it.
const Row& contrary_row(RowId id) {
  static const Rows rows = rows_with(
      [](Rows& all) { all[row("interface[*]/buffer[*]/size")].refers_to = "interface[*]/class[*]/ecn-max"; });
  return rows[id];
}

// Each must follow the other.
const Row& endless_row(RowId id) {
  static const Rows rows = rows_with([](Rows& all) {
    all[row("interface[*]/buffer[*]/size")].refers_to = "interface[*]/class[*]/ecn-max";
    all[row("interface[*]/class[*]/ecn-max")].refers_to = "interface[*]/buffer[*]/size";
  });
  return rows[id];
}

// A schema without PFC.
const Row& lossy_row(RowId id) {
  static const Rows rows =
      rows_with([](Rows& all) { all[row("interface[*]/pfc")].pattern = "interface[*]/no-pfc"; });
  return rows[id];
}

Result<Plan> plan_by(Cluster& cluster, const Row& (*rows)(RowId)) {
  const auto states = cluster.observe();
  PlanInput input = input_of(cluster.fleet(), states, cluster.origins, cluster.sources, {});
  input.row = rows;
  return make_plan(input);
}

struct Thresholds {
  Thresholds() {
    cluster.add("leaf0", "leaf");
    cluster.want("leaf0", kSize, number(100'000));
    cluster.want("leaf0", kMax, number(50'000));
  }
  static std::vector<std::string> order(const Plan& plan) {
    std::vector<std::string> out;
    for (const Step& step : plan.steps)
      for (const PlannedChange& change : step.changes) out.push_back(change.path.text());
    return out;
  }
  Cluster cluster;
};

TEST(Ladders, AreDroppedWithANoteWhenReferencesContradictThem) {
  Thresholds two;
  const Result<Plan> as_is = plan_by(two.cluster, nullptr);
  ASSERT_TRUE(as_is);
  EXPECT_EQ(Thresholds::order(*as_is), (std::vector<std::string>{kSize, kMax}));
  const Result<Plan> contrary = plan_by(two.cluster, contrary_row);
  ASSERT_TRUE(contrary) << contrary.error().text();
  EXPECT_EQ(Thresholds::order(*contrary), (std::vector<std::string>{kMax, kSize}));
  EXPECT_NE(plan_lines(*contrary).find("the order of thresholds was given up"), std::string::npos)
      << plan_lines(*contrary);
}

TEST(Ladders, CyclicReferencesHaveNoPlan) {
  Thresholds two;
  const Result<Plan> endless = plan_by(two.cluster, endless_row);
  ASSERT_FALSE(endless) << plan_lines(*endless);
  EXPECT_NE(endless.error().text().find("these changes wait for each other"), std::string::npos);
}

TEST(Ladders, WithoutPfcEveryClassIsLossy) {
  const Columns columns(lossy_row);
  std::vector<AtomChange> changes{{entry("interface[swp1]/class[3]"), Value{}, there(), 0, false}};
  EXPECT_TRUE(order_at_ports(nullptr, changes, columns).edges.empty());
  EXPECT_TRUE(changes[0].lossy);
}

// A lossless class is on the ladder of lossless classes, where PFC comes first.
TEST(Ladders, OnlyTheLossyClassIsOnTheEcnLadder) {
  const auto ladders = [](bool lossy) {
    AtomChange change{entry("interface[swp1]/class[6]"), Value{}, there(), 0, false};
    change.lossy = lossy;
    Atom atom;
    atom.changes = {change};
    std::set<Ladder> out;
    for (const Stage& one : stages_of(atom, PortSide::to_host, schema_columns())) out.insert(one.ladder);
    return out;
  };
  EXPECT_EQ(ladders(true), std::set{Ladder::ecn});
  EXPECT_EQ(ladders(false), std::set{Ladder::lossless});
}

// RFC 3168: the lowest two bits of the ToS byte; 0 is not ECN-capable, whatever the DSCP.
TEST(Ladders, EcnRungIsClimbedWhenTheTosByteBecomesEcnCapable) {
  const RowId tos = row("interface[*]/roce-tos");
  const auto rung = std::ranges::find(kSchema[tos].rungs, Ladder::ecn, &Rung::ladder);
  ASSERT_NE(rung, kSchema[tos].rungs.end());
  for (const int dscp : {0, 26, 48})
    for (const int was : {0, 1, 2, 3})
      for (const int is : {0, 1, 2, 3}) {
        const Way expected = was == 0 && is != 0   ? Way::climbs
                             : was != 0 && is == 0 ? Way::descends
                                                   : Way::none;
        const AtomChange change{Path(tos, {"rail0"}), number(26 << 2 | was), number(dscp << 2 | is), 0,
                                false};
        EXPECT_EQ(way_of(change, *rung), expected) << dscp << ": " << was << " to " << is;
      }
}

}  // namespace
}  // namespace lockstep
