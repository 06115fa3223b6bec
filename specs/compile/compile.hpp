// compile: objects and fabrics into one Intent a device: what each should be, every entry with the spec line
// that wants it.
//
// Promises: the same specs give the same intents, origins included; what an object covers it owns whole
// (claims); nothing is dropped: what no driver carries compiles all the same. Refuses (LS12xx): two objects
// that want different values of one entry with equal priority, what expand() and allocate() refuse, and more
// entries than the options allow: before they are made, as a few lines can want more than a machine holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "specs/fabric/allocation.hpp"
#include "specs/fabric/topology.hpp"
#include "specs/language/catalog.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

struct TwinScale {
  std::uint64_t link_rate = 1'000'000'000;  // bit/s of the fastest link; all others in proportion
};

// Entries of all devices together, of 16 bytes each and some more on the way to it: above the largest fleet
// that is measured (16,384 hosts x 8 rails with 2,560 switches: 22,033,408 entries, 0.4 GB; tests/perf).
inline constexpr std::size_t kEntriesDefault = 25'000'000;

struct CompileOptions {
  std::optional<TwinScale> twin;
  std::optional<Date> today;  // overrides that ended before it are reported; none: not checked
  AllocateOptions allocation;
  std::size_t max_entries = kEntriesDefault;
  unsigned threads = 2;
};

struct Compiled {
  Topology topology;
  Allocation allocation;
  std::vector<Intent> intents;         // one a device, by DeviceIndex
  std::vector<std::uint32_t> rollout;  // the RolloutPolicy of each (rollout.hpp); kNone: none
  Origins origins;
  Diagnostics diagnostics;
  Diagnostics by_hand;  // warnings: what lockstep can't set; for `validate` to tell
  bool twin = false;
};

Compiled compile(const Catalog& catalog, const CompileOptions& options = {});

}  // namespace lockstep
