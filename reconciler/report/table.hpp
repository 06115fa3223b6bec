// An aligned text table: columns as wide as their widest cell, numbers right-aligned, two blanks between
// columns. A row is always one line. On a terminal, texts are shortened (`…`) so that a line fits; piped
// output is complete.
#pragma once

#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"

namespace lockstep {

class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };

  // A field, made printable, or text that is already safe to show.
  class Cell {
   public:
    Cell(Shown shown) : text_(std::move(shown)) {}
    Cell(std::string_view text) : text_(printable(text)) {}
    Cell(const std::string& text) : text_(printable(text)) {}
    Cell(const char* text) : text_(printable(text)) {}
    const std::string& text() const { return text_; }

   private:
    std::string text_;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty.
  void add(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Every line begins with `indent` and ends with a newline; trailing blanks are cut.
  std::string render(const Terminal& terminal, std::string_view indent = "") const;
  // The same without the header line.
  std::string rows(const Terminal& terminal, std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "1 step", "2 steps"; `many` for a plural that is not formed with "s".
std::string counted(std::size_t count, std::string_view one, std::string_view many = "");

}  // namespace lockstep
