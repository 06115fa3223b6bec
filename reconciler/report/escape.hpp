// Escape: a text of anybody's as a part of something that another program parses. One function for each
// target; each makes its text printable first (specs/model/printable.hpp), so that no control character, no
// line break and no malformed byte gets into any format, and what is parsed back is what a terminal would
// have shown.
//
// A text is never trusted for where it comes from: a spec's names, a device's values, a kernel's words and a
// file's name go the same way.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep {

// A code span (CommonMark 6.1), whole and alone: nothing in it is markup, a mention (@), a reference (#1) or
// a link. A vertical bar is shown as \x7c, as parsers differ in how one is written in a code span in a table,
// and a backtick as \x60, as they differ in how long a fence may be (cmark-gfm: 80). Nothing for an empty
// text.
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

// A document as JSON. Always valid, whatever the texts in it: a malformed byte is \xff as elsewhere, and
// hidden characters are JSON's own escapes, so that a parser has the same text and a terminal obeys none of
// it. indent -1: one line.
std::string json_text(const nlohmann::json& document, int indent);
// As YAML 1.2, with the same promises.
std::string yaml_text(const nlohmann::json& document);

// The last net under text reports: whatever a report forgot. Keeps line breaks and the colour sequences of
// terminal.hpp, shows all other hidden characters, and takes the power from what a workflow runner would obey
// in anybody's output: a line that begins with "::", "##[" and "##vso[" anywhere (actions/runner,
// ActionCommand.cs; Azure Pipelines, "Logging commands").
std::string report_text(std::string_view text);

}  // namespace lockstep
