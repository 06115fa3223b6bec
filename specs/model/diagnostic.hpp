// A Diagnostic: something wrong (or doubtful) in user-written text, and where.
//
// The number of a diagnostic (LS1004) is stable: tools and suppressions rely on it. Positions count lines and
// columns from 1; a column is in characters (UTF-8 code points), not bytes. Files have the names that the
// user gave.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// A place in a source file. `file` indexes Sources::files; 0 is "no file" (a default, a rule of the program).
struct Position {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const Position&) const = default;
};

// The files that were read, with their text for excerpts. Index 0 is the empty name.
struct SourceFile {
  std::string name;
  std::string text;
  std::string folder = ".";  // file names in this file are read beneath it
  // False: excerpts do not show its lines, for files that are no spec: only the position is useful.
  bool shown = true;
};
struct Sources {
  std::vector<SourceFile> files{SourceFile{}};
  std::uint32_t add(std::string name, std::string text) {
    files.push_back({std::move(name), std::move(text), ".", true});
    return static_cast<std::uint32_t>(files.size() - 1);
  }
};

enum class Severity : std::uint8_t { error, warning };

struct Related {
  Position at;
  std::string message;  // "first written here"
};

struct Diagnostic {
  std::string code;  // "LS1004"
  Severity severity = Severity::error;
  Position at;
  std::uint32_t length = 1;  // characters to underline
  std::string message;       // what is wrong
  std::string hint;          // what would be correct; may be empty
  std::vector<Related> related;
};

using Diagnostics = std::vector<Diagnostic>;

inline bool has_errors(const Diagnostics& all) {
  for (const Diagnostic& one : all)
    if (one.severity == Severity::error) return true;
  return false;
}

}  // namespace lockstep
