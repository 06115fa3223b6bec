#include "reconciler/api/api_object.hpp"

#include <nlohmann/json.hpp>

#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kCut = "...";

// Cut between characters.
std::string shortened(std::string text) {
  if (text.size() <= kTextMax) return text;
  std::size_t end = kTextMax - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text.append(kCut);
}

// The value at "status.inSync"; null: it has none.
const Json* value_at(const Json& document, std::string_view field) {
  const Json* at = &document;
  while (!field.empty()) {
    const std::size_t end = field.find('.');
    const auto found = at->is_object() ? at->find(std::string(field.substr(0, end))) : at->end();
    if (found == at->end()) return nullptr;
    at = &*found;
    field = end == field.npos ? std::string_view() : field.substr(end + 1);
  }
  return at;
}

std::string field_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) return "true";  // it is there: a device is cordoned by somebody
  return value.dump();
}

}  // namespace

void make_presentable(Json& document) {
  if (document.is_string()) {
    auto& text = document.get_ref<std::string&>();
    text = shortened(printable(text));
  } else if (document.is_structured()) {
    for (Json& part : document) make_presentable(part);
  }
}

ApiObject to_object(Kind kind, Json document) {
  make_presentable(document);
  ApiObject out{.kind = kind, .name = document.at("metadata").at("name").get<std::string>()};
  if (const Json* const labels = value_at(document, "metadata.labels"); labels != nullptr)
    for (const auto& [name, value] : labels->items()) out.labels[name] = value.get<std::string>();
  out.fields["metadata.name"] = out.name;
  for (const std::string_view field : row_of(kind).fields)
    if (const Json* const value = field.empty() ? nullptr : value_at(document, field); value != nullptr)
      out.fields[std::string(field)] = field_text(*value);
    else if (!field.empty() && field.starts_with("spec.cordoned"))
      out.fields[std::string(field)] = "false";
  out.text = document.dump();
  out.text.shrink_to_fit();  // the log keeps thousands of them
  return out;
}

}  // namespace lockstep::api
