// jsonpath: what kubectl 1.32 printed for the same templates (jsonpath.json, by record_jsonpath.py), and what
// is refused.
#include "reconciler/client/json_path.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "reconciler/client/object_form.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;

Result<std::string> print(const std::string& text, const Json& document) {
  TRY(const JsonPath path, JsonPath::parse(text));
  return path.print(document);
}

TEST(JsonPath, PrintsWhatKubectlPrints) {
  std::ifstream in(LOCKSTEP_SOURCE_DIR "/tests/unit/client/jsonpath.json");
  const Json recorded = Json::parse(in);
  ASSERT_GT(recorded["cases"].size(), 60U);
  for (const Json& one : recorded["cases"]) {
    const std::string text = one["template"];
    const Result<std::string> printed = print(text, recorded["document"]);
    if (one.contains("fails"))
      EXPECT_FALSE(printed) << text << " prints " << *printed;
    else
      EXPECT_EQ(printed ? *printed : printed.error().text(), one["prints"].get<std::string>()) << text;
  }
}

// The table of kubernetes.io/docs/reference/kubectl/jsonpath, with its own document; maps are JSON since
// kubectl 1.16.
TEST(JsonPath, PrintsTheExamplesOfTheDocumentation) {
  const Json document = Json::parse(R"({"kind": "List",
    "items": [{"kind": "None", "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "127.0.0.1"}},
               "status": {"capacity": {"cpu": "4"}, "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.1"}]}},
              {"kind": "None", "metadata": {"name": "127.0.0.2"},
               "status": {"capacity": {"cpu": "8"}, "addresses": [{"type": "LegacyHostIP", "address": "127.0.0.2"},
                                                                  {"type": "another", "address": "127.0.0.3"}]}}],
    "users": [{"name": "myself", "user": {}},
              {"name": "e2e", "user": {"username": "admin", "password": "secret"}}]})");
  const std::vector<std::pair<std::string, std::string>> examples{
      {"kind is {.kind}", "kind is List"},
      {"{.kind}", "List"},
      {"{['kind']}", "List"},
      {"{..name}", "127.0.0.1 127.0.0.2 myself e2e"},
      {"{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"},
      {"{.users[0].name}", "myself"},
      {"{.items[*]['metadata.name', 'status.capacity']}", R"(127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"})"},
      {"{.users[?(@.name==\"e2e\")].user.password}", "secret"},
      {"{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
       R"([127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] )"},
      {"{range .items[*]}{.metadata.name}{'\\t'}{end}", "127.0.0.1\t127.0.0.2\t"},
      {"{.items[0].metadata.labels.kubernetes\\.io/hostname}", "127.0.0.1"}};
  for (const auto& [text, prints] : examples) {
    const Result<std::string> printed = print(text, document);
    EXPECT_EQ(printed ? *printed : printed.error().text(), prints) << text;
  }
  EXPECT_EQ(Json::parse(*print("{@}", document)), document);
}

TEST(JsonPath, SaysWhatIsNotSupportedAndWhere) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {".metadata.name", "write {.metadata.name}"},
      {"{.items[?(@.a==1 && @.b==2)]}", "a filter is one comparison"},
      {"{.items[?(@.a=~\"x\")]}", "regular expressions"},
      {"{.items.length()}", "functions"},
      {"{.items[?(length(@.a)>1)]}", "neither a path"},
      {"{range .items[*]}{.a}", "has no {end}"},
      {"{end}", "{end} without {range}"},
      {"{.a", "{ without }"},
      {"{.a[}", "[ without ]"},
      {"{.a['b}", "quote"},
      {"{\"a}", "quote does not end"},
      {"{\"\\q\"}", "after \\ may be"},
      {"{metadata.name}", "begins with a dot"},
      {"{.a[x]}", "between [ and ]"},
      {"{.a[1:2:0]}", "at least 1"},
      {"{.a..}", "name is missing"},
      {"{.a[99999999999999999999]}", "between [ and ]"},
      {std::string(70'000, 'x'), "too long"}};
  for (const auto& [text, why] : wrong) {
    const Result<JsonPath> parsed = JsonPath::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().text().find(why), std::string::npos) << text << ": " << parsed.error().text();
  }
  EXPECT_NE(JsonPath::parse("{.a[}").error().text().find("character 5"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{range .a[?(@.b[?(@.c)])]}";
  EXPECT_FALSE(JsonPath::parse(deep));
}

// Of the empty text and each beginning of templates: an answer, and nothing else.
TEST(JsonPath, SurvivesEachBeginningOfATemplate) {
  const std::string whole =
      "a{range .items[?(@.x[0:1].y!='\\'z')]}{..b['c.d\\.e',\"f\"][-1,2:3]}{\"\\n\\t\"}{end}{$.q}";
  const Json document = Json::parse(R"({"items": [{"x": [{"y": "k"}], "b": {"c": 1}}], "q": [null]})");
  for (std::size_t i = 0; i <= whole.size(); ++i) (void)print(whole.substr(0, i), document);
  for (std::size_t i = 0; i < whole.size(); ++i) (void)print(std::string(whole).erase(i, 1), document);
}

TEST(JsonPath, HidesWhatWouldActOnATerminal) {
  EXPECT_EQ(*print("{.a}", Json{{"a", "x\x1b[31my"}}), "x\\x1b[31my");
}

std::string sorted_names(const std::string& by) {
  Json list =
      Json::parse(R"({"items": [{"n": "c", "v": 10}, {"n": "a", "v": 9}, {"n": "b"}, {"n": "d", "v": 9}]})");
  const Result<Done> sorted = sort_items(list, by);
  if (!sorted) return sorted.error().text();
  std::string out;
  for (const Json& one : list["items"]) out += one["n"].get<std::string>();
  return out;
}

TEST(JsonPath, SortsByAPathInEachOfItsForms) {
  EXPECT_EQ(sorted_names("{.v}"), "badc")
      << "numbers as numbers, those without first, equal ones as they were";
  EXPECT_EQ(sorted_names(".v"), "badc");
  EXPECT_EQ(sorted_names("n"), "abcd");
  EXPECT_NE(sorted_names("{.v}{.n}").find("is not one path"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::client
