// A file of specs as text, before anything is known of its syntax: beneath the folder of specs, bounded in
// size, UTF-8, no control characters.
//
// Promises: those of read_file.hpp. Refuses, by number: what is no regular file, what is outside of the
// folder, what is larger than file_size_limit, what is not UTF-8, control characters.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "specs/language/reporter.hpp"
#include "specs/language/text_index.hpp"

namespace lockstep {

constexpr std::size_t file_size_limit = std::size_t{16}
                                        << 20;  // 3 times the largest spec that we aim at (5 MB)

// The text of a file that is beneath `folder`, by the name that a person gave it; none, with an error at
// `at()`, where it can't be had.
std::optional<std::string> read_text_file(const std::string& folder, const std::string& name,
                                          const std::function<Span()>& at, Reporter& reporter);
// The same for standard input.
std::optional<std::string> read_standard_input(const std::function<Span()>& at, Reporter& reporter);

// False, with a diagnostic, if the text of that source may not be parsed.
bool check_text(std::uint32_t file, const TextIndex& index, Reporter& reporter);

}  // namespace lockstep
