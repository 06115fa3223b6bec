#include "reconciler/report/change_lines.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

const std::vector<PlanOrigin> kOrigins{{},
                                       {"roce.yaml", 9, 7, "RoceProfile/lossless", "classes"},
                                       {"fabric.yaml", 16, 5, "Fabric/backend", "rail-table"}};

FoldableChange added(const std::string& path, Value value, std::uint32_t origin = 1) {
  return {*Path::parse(path), Value{}, value, origin};
}
Value there() { return Value::present(); }

std::string text(const std::vector<ChangeLine>& lines) {
  std::string out;
  for (const ChangeLine& one : lines)
    out += one.sign + (" " + one.path) + " | " + one.value + " | " + std::to_string(one.count) + "\n";
  return out;
}
std::string folded(const std::vector<FoldableChange>& changes) {
  return text(change_lines(fold_changes(changes), kOrigins));
}

TEST(ChangeLines, ANewObjectIsOneLineWithItsFields) {
  std::vector<FoldableChange> changes;
  for (const std::string port : {"swp10", "swp9"}) {
    changes.push_back(added("interface[" + port + "]/class[3]", there()));
    changes.push_back(added("interface[" + port + "]/class[3]/share", Value::integer(600)));
    changes.push_back(added("interface[" + port + "]/class[3]/strict", Value::boolean(false)));
  }
  changes.push_back(added("interface[swp9]/class[6]/strict", Value::boolean(true)));
  EXPECT_EQ(folded(changes),
            "+ interface[swp[9-10]]/class[3] | share 60%, strict false | 6\n"
            "+ interface[swp9]/class[6]/strict | true | 1\n")
      << "a field of an object that is there already is a line";
}

TEST(ChangeLines, ARemovedObjectIsOneLineAndAChangedFieldIsItsOwn) {
  const Value share = Value::integer(600);
  EXPECT_EQ(folded({{*Path::parse("interface[swp1]/class[3]"), there(), Value{}, 1},
                    {*Path::parse("interface[swp1]/class[3]/share"), share, Value{}, 1},
                    {*Path::parse("interface[swp1]/class[0]/share"), share, Value::integer(400), 1}}),
            "- interface[swp1]/class[3] |  | 2\n~ interface[swp1]/class[0]/share | 60% → 40% | 1\n");
}

TEST(ChangeLines, KeysAndKernelParametersOfPortsFold) {
  EXPECT_EQ(folded({added("interface[rail0]/offload[gso]", Value::boolean(false)),
                    added("interface[rail0]/offload[tso]", Value::boolean(false)),
                    added("sysctl[net.ipv4.conf.rail1.rp_filter]", Value::text("2")),
                    added("sysctl[net.ipv4.conf.rail0.rp_filter]", Value::text("2")),
                    added("sysctl[net.ipv4.conf.all.rp_filter]", Value::text("2"))}),
            "+ interface[rail0]/offload[gso,tso] | false | 2\n"
            "+ sysctl[net.ipv4.conf.rail[0-1].rp_filter] | 2 | 2\n"
            "+ sysctl[net.ipv4.conf.all.rp_filter] | 2 | 1\n");
}

TEST(ChangeLines, DevicesThatDifferInNumbersAloneShareTheirLines) {
  const auto of = [](const std::string& address, const std::string& gateway) {
    return change_lines(
        fold_changes({added("interface[rail0]/address[" + address + "/31]", there()),
                      added("route[1000:0.0.0.0/0]", Value::set({"via " + gateway + " dev rail0"}), 2)}),
        kOrigins);
  };
  const auto all =
      merged({of("10.64.0.1", "10.64.0.0"), of("10.64.0.11", "10.64.0.10"), of("10.64.0.3", "10.64.0.2")});
  ASSERT_TRUE(all);
  EXPECT_EQ(text(*all),
            "+ interface[rail0]/address[10.64.0.1/31 … 10.64.0.11/31] |  | 3\n"
            "+ route[1000:0.0.0.0/0] | via 10.64.0.0 … 10.64.0.10 dev rail0 | 3\n");
  EXPECT_FALSE(merged({of("10.64.0.1", "10.64.0.0"), {}}));
  EXPECT_FALSE(merged({of("10.64.0.1", "10.64.0.0"), of("10.64.0.1", "fe80::1")}));
}

TEST(ChangeLines, FieldsVaryIndependently) {
  const auto of = [](std::int64_t asn, const std::string& id) {
    return change_lines(
        fold_changes({added("bgp", there()), added("bgp/asn", Value::integer(asn)),
                      added("bgp/router-id", Value::text(id)), added("bgp/max-paths", Value::integer(64))}),
        kOrigins);
  };
  const auto all = merged({of(4200000001, "10.255.0.2"), of(4200000000, "10.255.0.1")});
  ASSERT_TRUE(all);
  EXPECT_EQ(text(*all),
            "+ bgp | asn 4200000000 … 4200000001, router-id 10.255.0.1 … 10.255.0.2, max-paths 64 | 8\n");
}

TEST(ChangeLines, UnfoldedLinesFoldNothing) {
  const std::vector<FoldableChange> changes{added("interface[swp1]/class[3]", there()),
                                            added("interface[swp1]/class[3]/share", Value::integer(600)),
                                            added("interface[swp2]/class[3]", there())};
  EXPECT_EQ(unfolded_lines(changes, kOrigins).size(), 3U);
}

}  // namespace
}  // namespace lockstep
