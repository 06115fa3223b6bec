// An aligned text table: columns as wide as their widest cell, numbers to the right, two blanks between.
// Whatever is in a cell, a row is one line.
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

  // A field, made printable, or what is fit to be shown already.
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

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "1 step", "2 steps"; `many` where it is no "s" behind the word.
std::string counted(std::size_t count, std::string_view one, std::string_view many = "");

}  // namespace lockstep
