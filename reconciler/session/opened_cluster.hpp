// A cluster as the workflow uses it: specs loaded, validated, compiled and proved.
//
// Promises: all errors and warnings about the specs are in `diagnostics`, in the order in which they were
// found. If there are errors, only `diagnostics` and `catalog.sources` are meaningful. Refuses: an
// allocations.lock or a twin's numbers that can't be read; an invalid link rate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"

namespace lockstep {

// Where a cluster's specs are, and whether its devices are the real ones.
struct ClusterSource {
  std::vector<std::string> specs{"."};  // folders and files
  bool twin = false;
  std::string stands_for{};                   // the folder of which `specs` is a copy; empty: it is none
  std::string link_rate{};                    // of the twin's fastest link; empty: as `twin up` was given
  bool renumber = false;                      // discard the allocated numbers (numbers.hpp)
  std::size_t max_entries = kEntriesDefault;  // of all devices together
  std::optional<Date> today{};                // none: the clock's
};

struct OpenedCluster {
  std::string name;     // of the Cluster object, else of allocations.lock, else of the folder
  std::string folder;   // absolute
  std::string id;       // of this folder: names the twin, and the state of a cluster that has no UUID yet
  AllocationLock lock;  // as it was read; its cluster as it is now (identity.hpp). A twin has none
  Catalog catalog;
  Compiled compiled;
  std::map<std::string, std::string> maintenance;  // by device (maintenance.hpp)
  Diagnostics diagnostics;
  Diagnostics without_effect;  // settings in the specs without any effect; reported by `validate`
  bool twin = false;
  std::uint64_t link_rate = 0;  // of the twin's fastest link, bit/s

  // Of a real cluster; empty: not assigned yet.
  std::string uuid() const { return lock.cluster ? lock.cluster->uuid : ""; }
  bool valid() const { return !has_errors(diagnostics); }
  std::string title() const { return twin ? name + " (twin on this machine)" : name; }
  // The name of the cluster in its store, independent of the folder of specs: a twin's is not the cluster's.
  std::string state_name() const { return twin ? name + " (twin)" : name; }
};

Result<OpenedCluster> load_cluster(const ClusterSource& source);

// Refused: specs that name no device.
Result<Done> has_devices(const OpenedCluster& cluster);

// The directory above all clusters' state: LOCKSTEP_STATE_DIR, else /var/lib/lockstep for root and
// $XDG_STATE_HOME/lockstep (XDG base directories: ~/.local/state) for others.
std::string state_top();
// The same, ignoring LOCKSTEP_STATE_DIR.
std::string usual_state_top();
// The current directory of the cluster's (or its twin's) store: below state_top(), by its name and UUID if it
// has one and its state was moved there (identity.hpp), else by the folder's id.
std::string state_directory(const OpenedCluster& cluster);
std::string state_directory(const std::string& id, bool twin);
// The directory for a cluster with a UUID.
std::string identity_directory(const OpenedCluster& cluster);

// Today, UTC: decides which overrides and maintenance entries have ended.
Date today();

}  // namespace lockstep
