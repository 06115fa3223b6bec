// What is proved about specs before anything is touched: rules LS1xx, each with a number that keeps its
// meaning.
//
// Promises: works on forwarding classes and links, never on host pairs (a fabric of 512 leaves x 128 spines
// in well under a second); every finding cites the lines at fault, and each rule is reported once for all
// devices that are alike. Errors are what can't work; warnings are what can't be proved, or what field
// reports say goes wrong. Takes a catalog and topology that may have errors of their own; never fails on
// them. Proofs keep the real platforms' constants in a twin, too.
#pragma once

#include <span>
#include <string_view>

#include "specs/fabric/topology.hpp"

namespace lockstep {

struct ProofRule {
  std::string_view code;    // "LS102"
  std::string_view title;   // what must hold
  std::string_view reason;  // why, one line
};

std::span<const ProofRule> proof_rules();
// The rule of a number, or nullptr.
const ProofRule* find_proof_rule(std::string_view code);

Diagnostics prove(const Catalog& catalog, const Topology& topology);

}  // namespace lockstep
