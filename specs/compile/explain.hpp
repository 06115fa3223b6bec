// explain: the chain from a spec line through a rule to an entry, with every constant and neighbour that the
// rule used.
//
// Promises: the terms come from the functions that compiled the entry, so the explanation shows what was
// computed. Refuses: a device or entry that the specs do not have (the error suggests similar names).
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
  std::optional<double> number{};  // numeric form of `value`, if it has one, in `unit`
  std::string unit{};
};

struct Explanation {
  std::string device;
  Path path{};
  Value value{};
  Origin origin;
  std::string sentence;            // of the rule; empty: the entry is copied from the field
  std::vector<ExplainTerm> terms;  // in the order of the computation
  std::vector<Overruled> overruled;
  std::string_view doc;  // of the schema row
  std::string_view unit;
};

// Refuses a device that the specs don't have, and suggests a similar name.
Result<DeviceIndex> device_called(const Compiled& compiled, std::string_view name);

Result<Explanation> explain(const Compiled& compiled, const Catalog& catalog, std::string_view device,
                            Path path);

}  // namespace lockstep
