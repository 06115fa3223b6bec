// An aligned text table: columns as wide as their widest cell, numbers to the right, two blanks between.
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

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty; a cell may hold colour.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Every line begins with `indent` and ends with a newline; trailing blanks are cut.
  std::string render(const Terminal& terminal, std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "1 step", "2 steps"; `many` where it is no "s" behind the word.
std::string counted(std::size_t count, std::string_view one, std::string_view many = "");

}  // namespace lockstep
