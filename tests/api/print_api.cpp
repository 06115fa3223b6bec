// print_api: the OpenAPI document and an object of each kind as JSON, for check_openapi.py.
#include <iostream>
#include <nlohmann/json.hpp>

#include "reconciler/api/openapi.hpp"
#include "tests/unit/api/sample_objects.hpp"

int main() {
  namespace api = lockstep::api;
  nlohmann::json out{{"openapi", api::openapi_document()}, {"samples", nlohmann::json::object()}};
  for (const auto& [name, object] : api::sample_objects())
    out["samples"][name] = nlohmann::json::parse(object.text);
  std::cout << out.dump() << "\n";
}
