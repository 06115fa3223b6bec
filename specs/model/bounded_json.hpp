// parse_bounded_json: parses untrusted JSON (a daemon's answer, a file from elsewhere) whose memory cost is
// bounded before the parser builds anything: a byte of text can take fifty bytes of memory.
//
// Promises: checks counts and depth in one pass over the text, without memory. Refuses (invalid_spec): text
// that is not JSON, more values or deeper nesting than the bounds.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

struct JsonBounds {
  std::size_t depth = 64;          // as for specs (language/node.hpp); lockstep and FRR nest about a dozen
  std::size_t values = 4'000'000;  // chosen: twice a table of 100,000 prefixes, of some 20 values each
};

Result<nlohmann::json> parse_bounded_json(std::string_view text, const JsonBounds& bounds = {});

}  // namespace lockstep
