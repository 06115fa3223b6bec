// explain: the chain from a spec line over a rule to an entry, with every constant and neighbour that the
// rule used.
//
// Promises: the same functions that compiled the entry give its terms: what is shown is what was computed.
// Refuses: a device or entry that the specs do not have (the error names near ones).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/compile/compile.hpp"

namespace lockstep {

// One step of the computation: "cable length" "5m" "fabric.yaml".
struct ExplainTerm {
  std::string name;
  std::string value;
  std::string source;              // a platform's source, a lock, a pool; may be empty
  Position at{};                   // the spec line, where there is one
  std::optional<double> number{};  // what `value` says, where it is one, in `unit`
  std::string unit{};
};

struct Explanation {
  std::string device;
  Path path{};
  Value value{};
  Origin origin;
  std::string sentence;            // the rule's; empty: the entry is what the field says
  std::vector<ExplainTerm> terms;  // in the order of the computation
  std::vector<Overruled> overruled;
  std::string_view doc;  // the schema row's
  std::string_view unit;
};

Result<Explanation> explain(const Compiled& compiled, const Catalog& catalog, std::string_view device,
                            Path path);

}  // namespace lockstep
