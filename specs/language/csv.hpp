// CSV as RFC 4180 has it, with the place of each cell: cells between commas, a quoted cell may hold commas,
// line ends and doubled quotes; lines end in LF or CRLF; empty lines are skipped.
//
// Own code, because the libraries at hand give no column of a cell (libcsv) or throw (fccp). Promises: at
// most document_node_limit cells; every row as wide as the header. Refuses, at its place: a quote that is not
// closed, a quote inside a cell that is not quoted, text behind a closing quote; a row of another width is
// reported and left out.
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

// The table in that source; none, with a diagnostic, where it is no CSV.
std::optional<CsvTable> read_csv(std::uint32_t file, Reporter& reporter);

}  // namespace lockstep
