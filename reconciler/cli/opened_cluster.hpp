// A cluster as a command works on it: specs loaded, validated, compiled and proved.
#pragma once

#include <optional>
#include <string>

#include "reconciler/cli/commands.hpp"
#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"

namespace lockstep {

struct OpenedCluster {
  std::string name;    // of the Cluster object, else of the folder
  std::string folder;  // absolute
  std::string id;      // names the twin and the state directory
  Catalog catalog;
  Compiled compiled;
  Diagnostics warnings;
  bool twin = false;

  std::string title() const { return twin ? name + " (twin on this machine)" : name; }
};

// Prints every error (and, on success, warnings) and answers nothing if there is any. `strict`: warnings are
// errors.
std::optional<OpenedCluster> open_cluster(const Aim& aim, const Console& console, bool strict = false);

// Refused: specs that name no device.
Result<Done> has_devices(const OpenedCluster& cluster);

// Where the journal of the cluster (or of its twin) is: LOCKSTEP_STATE_DIR, else /var/lib/lockstep for root
// and $XDG_STATE_HOME/lockstep (XDG base directories: ~/.local/state) for others; below it the cluster's id.
std::string state_directory(const OpenedCluster& cluster);
std::string state_directory(const std::string& id, bool twin);

// Today, UTC: what overrides and maintenance end against.
Date today();

}  // namespace lockstep
