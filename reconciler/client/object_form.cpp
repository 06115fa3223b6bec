#include "reconciler/client/object_form.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "reconciler/client/object_fields.hpp"
#include "reconciler/report/escape.hpp"
#include "specs/language/words.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;

std::string name_line(const KindRow& kind, const Json& object) {
  return std::string(kind.singular) + "/" + printable(text_at(object, "metadata.name")) + "\n";
}

std::string name_lines(const KindRow& kind, const Json& document) {
  const Json* const items = find_at(document, "items");
  if (items == nullptr || !items->is_array()) return name_line(kind, document);
  std::string out;
  for (const Json& item : *items) out += name_line(kind, item);
  return out;
}

}  // namespace

Result<ObjectForm> parse_object_form(const std::string& text) {
  ObjectForm out;
  const std::size_t equals = text.find('=');
  const auto kind = spelled<ObjectForm::Kind>(text.substr(0, equals));
  const bool takes_path = kind == ObjectForm::Kind::jsonpath;
  if (!kind || takes_path != (equals != text.npos))
    return Error{ErrorKind::invalid_spec,
                 "'" + printable(text) + "' is not one of text, wide, yaml, json, name, jsonpath={...}"};
  out.kind = *kind;
  if (takes_path) {
    TRY(out.path, JsonPath::parse(text.substr(equals + 1)));
  }
  return out;
}

Result<std::string> printed(const ObjectForm& form, const KindRow& kind, const Json& document) {
  switch (form.kind) {
    case ObjectForm::Kind::yaml: return yaml_text(document);
    case ObjectForm::Kind::name: return name_lines(kind, document);
    case ObjectForm::Kind::jsonpath: return form.path->print(document);
    default: return json_text(document, 2);
  }
}

Result<std::string> printed_change(const ObjectForm& form, const KindRow& kind, const Json& object) {
  if (form.kind == ObjectForm::Kind::json) return json_text(object, -1);
  TRY(std::string text, printed(form, kind, object));
  return form.kind == ObjectForm::Kind::yaml ? "---\n" + text : text;
}

Result<Done> sort_items(Json& list, const std::string& path) {
  TRY(const JsonPath by, JsonPath::parse_path(path));
  std::vector<std::pair<Json, Json>> sorted;
  for (Json& item : list["items"]) {
    TRY(const auto found, by.find(item));
    Json key = found.empty() ? Json() : *found.front();
    sorted.emplace_back(std::move(key), std::move(item));
  }
  // Of different types, null comes first and numbers before texts (nlohmann::json's order).
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < sorted.size(); ++i) list["items"][i] = std::move(sorted[i].second);
  return Done{};
}

}  // namespace lockstep::client
