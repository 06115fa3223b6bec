// What is proved about specs before any device is changed: rules LS1xx, whose numbers keep their meaning.
//
// Promises: works on forwarding classes and links, never on host pairs (a fabric of 512 leaves x 128 spines
// in well under a second); every finding cites the lines at fault, and each rule is reported once for all
// devices that are alike. Errors are specs that can't work; warnings are properties that can't be proved, or
// that field reports describe as faulty. Accepts a catalog and topology with errors of their own, and never
// fails on them. In a twin, proofs still use the real platforms' constants.
#pragma once

#include <span>
#include <string_view>

#include "specs/fabric/topology.hpp"
#include "specs/language/codes.hpp"

namespace lockstep {

std::span<const CodeRow> proof_rules();

Diagnostics prove(const Catalog& catalog, const Topology& topology);

}  // namespace lockstep
