#include "reconciler/report/heat_map.hpp"

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::size_t kCellWidth = 4;   // "100" and a blank
constexpr std::size_t kIndexWidth = 4;  // "999" and a blank

std::string cell_text(const HeatMap& map, const HeatCell& cell, const Terminal& terminal) {
  switch (cell.state) {
    case HeatCell::State::not_measured: return terminal.paint(Ink::dim, pad_left("·", kCellWidth));
    case HeatCell::State::failed: return terminal.paint(Ink::red, pad_left("×", kCellWidth));
    case HeatCell::State::unknown: return terminal.paint(Ink::yellow, pad_left("?", kCellWidth));
    case HeatCell::State::measured: break;
  }
  const Ink ink = cell.share >= map.good ? Ink::green : cell.share >= map.poor ? Ink::yellow : Ink::red;
  return terminal.paint(ink, pad_left(compose("{:.0f}", cell.share * 100), kCellWidth));
}

}  // namespace

std::string render(const HeatMap& map, const Terminal& terminal) {
  std::size_t label = 7;  // "from\to"
  for (const std::string& name : map.names) label = std::max(label, display_width(printable(name)));
  std::string out = terminal.paint(Ink::dim, pad("from\\to", label + kIndexWidth));
  for (std::size_t i = 0; i < map.names.size(); ++i)
    out += terminal.paint(Ink::dim, pad_left(std::to_string(i + 1), kCellWidth));
  out += "\n";
  for (std::size_t from = 0; from < map.names.size(); ++from) {
    out += pad(printable(map.names[from]), label) +
           terminal.paint(Ink::dim, pad_left(std::to_string(from + 1), kIndexWidth));
    for (const HeatCell& cell : map.cells[from]) out += cell_text(map, cell, terminal);
    out += "\n";
  }
  return out;
}

std::string legend_of(const HeatMap& map, const Terminal& terminal) {
  const auto has = [&map](HeatCell::State state) {
    return std::any_of(map.cells.begin(), map.cells.end(), [state](const std::vector<HeatCell>& row) {
      return std::any_of(row.begin(), row.end(), [state](const HeatCell& one) { return one.state == state; });
    });
  };
  std::string text;
  const auto add = [&text](std::string_view words) {
    text += (text.empty() ? "" : "   ") + std::string(words);
  };
  if (has(HeatCell::State::not_measured)) add("· not measured");
  if (has(HeatCell::State::failed)) add("× failed");
  if (has(HeatCell::State::unknown)) add("? unknown");
  return text.empty() ? "" : terminal.paint(Ink::dim, text) + "\n";
}

}  // namespace lockstep
