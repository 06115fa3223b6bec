// MappedDriver: the four driver calls for a device whose configuration is a list of native keys, each with a
// value, that can be read and edited as a whole: a file, a REST document, the tables of a database.
// Device-specific are only a table (MapRow) and the means to read and edit it (NativeStore).
//
// Promises: those of the driver interface (checked by tests/contract). An apply takes effect completely or
// not at all; entries that no row maps to are left as they are; the revision is a token of all entries.
// Refuses: what the store can't hold (invalid_spec), rows that are not in the table (unsupported), an older
// leader, a revision that no longer matches, and automatic rollback.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/driver.hpp"

namespace lockstep {

// A row and its native key: "port.{}.mtu" for interface[*]/mtu. Each {} is one key of the entry, in order.
struct MapRow {
  RowId row;
  std::string_view key;
};

struct NativeEntry {
  std::string key;
  std::string value;  // yes or no for a boolean; a list's elements separated by commas
};

struct NativeEdit {
  std::string key;
  std::optional<std::string> value;  // none: the entry is removed
};

struct NativeState {
  std::vector<NativeEntry> entries;
  std::string boot_id;
};

class NativeStore {
 public:
  virtual ~NativeStore() = default;
  virtual Result<NativeState> read(const Call& call) = 0;
  // All of them or none: an error means that nothing was written, unless it is unknown_outcome. `ground` is
  // the state for which the edits were validated; a store that can detect another writer's change since then
  // returns `conflict`.
  virtual Result<Done> edit(const NativeState& ground, const std::vector<NativeEdit>& edits,
                            const Call& call) = 0;
  // Whether a key part or a value can be written and reads back unchanged.
  virtual bool can_hold(std::string_view text) const = 0;
  // An edit as a native command of the device.
  virtual std::string words(const NativeEdit& edit) const = 0;
};

// `map` must outlive the driver. Throws std::invalid_argument for a row whose native key does not have one {}
// for each key of its entry.
Attached make_mapped_driver(std::string driver, std::string device, std::span<const MapRow> map,
                            std::unique_ptr<NativeStore> store);

}  // namespace lockstep
