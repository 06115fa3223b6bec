// parse_bounded_json: JSON of anybody's (a daemon's answer, a file that is handed over), with what it may
// cost decided before the parser makes anything of it: a byte of text can stand for fifty of memory.
//
// Promises: counts and depth are checked in one pass over the text, without memory. Refuses (invalid_spec):
// what is not JSON, more values or a deeper nesting than the bounds.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

struct JsonBounds {
  std::size_t depth = 64;  // as of specs (language/node.hpp); documents of ours and of FRR's have a dozen
  std::size_t values = 4'000'000;  // a choice: twice a table of 100,000 prefixes, of some 20 values each
};

Result<nlohmann::json> parse_bounded_json(std::string_view text, const JsonBounds& bounds = {});

}  // namespace lockstep
