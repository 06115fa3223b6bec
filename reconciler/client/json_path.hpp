// JsonPath: the templates of `kubectl get -o jsonpath`: "{range .items[*]}{.metadata.name}{"\n"}{end}".
//
// Promises: pure. Results are those of kubectl for: text, {"text"} with \n, \t, \" and \\, .name, ['a','b'],
// escaped dots (a\.b), .*, [*], ..name, [n], [-n], [from:to:step], [n,m], @, range and end, and filters of
// one comparison: [?(@.a.b=="x")] with ==, !=, <, <=, >, >=, or [?(@.a)]. What is missing is nothing. `$` is
// always the whole document (kubectl: the current object of a range). Refused (invalid_spec), each with what
// and where: anything else, such as functions, && and ||, regular expressions; a template without {}; more
// than kLengthMax bytes or kDepthMax ranges and filters in each other.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::client {

class JsonPath {
 public:
  static constexpr std::size_t kLengthMax = 64 << 10;  // chosen: longer than a command line's word is by far
  static constexpr std::size_t kDepthMax = 16;

  struct Selector {
    enum class Kind : std::uint8_t { root, current, field, all, deep, slice, either, filter, literal };
    enum class Test : std::uint8_t { exists, equal, unequal, less, at_most, more, at_least };
    Kind kind{};
    std::string name{};                  // of a field; of a literal: its JSON
    std::optional<std::int64_t> from{};  // of a slice; of one element: `to` is missing and `one` is set
    std::optional<std::int64_t> to{};
    std::int64_t step = 1;
    bool one = false;
    std::vector<std::vector<Selector>> of{};  // of `either`; of a filter: one side, or two
    Test test{};                              // of a filter
  };
  using Path = std::vector<Selector>;
  struct Part {
    std::string text{};  // where `path` is empty
    Path path{};
    bool is_range = false;
    std::vector<Part> body{};  // of a range
  };

  static Result<JsonPath> parse(std::string_view text);
  // One path alone, as of --sort-by: "{.metadata.name}", ".metadata.name" or "metadata.name".
  static Result<JsonPath> parse_path(std::string_view text);

  // The template's text for this document. Errors (invalid_spec): an index beyond its list, a comparison of
  // values of different types.
  Result<std::string> print(const nlohmann::json& document) const;
  // What the path of parse_path() leads to; they live as long as the document.
  Result<std::vector<const nlohmann::json*>> find(const nlohmann::json& document) const;

 private:
  std::vector<Part> parts_;
};

// For json_path.cpp.
Result<std::vector<JsonPath::Part>> parse_json_path(std::string_view text);

}  // namespace lockstep::client
