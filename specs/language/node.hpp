// Node: one YAML value as written, with its position. YAML files, JSON bodies and patches are loaded through
// it.
//
// Promises: bounded memory, time and depth whatever the bytes are; positions in characters; map keys are
// unique scalars; an alias is the node of its anchor (shared, counted as if copied). Errors of one document
// do not hide those of the next. Refuses, with the reason: text that is not UTF-8, control characters and
// characters that hide or reorder text (also written as escapes, and in comments), merge keys, tags,
// duplicate keys, aliases to incomplete nodes. The reader of a scalar checks for line breaks and tabs
// (is_one_line); a key contains none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "specs/language/reporter.hpp"
#include "specs/language/text_file.hpp"

namespace lockstep {

constexpr unsigned depth_limit = 64;                    // architecture.md; the deepest kind nests 9
constexpr std::size_t document_node_limit = 1'000'000;  // about 150 MB
constexpr std::size_t file_node_limit = 4'000'000;      // 16 MiB of "- a\n"; only aliases exceed it

struct Node {
  enum class Shape : std::uint8_t { null, scalar, list, map };
  Shape shape = Shape::null;
  bool plain = true;           // a scalar without quotes, which may be a number, a boolean or null
  std::uint8_t height = 1;     // levels from here down
  std::uint32_t expanded = 1;  // nodes from here down, aliases counted as copies
  std::uint32_t length = 1;    // in characters, for underlining
  Position at;
  std::string text;                                         // of a scalar
  std::vector<const Node*> items;                           // of a list
  std::vector<std::pair<const Node*, const Node*>> fields;  // of a map, in the order written

  const Node* find(std::string_view key) const;
};

// For a scalar with a line break or a tab, reports it and returns false.
bool is_one_line(const Node& node, Reporter& reporter);

// Calls `visit` for each non-empty document of the file; the node lives only during the call.
void read_documents(std::uint32_t file, Reporter& reporter, const std::function<void(const Node&)>& visit);

}  // namespace lockstep
