#include "specs/model/subject.hpp"

#include <algorithm>

#include "specs/model/schema_rows.hpp"

namespace lockstep {

std::string_view subject_of(RowId row, std::string_view text) {
  const std::string_view pattern = schema_row(row).pattern;
  const std::string_view first = pattern.substr(0, pattern.find('/'));
  const auto is_part = [first](const Row& one) {
    return one.pattern.starts_with(first) && one.pattern.substr(first.size()).starts_with('/');
  };
  if (std::ranges::none_of(kSchema, is_part)) return text.substr(0, text.find('['));
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/' && depth == 0) return text.substr(0, i);
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
  }
  return text;
}

}  // namespace lockstep
