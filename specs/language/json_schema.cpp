#include "specs/language/json_schema.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::string_view draft = "https://json-schema.org/draft/2020-12/schema";

Json schema_of(const Type& type, const Limits& limits);

// The text that an editor shows for a field.
std::string description_of(const Type& object, const Field& field) {
  const std::string_view otherwise = otherwise_of(object, field);
  return std::string(field.doc) + (otherwise.empty() ? "" : " (default: " + std::string(otherwise) + ")");
}

void add_fields(Json& schema, const Type& object) {
  for (const Field& one : object.fields) {
    Json field = schema_of(one.type(), one.limits);
    field["description"] = description_of(object, one);
    if (one.limits.not_empty) {
      const Type::Shape shape = one.type().shape;
      if (shape == Type::Shape::list) field["minItems"] = 1;
      if (shape == Type::Shape::entries) field["minProperties"] = 1;
    }
    schema["properties"][std::string(one.name)] = std::move(field);
    if (one.limits.required) schema["required"].push_back(one.name);
  }
}

std::string_view pattern_of(Form form) {
  switch (form) {
    case Form::any:
    case Form::note:
    case Form::scalar:
    case Form::entry: return {};
    case Form::name: return "^[0-9A-Za-z]([0-9A-Za-z._-]{0,251}[0-9A-Za-z])?$";
    case Form::word: return "^\\S+$";
    case Form::sysctl: return "^[^\\s.]+([.][^\\s.]+)+$";
    case Form::hostlist: return "^[^\\s:]+$";
    case Form::hosts: return "^[0-9A-Za-z[]([^\\s:_]*[0-9A-Za-z\\]])?$";
    case Form::ports: return "^[^\\s:]+:[^\\s:]+$";
    case Form::sentence:
    case Form::filled:
    case Form::kernel_parameter: return "\\S";
  }
  return {};
}

// For a benchmark: an SLO uses a metric of its workload.
Json metrics_by_workload() {
  Json all = Json::array();
  for (std::size_t i = 0; i < words_of<Workload>.size(); ++i) {
    Json metrics = Json::array();
    for (const Metric one : metrics_of(static_cast<Workload>(i))) metrics.push_back(to_string(one));
    const Json workload{{"properties", {{"workload", {{"const", words_of<Workload>[i]}}}}}};
    const Json metric{{"properties", {{"metric", {{"enum", std::move(metrics)}}}}}};
    all.push_back({{"if", workload}, {"then", {{"properties", {{"slo", {{"items", metric}}}}}}}});
  }
  return all;
}

// For an SLO: the direction and the pattern of its metric's bound.
Json bounds_by_metric() {
  Json all = Json::array();
  for (std::size_t i = 0; i < words_of<Metric>.size(); ++i) {
    const auto one = static_cast<Metric>(i);
    const Json metric{{"required", Json::array({"metric"})},
                      {"properties", {{"metric", {{"const", words_of<Metric>[i]}}}}}};
    const std::string_view right = is_floor(one) ? "atLeast" : "atMost";
    const std::string_view wrong = is_floor(one) ? "atMost" : "atLeast";
    const Json bound{{"required", Json::array({right})},
                     {"not", {{"required", Json::array({wrong})}}},
                     {"properties", {{right, {{"pattern", bound_pattern_of(one)}}}}}};
    all.push_back({{"if", metric}, {"then", bound}});
  }
  return all;
}

Json object_of(const Type& type) {
  Json schema{{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  add_fields(schema, type);
  return schema;
}

Json text_of(const Type& type, const Limits& limits) {
  if (!type.words.empty()) return {{"type", "string"}, {"enum", type.words}};
  // Quantities may be written without quotes; some then read as numbers (an AS number, a wave).
  if (!type.pattern.empty()) {
    Json schema{{"type", Json::array({"string", "number"})}, {"pattern", type.pattern}};
    if (!limits.range.empty()) schema["$comment"] = limits.range;
    if (!limits.pattern.empty()) schema["allOf"] = Json::array({Json{{"pattern", limits.pattern}}});
    return schema;
  }
  Json schema{{"type", "string"}};
  if (const std::string_view pattern = pattern_of(limits.form); !pattern.empty()) schema["pattern"] = pattern;
  return schema;
}

Json schema_of(const Type& type, const Limits& limits) {
  switch (type.shape) {
    case Type::Shape::boolean: return {{"type", "boolean"}};
    case Type::Shape::integer: {
      Json schema{{"type", "integer"}};
      const std::int64_t least = std::max(limits.least, type.least);
      const std::int64_t most = std::min(limits.most, type.most);
      if (least != std::numeric_limits<std::int64_t>::min()) schema["minimum"] = least;
      if (most != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = most;
      return schema;
    }
    case Type::Shape::text: return text_of(type, limits);
    case Type::Shape::literal:
      if (limits.form != Form::scalar) return Json::object();
      return {{"type", Json::array({"string", "number", "boolean"})}};
    case Type::Shape::list: {
      Json schema{{"type", "array"}, {"items", schema_of(type.item(), limits)}};
      return schema;
    }
    case Type::Shape::entries: {
      if (limits.key == Form::entry) return {{"$ref", "#/$defs/settings"}};
      Json schema{{"type", "object"}, {"additionalProperties", schema_of(type.item(), limits)}};
      if (const std::string_view pattern = pattern_of(limits.key); !pattern.empty())
        schema["propertyNames"] = {{"pattern", pattern}};
      return schema;
    }
    case Type::Shape::object: break;
  }
  Json object = object_of(type);
  if (&type == &struct_type<Benchmark>()) object["allOf"] = metrics_by_workload();
  if (&type == &struct_type<Slo>()) object["allOf"] = bounds_by_metric();
  if (type.words.empty()) return object;
  return {{"oneOf", Json::array({Json{{"type", "string"}, {"enum", type.words}}, std::move(object)})}};
}

Json document_of(const KindRow& kind) {
  Json spec = object_of(kind.spec());
  add_fields(spec, object_fields());
  Json properties{{"apiVersion", {{"const", api_version}}},
                  {"kind", {{"const", kind.name}}},
                  {"metadata", schema_of(metadata_type(), {})},
                  {"spec", std::move(spec)}};
  properties["status"] = {{"type", "object"}, {"description", "written by the reconciler only"}};
  return {{"title", kind.name},
          {"description", kind.doc},
          {"type", "object"},
          {"required", {"apiVersion", "kind", "metadata", "spec"}},
          {"additionalProperties", false},
          {"properties", std::move(properties)}};
}

}  // namespace

Json json_schema_of(const Type& type, const Limits& limits) { return schema_of(type, limits); }

Json json_schema(const KindRow& kind, const Json& entries) {
  Json schema = document_of(kind);
  schema["$schema"] = draft;
  schema["$defs"]["settings"] = entries;
  return schema;
}

Json json_schema_of_all(const Json& entries) {
  Json all = Json::array();
  for (const KindRow& kind : kind_rows())
    if (!kind.written_by_reconciler) all.push_back(document_of(kind));
  return {{"$schema", draft},
          {"title", "Lockstep specs"},
          {"$defs", {{"settings", entries}}},
          {"oneOf", std::move(all)}};
}

}  // namespace lockstep
