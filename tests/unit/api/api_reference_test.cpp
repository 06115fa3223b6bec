// docs/api.md against the OpenAPI document, which tests/api checks against samples, and tests/client against
// what a service serves.
#include "reconciler/api/api_reference.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reconciler/api/openapi.hpp"

namespace lockstep::api {
namespace {

TEST(ApiReference, HasEachRequestParameterAndKindOnce) {
  const nlohmann::json document = openapi_document();
  const std::string page = api_reference();
  const auto times = [&page](const std::string& text) {
    std::size_t out = 0;
    for (auto at = page.find(text); at != page.npos; at = page.find(text, at + 1)) ++out;
    return out;
  };
  for (const auto& [path, methods] : document["paths"].items()) {
    if (methods.contains("get")) {
      EXPECT_EQ(times("| `GET " + path + "` |"), 1U);
    }
    if (methods.contains("post")) {
      EXPECT_EQ(times("| `POST " + path + "` |"), 1U);
      EXPECT_EQ(times("### POST " + path + "\n"), methods["post"].contains("requestBody") ? 1U : 0U);
    }
  }
  for (const auto& [key, parameter] : document["components"]["parameters"].items())
    EXPECT_EQ(times("\n| `" + parameter["name"].get<std::string>() + "` |"), 1U) << key;
  for (const auto& [name, schema] : document["components"]["schemas"].items())
    EXPECT_EQ(times("### " + name + "\n"), name == "Status" || name.ends_with("List") ? 0U : 1U) << name;
}

TEST(ApiReference, HasTheFieldsOfObjectsByTheirPaths) {
  const std::string page = api_reference();
  for (const char* const line :
       {"| `status.drift[].path` | string, required |\n", "| `spec.author` | string",
        "| `spec.cordoned` | object", "| `spec.purpose` | ", "| `spec.suspended` | object |\n",
        "| `metadata.name` | string, required |\n", "| `involvedObject.kind` | string, required |\n",
        "| `status.conditions[].status` | one of `True`, `False`, `Unknown`, required |\n"})
    EXPECT_NE(page.find(line), page.npos) << line;
}

}  // namespace
}  // namespace lockstep::api
