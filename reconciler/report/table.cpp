#include "reconciler/report/table.hpp"

#include <algorithm>

namespace lockstep {
namespace {

void cut_trailing_blanks(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

}  // namespace

std::string Table::render(const Terminal& terminal, std::string_view indent) const {
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.emplace_back(terminal.paint(Ink::dim, column.title));
  std::vector<std::size_t> widths;
  for (const Cell& title : titles) widths.push_back(display_width(title.text()));
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(cells[i].text()));

  const auto line = [&](const std::vector<Cell>& cells) {
    std::string out(indent);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = i < cells.size() ? cells[i].text() : "";
      if (i > 0) out += "  ";
      out += columns_[i].right ? pad_left(cell, widths[i]) : pad(cell, widths[i]);
    }
    cut_trailing_blanks(out);
    return out + "\n";
  };

  std::string out = line(titles);
  for (const auto& cells : rows_) out += line(cells);
  return out;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  const std::string number = std::to_string(count) + " ";
  if (count == 1) return number + std::string(one);
  return number + (many.empty() ? std::string(one) + "s" : std::string(many));
}

}  // namespace lockstep
