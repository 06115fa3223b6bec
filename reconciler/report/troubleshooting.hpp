// Every diagnostic code, with its meaning and remedy: one lookup over the tables of the language and of the
// fabric, and all of them as Markdown (docs/troubleshooting.md).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "specs/language/codes.hpp"

namespace lockstep {

struct CodeGroup {
  std::string_view title;
  std::string_view about;
  std::span<const CodeRow> rows;
};
std::span<const CodeGroup> code_groups();

// The row of a code; null: no diagnostic has it.
const CodeRow* find_any_code(std::string_view code);

// `examples`: by code, the diagnostic as `lockstep validate` prints it; not every code needs one.
std::string troubleshooting_page(const std::map<std::string, std::string>& examples);

}  // namespace lockstep
