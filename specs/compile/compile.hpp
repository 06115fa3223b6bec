// compile: turns objects and fabrics into one Intent per device: its desired entries, each with the spec line
// that sets it.
//
// Promises: the same specs give the same intents, origins included; a collection that an object claims is
// owned whole; nothing is dropped: entries that no driver supports are compiled too. Refuses (LS12xx): two
// objects that set different values for one entry with equal priority; whatever expand() and allocate()
// refuse; and more entries than the options allow, checked before they are created, because a few lines can
// ask for more than a machine holds.
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
  std::uint64_t link_rate = 1'000'000'000;  // bit/s of the fastest link; all others are scaled in proportion
};

// Limit on the entries of all devices together (16 bytes each, more while they are built). It is above the
// largest fleet that is measured (16,384 hosts x 8 rails with 2,560 switches: 22,033,408 entries, 0.4 GB;
// tests/perf).
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
  std::vector<Intent> intents;         // one per device, by DeviceIndex
  std::vector<std::uint32_t> rollout;  // the RolloutPolicy of each device (rollout.hpp); kNone: none
  Origins origins;
  Diagnostics diagnostics;
  Diagnostics by_hand;  // warnings about what lockstep can't set; shown by `validate`
  bool twin = false;
};

Compiled compile(const Catalog& catalog, const CompileOptions& options = {});

// How many GPUs a host's specs count; 0: they say nothing of it.
std::uint32_t gpus_of(const Intent& intent);

}  // namespace lockstep
