#include "reconciler/report/table.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

void cut_trailing_blanks(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

// Shrinks text columns, the widest first, until a line fits; each keeps kColumnLeast.
void shrink(std::vector<std::size_t>& widths, const std::vector<bool>& shrinks, std::size_t fits) {
  constexpr std::size_t kColumnLeast = 16;  // chosen: most names are complete
  constexpr std::size_t kBetween = 2;
  const auto total = [&] {
    return std::accumulate(widths.begin(), widths.end(), kBetween * (widths.size() - 1));
  };
  while (total() > fits) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (shrinks[i] && widths[i] > kColumnLeast && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == widths.size()) return;
    --widths[widest];
  }
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

  constexpr std::size_t kPadded = 48;  // chosen: longer text shifts only its own line
  if (!terminal.on_terminal)
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (!columns_[i].right) widths[i] = std::min(widths[i], kPadded);
  if (terminal.on_terminal) {
    const std::size_t columns = static_cast<std::size_t>(terminal.width) -
                                std::min(indent.size(), static_cast<std::size_t>(terminal.width));
    std::vector<bool> shrinks;
    for (const Column& column : columns_) shrinks.push_back(!column.right);
    shrink(widths, shrinks, columns);
  }
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string out(indent);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = i < cells.size() ? cells[i].text() : "";
      if (i > 0) out += "  ";
      if (columns_[i].right)
        out += pad_left(cell, widths[i]);
      else
        out += pad(terminal.on_terminal ? shorten(cell, widths[i]) : cell, widths[i]);
    }
    cut_trailing_blanks(out);
    return out + "\n";
  };

  std::string out = line(titles);
  for (const auto& cells : rows_) out += line(cells);
  return out;
}

std::string Table::rows(const Terminal& terminal, std::string_view indent) const {
  const std::string text = render(terminal, indent);
  return text.substr(text.find('\n') + 1);
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  const std::string number = std::to_string(count) + " ";
  if (count == 1) return number + std::string(one);
  return number + (many.empty() ? std::string(one) + "s" : std::string(many));
}

}  // namespace lockstep
