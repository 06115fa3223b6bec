// Selectors: labelSelector and fieldSelector, in the syntax of Kubernetes (labels.Parse,
// fields.ParseSelector).
//
// Promises: requirements are joined by "and"; an empty selector selects everything. Labels: "a=b", "a==b",
// "a!=b", "a in (b,c)", "a notin (b,c)", "a", "!a"; "!=" and "notin" also select objects without the label.
// Fields: "=", "==" and "!=" on those of the kind. Refused (invalid_spec): anything else, with what is wrong;
// an unknown field, with those that the kind has; more than kRequirementsMax requirements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/api/api_object.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

// A choice: more than anybody types; a watch evaluates them for each object.
inline constexpr std::size_t kRequirementsMax = 32;

class Selector {
 public:
  bool selects(const ApiObject& object) const;
  bool is_empty() const { return requirements_.empty(); }
  // In addition, metadata.name must be this.
  void require_name(const std::string& name);

  Result<Done> add_labels(std::string_view text);
  Result<Done> add_fields(std::string_view text, Kind kind);

 private:
  enum class Test : std::uint8_t { in, not_in, exists, absent };
  struct Requirement {
    bool field = false;  // else of a label
    std::string key;
    Test test = Test::in;
    std::vector<std::string> values;
  };
  Result<Done> add(Requirement one);

  std::vector<Requirement> requirements_;
};

}  // namespace lockstep::api
