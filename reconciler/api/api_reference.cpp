#include "reconciler/api/api_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "reconciler/api/openapi.hpp"
#include "reconciler/report/markdown_prose.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kIntroduction =
    "# API reference\n\n"
    "Generated from the program's own tables by `tests/docs/generate.sh`; edit those. A running service\n"
    "gives the same as OpenAPI 3.1 at `/openapi.json`. How to reach it, and who may do what:\n"
    "[service](service.md#reach-it). An answer that is no success is a `Status`, which says why.\n\n";

// "string or null" for a list.
std::string text_at(const Json& json, const char* name) {
  const Json value = json.value(name, Json(""));
  if (value.is_string()) return value.get<std::string>();
  std::string out;
  for (const Json& one : value) out += (out.empty() ? "" : " or ") + one.get<std::string>();
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string sentence(const std::string& text) {
  return capitalised(text) + (text.empty() || text.ends_with('.') ? "" : ".");
}

// "`viewer`", or how else it is known who asks.
std::string role_of(const std::string& path, const Json& operation) {
  const std::string role = text_at(operation, "x-lockstep-role");
  if (!role.empty()) return "`" + role + "`";
  return path.starts_with("/webhooks/") ? "the forge's secret" : "none";
}

std::string joined_words(const Json& words) {
  std::string out;
  for (const Json& word : words)
    out +=
        (out.empty() ? "" : ", ") + ("`" + (word.is_string() ? word.get<std::string>() : word.dump()) + "`");
  return out;
}

// "string, date-time", "one of `a`, `b`", "list of integers".
std::string type_of(const Json& schema) {
  if (schema.contains("const")) return joined_words(Json::array({schema["const"]}));
  if (schema.contains("enum")) return "one of " + joined_words(schema["enum"]);
  std::string out = text_at(schema, "type");
  if (out.empty()) return "any value";
  if (out == "array") return "list of " + type_of(schema.value("items", Json::object())) + "s";
  if (schema.contains("format")) out += ", " + text_at(schema, "format");
  if (schema.contains("maxLength")) out += fmt::format(", at most {} characters", schema["maxLength"].dump());
  return out;
}

class Page {
 public:
  explicit Page(const Json& document) : document_(document) {}
  std::string text() {
    add_requests();
    add_parameters();
    add_bodies();
    add_kinds();
    return std::string(kIntroduction) + out_;
  }

 private:
  void add_requests() {
    out_ += "## Requests\n\n| request | role | what it does |\n| --- | --- | --- |\n";
    for (const auto& [path, methods] : document_.at("paths").items())
      for (const auto& [method, operation] : methods.items()) {
        if (!operation.is_object() || !operation.contains("responses")) continue;
        out_ += fmt::format("| `{} {}` | {} | {} |\n", upper(method), path, role_of(path, operation),
                            markdown_prose(said_of(operation)));
      }
    out_ += "\n";
  }
  static std::string said_of(const Json& operation) {
    const std::string out = sentence(text_at(operation, "summary"));
    const std::string more = text_at(operation, "description");
    return more.empty() ? out : out + " " + more;
  }

  void add_parameters() {
    out_ += "## Parameters\n\n| parameter | in | what it does |\n| --- | --- | --- |\n";
    for (const auto& [key, parameter] : document_.at("components").at("parameters").items())
      out_ += fmt::format("| `{}` | {} | {} |\n", text_at(parameter, "name"), text_at(parameter, "in"),
                          markdown_prose(text_at(parameter, "description")));
    out_ += "\n";
  }

  void add_bodies() {
    out_ += "## Bodies\n\nOf the requests that have one, as JSON. Other fields are refused.\n\n";
    for (const auto& [path, methods] : document_.at("paths").items())
      for (const auto& [method, operation] : methods.items()) {
        if (!operation.is_object() || !operation.contains("requestBody")) continue;
        out_ += fmt::format("### {} {}\n\n", upper(method), path);
        begin_fields();
        add_fields(operation["requestBody"].at("content").at("application/json").at("schema"), "");
        out_ += "\n";
      }
  }

  void add_kinds() {
    out_ += "## Objects\n\n";
    add_shared();
    for (const auto& [name, schema] : document_.at("components").at("schemas").items()) {
      Json fields = schema;
      Json& properties = fields.at("properties");
      if (name == "Status" || !properties.contains("metadata") || properties.contains("items")) continue;
      out_ += fmt::format("### {}\n\n{}\n\n", name, markdown_prose(sentence(text_at(schema, "description"))));
      if (is_of_specs(name)) {
        out_ += fmt::format("`spec` is as in the [spec reference](spec-reference.md#{}).\n\n", lower(name));
        properties.erase("spec");
      }
      for (const char* const shared : {"apiVersion", "kind", "metadata"}) properties.erase(shared);
      begin_fields();
      add_fields(fields, "");
      out_ += "\n";
    }
  }
  // The cluster that a service shows is the service.
  static bool is_of_specs(const std::string& name) {
    const lockstep::KindRow* const kind = lockstep::find_kind(name);
    return name != "Cluster" && kind != nullptr && !kind->written_by_reconciler;
  }
  // What all kinds have, and the conditions of those that have some.
  void add_shared() {
    out_ += "### Every object\n\n";
    begin_fields();
    const Json& schemas = document_.at("components").at("schemas");
    add_fields(schemas.at("Device")["properties"]["metadata"], "metadata.");
    add_fields(schemas.at("Device")["properties"]["status"]["properties"]["conditions"]["items"],
               "status.conditions[].");
    out_ += "\n";
  }

  void begin_fields() { out_ += "| field | type |\n| --- | --- |\n"; }
  void add_fields(const Json& schema, const std::string& prefix) {
    const Json required = schema.value("required", Json::array());
    const Json fields = schema.value("properties", Json::object());
    for (const auto& [name, field] : fields.items()) {
      const std::string path = prefix + name;
      if (path == "status.conditions") continue;
      const Json& inner =
          text_at(field, "type") == "array" && field.contains("items") ? field["items"] : field;
      const bool is_object = inner.contains("properties");
      const bool always = std::ranges::find(required, Json(name)) != required.end();
      std::string type = is_object ? (&inner == &field ? "object" : "list of objects") : type_of(field);
      if (always) type += ", required";
      if (const std::string said = text_at(field, "description"); !said.empty()) type += ": " + said;
      out_ += fmt::format("| `{}` | {} |\n", path, markdown_prose(type));
      if (is_object) add_fields(inner, path + (&inner == &field ? "." : "[]."));
    }
  }

  const Json& document_;
  std::string out_;
};

}  // namespace

std::string api_reference() {
  const Json document = openapi_document();
  return Page(document).text();
}

}  // namespace lockstep::api
