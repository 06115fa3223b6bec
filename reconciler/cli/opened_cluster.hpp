// A cluster as a command works on it: specs loaded, validated, compiled and proved.
#pragma once

#include <optional>
#include <string>

#include "reconciler/cli/commands.hpp"
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"

namespace lockstep {

struct OpenedCluster {
  std::string name;       // of the Cluster object, else of the folder
  std::string folder;     // absolute
  std::string id;         // names the twin and the state directory
  Catalog catalog;
  Compiled compiled;
  Diagnostics warnings;
  bool twin = false;

  std::string title() const { return twin ? name + " (twin on this machine)" : name; }
};

// Prints every error (and, on success, warnings) and answers nothing if there is any. `strict`: warnings are errors.
std::optional<OpenedCluster> open_cluster(const Aim& aim, const Console& console, bool strict = false);

// Today, UTC: what overrides and maintenance end against.
Date today();

}  // namespace lockstep
