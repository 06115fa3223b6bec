#include "reconciler/api/openapi.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "reconciler/api/action_body.hpp"
#include "reconciler/api/answer.hpp"
#include "reconciler/api/list_page.hpp"
#include "reconciler/api/proposed_specs.hpp"
#include "reconciler/api/routes.hpp"
#include "reconciler/metrics/service_metrics.hpp"
#include "specs/language/api_version.hpp"
#include "specs/language/words.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;

Json reference(const std::string& name) { return {{"$ref", "#/components/" + name}}; }
Json schema_reference(std::string_view name) { return reference("schemas/" + std::string(name)); }

Json json_content(Json schema) { return {{std::string(kJson), {{"schema", std::move(schema)}}}}; }

Json described(const char* what, Json content) {
  return {{"description", what}, {"content", std::move(content)}};
}

// What fails, fails with a Status.
Json responses_of(Json good, bool authenticates) {
  Json out{{"200", std::move(good)}, {"default", reference("responses/Failure")}};
  if (authenticates) {
    out["401"] = reference("responses/Failure");
    out["403"] = reference("responses/Failure");
  }
  return out;
}

Json parameter(const char* name, const char* in, const char* what, Json schema) {
  return {{"name", name},
          {"in", in},
          {"required", std::string_view(in) == "path"},
          {"description", what},
          {"schema", std::move(schema)}};
}

Json parameters() {
  const Json text{{"type", "string"}};
  return {
      {"name", parameter("name", "path", "metadata.name of the object.", text)},
      {"labelSelector",
       parameter("labelSelector", "query",
                 "As in Kubernetes: a=b, a==b, a!=b, a in (b,c), a notin (b,c), a, !a, joined by commas.",
                 text)},
      {"fieldSelector", parameter("fieldSelector", "query",
                                  "As in Kubernetes, on the fields that the operation names.", text)},
      {"limit", parameter("limit", "query", "At most so many objects; metadata.continue leads to the others.",
                          {{"type", "integer"}, {"minimum", 0}, {"default", kPageDefault}})},
      {"continue", parameter("continue", "query", "metadata.continue of the page before.", text)},
      {"watch", parameter("watch", "query", "1: server-sent events of the changes, instead of a list.",
                          {{"enum", {"1", "true", "0", "false", ""}}})},
      {"resourceVersion",
       parameter("resourceVersion", "query",
                 "Of a watch: the position after which it begins. Without it, what there is comes first.",
                 text)},
      {"lastEventId", parameter("Last-Event-ID", "header", "As resourceVersion; it counts first.", text)}};
}

std::string fields_of_kind(const KindRow& kind) {
  std::string out = "Fields for fieldSelector: metadata.name";
  for (const std::string_view field : kind.fields)
    if (!field.empty()) out.append(", ").append(field);
  return out + ".";
}

Json operation(const std::string& id, std::string_view tag, std::string_view what, Role role) {
  return {{"operationId", id},
          {"tags", {tag}},
          {"summary", what},
          {"x-lockstep-role", to_string(role)},
          {"security", {{{"token", Json::array()}}, {{"certificate", Json::array()}}}}};
}

Json watch_parameters(const std::vector<const char*>& others) {
  Json out = Json::array();
  for (const char* const name : others) out.push_back(reference(std::string("parameters/") + name));
  for (const char* const name : {"watch", "resourceVersion", "lastEventId"})
    out.push_back(reference(std::string("parameters/") + name));
  return out;
}

Json read_content(Json schema) {
  Json out = json_content(std::move(schema));
  out[std::string(kEventStream)] = {{"schema", {{"type", "string"}}}};
  return out;
}

Json list_operation(const KindRow& kind) {
  Json out = operation("list" + std::string(kind.name), kind.name, kind.what, Role::viewer);
  out["description"] = fields_of_kind(kind);
  out["parameters"] = watch_parameters({"labelSelector", "fieldSelector", "limit", "continue"});
  out["responses"] = responses_of(described("A page of the list, or its changes.",
                                            read_content(schema_reference(std::string(kind.name) + "List"))),
                                  true);
  return out;
}

Json object_operation(const KindRow& kind) {
  Json out = operation("get" + std::string(kind.name), kind.name, kind.what, Role::viewer);
  out["parameters"] = watch_parameters({"name"});
  out["responses"] =
      responses_of(described("The object, or its changes.", read_content(schema_reference(kind.name))), true);
  return out;
}

Json action_operation(const ActionRow& action) {
  Json properties{{"reason", {{"type", "string"}, {"maxLength", kReasonMax}}}};
  if (action.steps)
    properties["steps"] = {
        {"type", "array"},
        {"minItems", 1},
        {"items", {{"type", "string"}, {"pattern", "^(sha256:)?[0-9a-f]{4,64}$"}}},
        {"description", "The starts of the digests of steps, as status.waiting shows them."}};
  Json body{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (action.needs_reason) body["required"] = {"reason"};
  Json out = operation(std::string(action.word) + std::string(row_of(action.kind).name),
                       row_of(action.kind).name, action.what, action.role);
  out["parameters"] = Json::array({reference("parameters/name")});
  out["requestBody"] = {{"required", action.needs_reason}, {"content", json_content(std::move(body))}};
  out["responses"] =
      responses_of(described("It is done, and stored.", json_content(schema_reference("Status"))), true);
  return out;
}

Json proposal_body() {
  const auto text = [](const char* what) {
    return Json{{"type", "string"}, {"maxLength", kProposedTextMax}, {"description", what}};
  };
  return {{"type", "object"},
          {"required", {"files"}},
          {"additionalProperties", false},
          {"properties",
           {{"files",
             {{"type", "object"},
              {"minProperties", 1},
              {"maxProperties", kProposedFilesMax},
              {"additionalProperties", {{"type", "string"}}},
              {"description", "The text of each file, by its path in the folder of specs."}}},
            {"folder", text("How the author names that folder: before the names of files in what is shown.")},
            {"only", text("Only these devices: a hostlist.")},
            {"details", {{"type", "boolean"}, {"description", "In the text: every change by itself."}}},
            {"text",
             {{"enum", words(PlanText{})},
              {"description", "Whether `service.text` is what `lockstep plan` prints."}}}}}};
}

// A document of `lockstep plan -o json`, with what the service adds.
Json document_schema(const char* kind, const char* has) {
  Json out{{"type", "object"},
           {"required", {"apiVersion", "kind", has}},
           {"properties",
            {{"apiVersion", {{"const", api_version}}},
             {"kind", {{"const", kind}}},
             {has, {{"type", "array"}}},
             {"service", {{"type", "object"}}}}}};
  return out;
}

Json proposal_operation() {
  const KindRow& kind = row_of(Kind::cluster);
  Json out = operation(std::string(kPlanWord) + std::string(kind.name), kind.name,
                       "What specs would change on the devices, as they are now. Changes nothing, and keeps "
                       "nothing but a line in the audit log.",
                       kPlanRole);
  out["parameters"] = Json::array({reference("parameters/name")});
  out["requestBody"] = {{"required", true}, {"content", json_content(proposal_body())}};
  out["responses"] = responses_of(described("The plan, as `lockstep plan -o json` prints it.",
                                            json_content(document_schema("Plan", "steps"))),
                                  true);
  out["responses"]["422"] = described("The specs can't be planned: each mistake with its file and line.",
                                      json_content(document_schema("Error", "errors")));
  return out;
}

Json webhook_operation(Forge forge) {
  const std::string name(to_string(forge));
  Json out{{"operationId", name + "Webhook"},
           {"tags", {"webhooks"}},
           {"summary", "For " + name + ": the specs have changed. Only the signature is read of the body."},
           {"parameters", Json::array({parameter(std::string(proof_header(forge)).c_str(), "header",
                                                 "The signature, or the secret, as "
                                                 "the forge sends it.",
                                                 {{"type", "string"}})})},
           {"security", Json::array()}};
  out["responses"] = {
      {"202", described("The specs are fetched soon.", json_content(schema_reference("Status")))},
      {"default", reference("responses/Failure")}};
  return out;
}

Json plain_operation(const PlainRoute& route) {
  const std::string_view text = route.what == What::metrics ? ServiceMetrics::kContentType : kText;
  Json content = route.what == What::openapi ? json_content({{"type", "object"}})
                                             : Json{{std::string(text), {{"schema", {{"type", "string"}}}}}};
  Json out{{"operationId", std::string(route.path.substr(1, route.path.find('.') - 1))},
           {"tags", {"service"}},
           {"summary", route.does},
           {"security", Json::array()}};
  if (route.for_callers) {
    out["x-lockstep-role"] = to_string(Role::viewer);
    out["security"] = {{{"token", Json::array()}}, {{"certificate", Json::array()}}};
  }
  out["responses"] = responses_of(described("So it is.", std::move(content)), route.for_callers);
  return out;
}

Json all_paths() {
  Json out = Json::object();
  for (const KindRow& kind : kinds()) {
    const std::string path = std::string(kVersionPath) + "/" + std::string(kind.plural);
    out[path]["get"] = list_operation(kind);
    out[path + "/{name}"]["get"] = object_operation(kind);
  }
  for (const ActionRow& action : actions())
    out[std::string(kVersionPath) + "/" + std::string(row_of(action.kind).plural) +
        "/{name}:" + std::string(action.word)]["post"] = action_operation(action);
  out[std::string(kVersionPath) + "/" + std::string(row_of(Kind::cluster).plural) +
      "/{name}:" + std::string(kPlanWord)]["post"] = proposal_operation();
  for (const std::string_view forge : words(Forge{}))
    out["/webhooks/" + std::string(forge)]["post"] = webhook_operation(*spelled<Forge>(forge));
  for (const PlainRoute& route : kPlainRoutes) out[std::string(route.path)]["get"] = plain_operation(route);
  return out;
}

Json all_schemas() {
  Json out = Json::object();
  for (const KindRow& kind : kinds()) {
    out[std::string(kind.name)] = schema_of(kind.kind);
    out[std::string(kind.name) + "List"] = {
        {"type", "object"},
        {"required", {"apiVersion", "kind", "metadata", "items"}},
        {"properties",
         {{"apiVersion", {{"const", api_version}}},
          {"kind", {{"const", std::string(kind.name) + "List"}}},
          {"metadata",
           {{"type", "object"},
            {"required", {"resourceVersion"}},
            {"properties", {{"resourceVersion", {{"type", "string"}}}, {"continue", {{"type", "string"}}}}}}},
          {"items", {{"type", "array"}, {"items", schema_reference(kind.name)}}}}}};
  }
  out["Status"] = {{"type", "object"},
                   {"required", {"kind", "apiVersion", "status", "message", "code"}},
                   {"properties",
                    {{"kind", {{"const", "Status"}}},
                     {"apiVersion", {{"const", "v1"}}},
                     {"metadata", {{"type", "object"}}},
                     {"status", {{"enum", {"Success", "Failure"}}}},
                     {"message", {{"type", "string"}}},
                     {"reason", {{"type", "string"}}},
                     {"code", {{"type", "integer"}}}}}};
  return out;
}

}  // namespace

Json openapi_document() {
  return {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Lockstep"},
        {"version", "v1alpha1"},
        {"description", "The service of one cluster: what it knows and does, and what people say to it."}}},
      {"paths", all_paths()},
      {"components",
       {{"schemas", all_schemas()},
        {"parameters", parameters()},
        {"responses", {{"Failure", described("Why not.", json_content(schema_reference("Status")))}}},
        {"securitySchemes",
         {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
          {"certificate",
           {{"type", "mutualTLS"},
            {"description",
             "A client certificate of lockstep://CLUSTER/{viewer,operator,admin}/NAME."}}}}}}}};
}

}  // namespace lockstep::api
