// The table of fields documents the default of each field, for the reference and for editors.
#include <gtest/gtest.h>

#include <string>

#include "specs/language/idle_fields.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

// An object has no default itself, but its fields have; the default of a list or map is empty.
bool needs_default(const Type& type) {
  return type.item == nullptr && (type.shape != Type::Shape::object || !type.words.empty());
}

std::size_t check_fields(const Type& object, const std::string& path) {
  std::size_t checked = 0;
  if (is_idle(object.noun, "")) return checked;
  for (const Field& field : object.fields) {
    if (is_idle(object.noun, field.name)) continue;
    const std::string name = path + "." + std::string(field.name);
    const Type* inner = &field.type();
    if (!field.limits.required && needs_default(*inner)) {
      ++checked;
      EXPECT_FALSE(otherwise_of(object, field).empty())
          << name << " has no default in its table (Limits::otherwise)";
    }
    while (inner->item != nullptr) inner = &inner->item();
    if (inner->shape == Type::Shape::object) checked += check_fields(*inner, name);
  }
  return checked;
}

TEST(FieldDefaults, EveryOptionalFieldDocumentsItsDefault) {
  std::size_t checked = check_fields(object_fields(), "spec") + check_fields(metadata_type(), "metadata");
  for (const KindRow& kind : kind_rows())
    if (!kind.written_by_reconciler) checked += check_fields(kind.spec(), std::string(kind.name));
  EXPECT_GT(checked, 100U);
}

}  // namespace
}  // namespace lockstep
