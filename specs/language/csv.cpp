#include "specs/language/csv.hpp"

#include "specs/language/codes.hpp"
#include "specs/language/node.hpp"
#include "specs/language/text_file.hpp"

namespace lockstep {
namespace {

class CsvReader {
 public:
  CsvReader(std::uint32_t file, Reporter& reporter)
      : text_(reporter.sources().files[file].text), index_(file, text_), reporter_(reporter), file_(file) {}

  std::optional<CsvTable> run() {
    if (!check_text(file_, index_, reporter_)) return std::nullopt;
    if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
    CsvTable out;
    std::vector<CsvCell> row;
    while (at_ < text_.size()) {
      if (end_of_line()) {
        next_line();
        continue;
      }
      row.clear();
      if (!read_row(row)) return std::nullopt;
      if (out.header.empty()) {
        out.header = std::move(row);
      } else if (row.size() == out.header.size()) {
        out.rows.push_back(std::move(row));
      } else {
        reporter_.error(code::syntax, row.front().at,
                        "this row has " + std::to_string(row.size()) + " cells, and the header has " +
                            std::to_string(out.header.size()),
                        "write a cell, maybe empty, for each column");
      }
      row = {};
    }
    return out;
  }

 private:
  bool end_of_line() const {
    return at_ >= text_.size() || text_[at_] == '\n' || text_.compare(at_, 2, "\r\n") == 0;
  }
  void next_line() { at_ = std::min(text_.find('\n', at_), text_.size() - 1) + 1; }
  bool refuse(std::size_t offset, std::string message, std::string hint) {
    reporter_.error(code::syntax, {index_.position(offset), 1}, std::move(message), std::move(hint));
    return false;
  }

  bool read_row(std::vector<CsvCell>& row) {
    for (;; ++at_) {
      if (++cells_ > document_node_limit) {
        reporter_.error(code::too_many_nodes, {index_.position(at_), 1},
                        "more than " + std::to_string(document_node_limit) + " cells", "split the file");
        return false;
      }
      CsvCell& cell = row.emplace_back();
      const std::size_t begin = at_;
      if (!(at_ < text_.size() && text_[at_] == '"' ? read_quoted(cell) : read_plain(cell))) return false;
      const Position first = index_.position(begin);
      const Position last = index_.position(at_);
      cell.at = {first, first.line == last.line ? last.column - first.column : 1};
      if (at_ >= text_.size() || text_[at_] != ',') break;
    }
    if (at_ < text_.size()) next_line();
    return true;
  }

  bool read_plain(CsvCell& cell) {
    const std::size_t begin = at_;
    while (!end_of_line() && text_[at_] != ',') {
      if (text_[at_] == '"')
        return refuse(at_, "a quote inside a cell that is not quoted",
                      "quote the whole cell, and write \"\"");
      ++at_;
    }
    cell.text = text_.substr(begin, at_ - begin);
    return true;
  }

  bool read_quoted(CsvCell& cell) {
    const std::size_t begin = at_++;
    for (;;) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == text_.npos)
        return refuse(begin, "a quoted cell that does not end", "close it with a quote");
      cell.text += text_.substr(at_, quote - at_);
      at_ = quote + 1;
      if (at_ >= text_.size() || text_[at_] != '"') break;
      cell.text += '"';
      ++at_;
    }
    if (end_of_line() || text_[at_] == ',') return true;
    return refuse(at_, "text behind a closing quote", "separate cells by commas; a quote in a cell is \"\"");
  }

  std::string_view text_;
  TextIndex index_;
  Reporter& reporter_;
  std::uint32_t file_;
  std::size_t at_ = 0;
  std::size_t cells_ = 0;
};

}  // namespace

std::optional<CsvTable> read_csv(std::uint32_t file, Reporter& reporter) {
  return CsvReader(file, reporter).run();
}

}  // namespace lockstep
