// Field examples: values of each field in real specs, for the reference of the spec language.
//
// Promises: an example is the text of a value in a spec, as YAML on one line, of at most example_length_limit
// characters; of several, the first one. Refuses specs with errors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

constexpr std::size_t example_length_limit = 60;  // what fits a table column without scrolling

// By the path of a field from its kind, "Fabric.mtu.host"; fields common to all kinds start with "Object" and
// "Metadata".
using FieldExamples = std::map<std::string, std::string>;

// Each path is a folder or a file, and is loaded separately.
Result<FieldExamples> field_examples(const std::vector<std::string>& paths);

}  // namespace lockstep
