// The rows of a driver follow from its table, in its order; a line without `write` is read-only.
#include "drivers/mapped/map_table.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kMtu = row("interface[*]/mtu");
constexpr RowId kAdmin = row("interface[*]/admin");
constexpr RowId kCarrier = row("interface[*]/carrier");

void set() {}

struct ByFunction {
  RowId row;
  void (*write)() = nullptr;
};
constexpr ByFunction kTable[] = {{kMtu, set}, {kCarrier}, {kAdmin, set}};
static_assert(has_each_row_once(kTable));
constexpr ByFunction kTwice[] = {{kMtu, set}, {kCarrier}, {kMtu}};
static_assert(!has_each_row_once(kTwice));

struct ByField {
  RowId row;
  std::optional<int> write = std::nullopt;
};
constexpr ByField kFields[] = {{kMtu, 0}, {kCarrier}};

TEST(MapTable, ListsReadAndWrittenRowsInItsOrder) {
  EXPECT_EQ(rows_of(kTable), (std::vector<RowId>{kMtu, kCarrier, kAdmin}));
  EXPECT_EQ(written_rows_of(kTable), (std::vector<RowId>{kMtu, kAdmin}));
  EXPECT_EQ(written_rows_of(kFields), std::vector<RowId>{kMtu}) << "field 0 is a field";
}

TEST(MapTable, AMissingRowHasNoLine) {
  EXPECT_EQ(find_row(kTable, kAdmin), &kTable[2]);
  EXPECT_EQ(find_row(kTable, row("bgp")), nullptr);
  EXPECT_TRUE(wants_any(Scope{{row("bgp"), kCarrier}}, kTable));
  EXPECT_FALSE(wants_any(Scope{{row("bgp")}}, kTable));
  EXPECT_TRUE(wants_any(Scope{}, kTable)) << "all rows";
}

}  // namespace
}  // namespace lockstep
