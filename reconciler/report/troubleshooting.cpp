#include "reconciler/report/troubleshooting.hpp"

#include <fmt/format.h>

#include <array>

#include "reconciler/report/markdown_prose.hpp"
#include "specs/fabric/codes.hpp"
#include "specs/fabric/proofs.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kOpening =
    R"(# Troubleshooting

Every error and warning about specs has a number that keeps its meaning. This page has all of them, from the tables of the
program (`CONTRIBUTING.md` says how to update it); `lockstep explain LS1002` prints one. The examples are what `lockstep
validate` prints of specs in this tree: the message, what would be right, and the line at fault.

)";

// The heading of a code is also its anchor: #ls1002.
void add_code(std::string& out, const CodeRow& row, const std::map<std::string, std::string>& examples) {
  out += fmt::format("### {}\n\n**Rule:** {}.\n\n**Why:** {}.\n\n**What to do:** {}.\n\n", row.code,
                     markdown_prose(row.rule), markdown_prose(row.reason), markdown_prose(row.remedy));
  if (const auto example = examples.find(std::string(row.code)); example != examples.end())
    out += fmt::format("```\n{}```\n\n", example->second);
}

}  // namespace

std::span<const CodeGroup> code_groups() {
  static const std::array<CodeGroup, 3> groups{
      {{"Files, YAML, fields and references", "Reported while specs are loaded: LS0001 to LS1199.",
        language_codes()},
       {"Topology, allocation and compilation", "Reported while objects become settings: LS1201 to LS1299.",
        kFabricCodes},
       {"Proofs",
        "What would not work on the devices, checked on the specs alone, before anything is touched: LS101 "
        "to LS199.",
        proof_rules()}}};
  return groups;
}

const CodeRow* find_any_code(std::string_view code) {
  for (const CodeGroup& group : code_groups())
    for (const CodeRow& row : group.rows)
      if (row.code == code) return &row;
  return nullptr;
}

std::string troubleshooting_page(const std::map<std::string, std::string>& examples) {
  std::string contents = "## Contents\n\n";
  std::string sections;
  for (const CodeGroup& group : code_groups()) {
    contents += fmt::format("**{}**\n\n| code | rule |\n| --- | --- |\n", group.title);
    sections += fmt::format("## {}\n\n{}\n\n", group.title, group.about);
    for (const CodeRow& row : group.rows) {
      std::string anchor(row.code);
      for (char& c : anchor) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      contents += fmt::format("| [{}](#{}) | {} |\n", row.code, anchor, markdown_prose(row.rule));
      add_code(sections, row, examples);
    }
    contents += "\n";
  }
  return std::string(kOpening) + contents + sections;
}

}  // namespace lockstep
