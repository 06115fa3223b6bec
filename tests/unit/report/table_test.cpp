#include "reconciler/report/table.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Table, AlignsColumnsAndCutsTrailingBlanks) {
  Table table({{"device"}, {"mtu", true}, {"remark"}});
  table.add({"gpu1", "9000"});
  table.add({"leaf10", "68", "small"});
  EXPECT_EQ(table.render(Terminal{}, "  "),
            "  device   mtu  remark\n"
            "  gpu1    9000\n"
            "  leaf10    68  small\n");
}

TEST(Table, CountsCharactersAndNotBytesOrEscapes) {
  Terminal terminal;
  terminal.colour = true;
  EXPECT_EQ(display_width("→ü"), 2U);
  EXPECT_EQ(display_width(terminal.paint(Ink::red, "down")), 4U);
  EXPECT_EQ(pad("→", 3), "→  ");
  EXPECT_EQ(pad_left("12", 4), "  12");
}

TEST(Terminal, PaintsOnlyWithColour) {
  EXPECT_EQ(Terminal{}.paint(Ink::red, "x"), "x");
  Terminal terminal;
  terminal.colour = true;
  EXPECT_EQ(terminal.paint(Ink::red, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(terminal.paint(Ink::red, ""), "");
}

TEST(Counted, AgreesWithItsNumber) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(2, "leaf", "leaves"), "2 leaves");
}

}  // namespace
}  // namespace lockstep
