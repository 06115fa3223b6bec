// The reference of the spec language as Markdown (docs/spec-reference.md): every kind and field, from the
// tables with which specs are loaded.
//
// Promises: each field of each kind appears once, with its path as anchor ("Fabric.mtu.host"); links within
// the page use the anchors that GitHub generates for headings.
#pragma once

#include <string>

#include "specs/language/field_examples.hpp"

namespace lockstep {

std::string spec_reference(const FieldExamples& examples);

}  // namespace lockstep
