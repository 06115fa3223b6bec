// A spec file as text, before parsing: beneath the folder of specs, bounded in size, UTF-8, without control
// characters.
//
// Promises: those of read_file.hpp. Refuses, with a numbered diagnostic: files that are not regular, files
// outside the folder, files larger than file_size_limit, text that is not UTF-8, control characters.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "specs/language/reporter.hpp"
#include "specs/language/text_index.hpp"

namespace lockstep {

constexpr std::size_t file_size_limit = std::size_t{16} << 20;  // 3 times the largest target spec (5 MB)

// The text of a file beneath `folder`, by the name that the user gave; none, with an error at `at()`, if it
// can't be read.
std::optional<std::string> read_text_file(const std::string& folder, const std::string& name,
                                          const std::function<Span()>& at, Reporter& reporter);
// The same for standard input.
std::optional<std::string> read_standard_input(const std::function<Span()>& at, Reporter& reporter);

// False, with a diagnostic, if the text of that source must not be parsed.
bool check_text(std::uint32_t file, const TextIndex& index, Reporter& reporter);

}  // namespace lockstep
