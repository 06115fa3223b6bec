// How objects are printed: as a table, or in a form for programs.
//
// Promises: what comes is escaped as its form needs it (reconciler/report/escape.hpp); a text for a person
// goes through report_text() as well.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "reconciler/client/json_path.hpp"
#include "reconciler/client/object_kinds.hpp"

namespace lockstep::client {

struct ObjectForm {
  enum class Kind : std::uint8_t { text, wide, yaml, json, name, jsonpath };
  Kind kind{};
  std::optional<JsonPath> path{};  // of jsonpath
  bool is_table() const { return kind == Kind::text || kind == Kind::wide; }
};
constexpr auto words(ObjectForm::Kind) {
  return std::to_array<std::string_view>({"text", "wide", "yaml", "json", "name", "jsonpath"});
}
// "wide", "jsonpath={.metadata.name}". Errors: invalid_spec.
Result<ObjectForm> parse_object_form(const std::string& text);

// An object, or a list with `items`, in a form that is no table.
Result<std::string> printed(const ObjectForm& form, const KindRow& kind, const nlohmann::json& document);
// One object of a watch: JSON in one line, YAML as a document of its own.
Result<std::string> printed_change(const ObjectForm& form, const KindRow& kind, const nlohmann::json& object);

// Sorts `items` by what `path` leads to in each: numbers, then texts; those without come first.
Result<Done> sort_items(nlohmann::json& list, const std::string& path);

}  // namespace lockstep::client
