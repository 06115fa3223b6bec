#include "reconciler/report/heat_map.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(HeatMap, ShowsEveryStateInFiguresWithoutColour) {
  HeatMap map;
  map.names = {"gpu1:rail0", "gpu2:rail0"};
  map.cells = {{{HeatCell::State::not_measured, 0}, {HeatCell::State::measured, 0.957}},
               {{HeatCell::State::failed, 0}, {HeatCell::State::unknown, 0.5}}};
  EXPECT_EQ(render(map, Terminal{}),
            "from\\to          1   2\n"
            "gpu1:rail0   1   ·  96\n"
            "gpu2:rail0   2   ×   ?\n");
  EXPECT_EQ(legend_of(map, Terminal{}), "· not measured   × failed   ? unknown\n");
  map.cells = {{{HeatCell::State::measured, 1}}};
  EXPECT_EQ(legend_of(map, Terminal{}), "");
}

TEST(HeatMap, ColoursByTheBoundsOfTheSlo) {
  Terminal terminal;
  terminal.colour = true;
  HeatMap map;
  map.names = {"a", "b"};
  map.cells = {{{HeatCell::State::measured, 0.95}, {HeatCell::State::measured, 0.8}},
               {{HeatCell::State::measured, 0.1}, {HeatCell::State::not_measured, 0}}};
  const std::string text = render(map, terminal);
  EXPECT_NE(text.find("\x1b[32m  95"), std::string::npos) << "good is green";
  EXPECT_NE(text.find("\x1b[33m  80"), std::string::npos) << "poor is yellow";
  EXPECT_NE(text.find("\x1b[31m  10"), std::string::npos) << "bad is red";
}

}  // namespace
}  // namespace lockstep
