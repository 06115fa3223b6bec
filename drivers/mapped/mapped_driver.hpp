// MappedDriver: the four calls for a device whose configuration is a list of native keys, each with a value,
// that can be read whole and edited whole: a file, a REST document, the tables of a database. What is the
// device's own is a table (MapRow) and how it is read and edited (NativeStore).
//
// Promises: those of the seam (tests/contract holds them). An apply is done whole or not at all; entries that
// no row stands for are left as they are; the revision is a token of all entries. Refuses: what the store
// can't hold (invalid_spec), rows that are not in the table (unsupported), an older leader, a revision that
// moved on, and to undo by itself.
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
  std::string value;  // of a boolean yes or no; of a list its elements, with commas
};

struct NativeEdit {
  std::string key;
  std::optional<std::string> value;  // none: the entry goes
};

struct NativeState {
  std::vector<NativeEntry> entries;
  std::string boot_id;
};

class NativeStore {
 public:
  virtual ~NativeStore() = default;
  virtual Result<NativeState> read(const Call& call) = 0;
  // All of them or none: an error tells that nothing was written, unless it is unknown_outcome. `ground` is
  // what the edits were admitted on; a store that can tell answers `conflict` if another hand was there
  // since.
  virtual Result<Done> edit(const NativeState& ground, const std::vector<NativeEdit>& edits,
                            const Call& call) = 0;
  // Whether a key's part or a value can be written, and is read back as it is.
  virtual bool can_hold(std::string_view text) const = 0;
  // An edit in the device's own words.
  virtual std::string words(const NativeEdit& edit) const = 0;
};

// `map` must outlive the driver. Throws std::invalid_argument for a row whose key has not one {} for each key
// of its entry.
Attached make_mapped_driver(std::string driver, std::string device, std::span<const MapRow> map,
                            std::unique_ptr<NativeStore> store);

}  // namespace lockstep
