// Excerpt: a Diagnostic for people (file:line:column, the line itself, the fault underlined) and for
// programs.
//
// Promises: the underline is below the fault, also after tabs and wide characters; a very long line is cut
// around the position; nothing in the source can reach the terminal as a control sequence; confidential lines
// are not shown: those of files that are no spec (SourceFile::shown), and those that contain a secret
// (secret_lines.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "specs/model/diagnostic.hpp"

namespace lockstep {

enum class Colour : bool { off, on };

std::string excerpt(const Diagnostic& one, const Sources& sources, Colour colour);
// All of them, separated by blank lines.
std::string excerpts(const Diagnostics& all, const Sources& sources, Colour colour);

// {"kind": "Error", "errors": [{code, severity, message, file, line, column, hint, related}]}
nlohmann::json error_report(const Diagnostics& all, const Sources& sources);

}  // namespace lockstep
