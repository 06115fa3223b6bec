// SpecsFeed: the revisions of a cluster's specs for a service, loaded, compiled and proved.
//
// Promises: a revision that is returned as valid can be planned; of one that is not, each problem has its
// file, line and column in the revision. Whoever calls it does so on a thread that is not the engine's, one
// call at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reconciler/service/revisions.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/session/spec_objects.hpp"
#include "reconciler/source/source.hpp"

namespace lockstep {

struct ValidSpecs {
  Revision revision;
  RevisionId id;
  OpenedCluster cluster;  // file names are relative to the revision
  std::shared_ptr<const SpecObjects> objects;
};

struct InvalidSpecs {
  Revision revision;
  std::vector<std::string> problems;  // "fabric.yaml:9:3: LS1004: unknown field", at least one
  std::string text() const;           // the first, and how many more
};

struct SameSpecs {};  // as the last ones that were returned

using LoadedSpecs = std::variant<ValidSpecs, InvalidSpecs>;
using FetchedSpecs = std::variant<ValidSpecs, InvalidSpecs, SameSpecs, SourceError>;

class SpecsFeed {
 public:
  virtual ~SpecsFeed() = default;
  // `again`: what the last call returned was not taken (it came too late): it is returned once more.
  virtual FetchedSpecs fetch(const Call& call, bool again) = 0;
  // A revision that was returned before, as of today: what ends at a date may have ended since.
  virtual LoadedSpecs load(const Revision& revision) = 0;
  // The files of these revisions stay for a restart, and of no others.
  virtual Result<Done> keep(const std::vector<Revision>& revisions) = 0;
  virtual Result<std::vector<Revision>> kept() = 0;
  virtual std::string title() const = 0;
};

struct SpecsAim {
  bool twin = false;         // of a cluster on this machine
  std::string stands_for{};  // ClusterSource
  std::size_t max_entries = kEntriesDefault;
  std::string keeps{};  // a folder of this user alone, for the revisions that are kept
};
// The name and UUID of the cluster.
std::string identity_of(const OpenedCluster& cluster);
// Why a service refuses specs whose numbers are not all in allocations.lock; empty: they are.
std::string why_not_locked(const OpenedCluster& cluster);

// Refuses (as InvalidSpecs) a real cluster whose allocations.lock lacks its UUID or numbers: a service never
// gives out numbers that its source does not have.
std::unique_ptr<SpecsFeed> make_specs_feed(std::unique_ptr<Source> source, SpecsAim aim);

}  // namespace lockstep
