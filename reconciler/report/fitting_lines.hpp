// FittingLines: lines of a comment for a code host, as many as fit: GitHub refuses comments of more than
// 65,536 characters (docs.github.com, "Comments"), and nobody reads more than a page.
//
// Promises: the text has whole lines only, in the order given, no more than its limits; all that come after
// the first that does not fit are left out and counted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reconciler/report/escape.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

// A text as a code span, shortened in the middle: one long text must not keep all others out of a page.
inline std::string fitting_code(std::string_view text, std::size_t columns) {
  return markdown_code(shorten(printable(text), columns));
}

class FittingLines {
 public:
  FittingLines(std::size_t lines, std::size_t bytes) : lines_(lines), bytes_(bytes) {}

  void add(const std::string& line) {
    if (left_out_ > 0 || count_ == lines_ || text_.size() + line.size() > bytes_) {
      ++left_out_;
      return;
    }
    text_ += line;
    ++count_;
  }
  const std::string& text() const { return text_; }
  std::size_t left_out() const { return left_out_; }

 private:
  std::size_t lines_;
  std::size_t bytes_;
  std::size_t count_ = 0;
  std::size_t left_out_ = 0;
  std::string text_;
};

}  // namespace lockstep
