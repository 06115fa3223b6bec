// KindRow: everything about a kind that the loader, the JSON Schema and `get` need, one row per kind.
#pragma once

#include <span>
#include <string_view>

#include "specs/language/api_version.hpp"
#include "specs/language/catalog.hpp"
#include "specs/language/struct_types.hpp"

namespace lockstep {

// A new object in a catalog, both as its common base and as the struct that its table's members belong to.
struct Slotted {
  Object* object;
  void* self;
};

struct KindRow {
  std::string_view name;
  std::string_view plural;  // as in the paths of an API
  std::string_view doc;
  const Type& (*spec)();
  Slotted (*add)(Catalog&);
  void (*drop_last)(Catalog&);
  bool configures;  // its objects set entries of devices
  bool written_by_reconciler;
};

std::span<const KindRow> kind_rows();
const KindRow* find_kind(std::string_view name);

// mode, suspend, onDelete, priority, overrides, raw: part of the spec of every kind that users write.
const Type& object_fields();
const Type& metadata_type();

}  // namespace lockstep
