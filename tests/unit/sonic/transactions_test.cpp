#include "drivers/sonic/transactions.hpp"

#include <gtest/gtest.h>

namespace lockstep::sonic {
namespace {

std::vector<std::size_t> sizes(const std::vector<ConfigMove>& moves, const ConfigDb& from) {
  std::vector<std::size_t> out;
  for (const auto& rows : transactions_of(moves, from)) out.push_back(rows.size());
  return out;
}

TEST(Transactions, AreAsFewAsTheOrderAllows) {
  const ConfigRow up{{"admin_status", "up"}};
  const ConfigRow down{{"admin_status", "down"}};
  ConfigDb from;
  from.tables["PORT"]["Ethernet0"] = up;
  const ConfigMove map{"DSCP_TO_TC_MAP", "A", ConfigRow{{"3", "3"}}};
  const ConfigMove other{"DSCP_TO_TC_MAP", "B", ConfigRow{{"3", "3"}}};
  EXPECT_EQ(sizes({}, from), std::vector<std::size_t>{});
  EXPECT_EQ(sizes({map, other}, from), std::vector<std::size_t>{2});
  // A row that moves twice.
  EXPECT_EQ(sizes({map, other, map}, from), (std::vector<std::size_t>{2, 1}));
  // What needs the port to be down has a transaction between.
  const std::vector<ConfigMove> lowered{map, {"PORT", "Ethernet0", down}, other, {"PORT", "Ethernet0", up}};
  EXPECT_EQ(sizes(lowered, from), (std::vector<std::size_t>{1, 1, 1, 1}));
  // A port that keeps its state does not.
  EXPECT_EQ(sizes({map, {"PORT", "Ethernet0", ConfigRow{{"admin_status", "up"}, {"mtu", "9000"}}}}, from),
            std::vector<std::size_t>{2});
}

// Subscribers of two rows read them in an order of their own.
TEST(Transactions, AnAddressLeavesOneInterfaceBeforeItComesToAnother) {
  ConfigDb from;
  from.tables["INTERFACE"]["Ethernet4|FC00::1/64"] = {};
  EXPECT_EQ(sizes({{"INTERFACE", "Ethernet4|FC00::1/64", std::nullopt},
                   {"INTERFACE", "Ethernet0|fc00::1/64", ConfigRow{}}},
                  from),
            (std::vector<std::size_t>{1, 1}));
}

TEST(Transactions, CarryWhatEachRowWas) {
  const ConfigMove first{"VLAN", "Vlan1", ConfigRow{{"vlanid", "1"}}};
  const ConfigMove then{"VLAN", "Vlan1", std::nullopt};
  const auto all = transactions_of({first, then}, {});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0][0].was);
  EXPECT_EQ(all[1][0].was, first.row);
  EXPECT_FALSE(all[1][0].want);
}

}  // namespace
}  // namespace lockstep::sonic
