// CSV as in RFC 4180, with the position of each cell: cells between commas, a quoted cell may hold commas,
// line ends and doubled quotes; lines end in LF or CRLF; empty lines are skipped.
//
// Implemented here because available libraries give no column of a cell (libcsv) or throw (fccp). Promises:
// at most document_node_limit cells; every row as wide as the header. Refuses, with the position: an unclosed
// quote, a quote inside an unquoted cell, text behind a closing quote; a row of another width is reported and
// left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "specs/language/reporter.hpp"

namespace lockstep {

struct CsvCell {
  std::string text;
  Span at;
};

struct CsvTable {
  std::vector<CsvCell> header;
  std::vector<std::vector<CsvCell>> rows;
};

// The table in that source; none, with a diagnostic, if it is not CSV.
std::optional<CsvTable> read_csv(std::uint32_t file, Reporter& reporter);

}  // namespace lockstep
