// Escape: untrusted text as a part of something that another program parses. One function for each target;
// each makes its text printable first (specs/model/printable.hpp), so that no control character, no line
// break and no malformed byte gets into any format, and what is parsed back is what a terminal would have
// shown.
//
// No text is trusted because of its source: names in specs, values of devices, kernel messages and file names
// are treated the same.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep {

// A complete code span (CommonMark 6.1): nothing in it is markup, a mention (@), a reference (#1) or a link.
// A vertical bar is shown as \x7c, because parsers differ in how to write one in a code span in a table, and
// a backtick as \x60, because they differ in the maximum length of a fence (cmark-gfm: 80). An empty text
// gives an empty result.
std::string markdown_code(std::string_view text);

// Content of an element or of a quoted attribute, in XML 1.0, SVG and HTML.
std::string xml_text(std::string_view text);

// Inside the double quotes of a Graphviz ID or label (graphviz.org, "The DOT Language"; "escString").
std::string dot_text(std::string_view text);

// Workflow commands of GitHub Actions (actions/toolkit, packages/core/src/command.ts: escapeData,
// escapeProperty).
std::string workflow_data(std::string_view text);
std::string workflow_property(std::string_view text);

// The message of a SARIF result: "](" would begin an embedded link (SARIF 2.1.0, 3.11.6).
std::string sarif_message(std::string_view text);
// A relative reference (RFC 3986, 4.2) for a path.
std::string uri_of_path(std::string_view path);

// A document as JSON. Always valid, whatever its texts: a malformed byte becomes \xff as elsewhere, and
// hidden characters become JSON escapes, so that a parser gets the same text and a terminal interprets none
// of it. indent -1: one line.
std::string json_text(const nlohmann::json& document, int indent);
// As YAML 1.2, with the same promises.
std::string yaml_text(const nlohmann::json& document);

// The last safeguard for text reports that failed to escape a text. Keeps line breaks and the colour
// sequences of terminal.hpp, shows all other hidden characters, and disables what a workflow runner would
// interpret in any output: a line that begins with "::", and "##[" and "##vso[" anywhere (actions/runner,
// ActionCommand.cs; Azure Pipelines, "Logging commands").
std::string report_text(std::string_view text);

}  // namespace lockstep
