// Excerpt: a Diagnostic as people read it (file:line:column, the line itself, what is meant underlined) and
// as programs do.
//
// Promises: the underline stands below what it means, with tabs and wide characters before it too; a line
// that is very long is cut around the place; nothing in the source can reach the terminal as a control
// sequence; what a person must not read in a log is not shown: lines of what is no spec (SourceFile::shown),
// and those where a secret stands (secret_lines.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "specs/model/diagnostic.hpp"

namespace lockstep {

enum class Colour : bool { off, on };

std::string excerpt(const Diagnostic& one, const Sources& sources, Colour colour);
// All of them, a blank line between two.
std::string excerpts(const Diagnostics& all, const Sources& sources, Colour colour);

// {"kind": "Error", "errors": [{code, severity, message, file, line, column, hint, related}]}
nlohmann::json error_report(const Diagnostics& all, const Sources& sources);

}  // namespace lockstep
