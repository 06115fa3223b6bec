// Targets, selectors, media types, routes and bodies: each with what it refuses.
#include <gtest/gtest.h>

#include "reconciler/api/action_body.hpp"
#include "reconciler/api/json_body.hpp"
#include "reconciler/api/media_types.hpp"
#include "reconciler/api/request_target.hpp"
#include "reconciler/api/routes.hpp"
#include "reconciler/api/selectors.hpp"

namespace lockstep::api {
namespace {

Route routed(std::string_view target) {
  const auto parsed = parse_target(target);
  return parsed ? route_of(*parsed) : Route{};
}

TEST(RequestTarget, IsDecodedInItsParts) {
  const auto target =
      parse_target("/api/v1alpha1/devices/a%2Fb%20c?labelSelector=a%3Db%2Cc&x=1+2%2B3&watch&timeout=32s");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments, (std::vector<std::string>{"api", "v1alpha1", "devices", "a/b c"}));
  EXPECT_EQ(target->query.at("labelSelector"), "a=b,c");
  EXPECT_EQ(target->query.at("x"), "1 2+3");
  EXPECT_EQ(target->query.at("watch"), "");
  EXPECT_EQ(parse_target("http://h:80/healthz?x")->segments, std::vector<std::string>{"healthz"});
  EXPECT_TRUE(parse_target("/")->segments.empty());
  EXPECT_EQ(parse_target("/a//b")->segments, (std::vector<std::string>{"a", "", "b"}));
}

TEST(RequestTarget, RefusesWhatIsMalformedAndSaysWhy) {
  const auto why = [](std::string_view target) {
    const auto parsed = parse_target(target);
    return parsed ? "" : parsed.error().text();
  };
  EXPECT_NE(why("healthz").find("start with /"), std::string::npos);
  EXPECT_NE(why("").find("start with /"), std::string::npos);
  EXPECT_NE(why("http://h?x").find("no path"), std::string::npos);
  for (const char* const target : {"/a%", "/a%2", "/a%zz", "/a?x=%g1"})
    EXPECT_NE(why(target).find("two hexadecimal digits"), std::string::npos) << target;
  EXPECT_NE(why("/a%00b").find("NUL"), std::string::npos);
  EXPECT_NE(why("/a%ff").find("UTF-8"), std::string::npos);
  EXPECT_NE(why("/a?limit=1&limit=2").find("'limit' appears twice"), std::string::npos);
  std::string many = "/a?";
  for (std::size_t i = 0; i <= kParametersMax; ++i) many += "p" + std::to_string(i) + "&";
  EXPECT_NE(why(many).find("more than 32"), std::string::npos);
}

TEST(ApiRoutes, FollowTheTables) {
  EXPECT_EQ(routed("/api/v1alpha1/devices").what, What::list);
  EXPECT_EQ(routed("/api/v1alpha1/devices/").what, What::list);
  EXPECT_EQ(routed("/api/v1alpha1/devices/gpu1").name, "gpu1");
  const Route approve = routed("/api/v1alpha1/revisions/sha256:ab12:approve");
  EXPECT_EQ(approve.what, What::action);
  EXPECT_EQ(approve.name, "sha256:ab12");
  EXPECT_EQ(approve.action->verb, Verb::approve);
  EXPECT_EQ(approve.allowed(), "POST, OPTIONS");
  EXPECT_FALSE(approve.allows("GET"));
  EXPECT_EQ(routed("/api/v1alpha1/revisions/sha256:ab12").what, What::object) << "no action is called so";
  EXPECT_EQ(routed("/api/v1alpha1/devices/gpu1:approve").what, What::object) << "of another kind";
  EXPECT_EQ(routed("/api/v1alpha1/revisions/:approve").what, What::object) << "an empty name is no name";
  EXPECT_EQ(routed("/webhooks/gitea").forge, Forge::gitea);
  for (const char* const unknown :
       {"/", "/api", "/api/v1", "/api/v1alpha1", "/api/v1alpha2/devices", "/api/v1alpha1/switches",
        "/api/v1alpha1/devices/a/b", "/webhooks/bitbucket", "/webhooks", "/healthz/x", "//healthz",
        "/api/v1alpha1//devices"})
    EXPECT_EQ(routed(unknown).what, What::nothing) << unknown;
}

ApiObject labelled() {
  ApiObject out{.kind = Kind::device, .name = "leaf0"};
  out.labels = {{"lockstep.dev/role", "leaf"}, {"pod", "a"}};
  out.fields = {{"metadata.name", "leaf0"}, {"status.reachable", "true"}, {"status.differences", "0"}};
  return out;
}

bool label_selects(std::string_view text) {
  Selector selector;
  const auto added = selector.add_labels(text);
  EXPECT_TRUE(added) << text << ": " << (added ? "" : added.error().text());
  return selector.selects(labelled());
}

TEST(ApiSelectors, SelectByLabelsAsKubernetesDoes) {
  for (const char* const text : {"", " ", "pod=a", "pod==a", " pod = a ", "pod!=b", "pod in (a)",
                                 "pod in (b, a)", "pod in(a)", "pod notin (b,c)", "pod", "!rack", "rack!=x",
                                 "rack notin (x)", "pod=a,lockstep.dev/role in (leaf,spine)"})
    EXPECT_TRUE(label_selects(text)) << text;
  for (const char* const text : {"pod=b", "pod!=a", "pod in (b)", "pod notin (a)", "!pod", "rack", "rack=a",
                                 "rack in (a)", "pod=a,rack", "pod=", "pod in ()"})
    EXPECT_FALSE(label_selects(text)) << text;
}

TEST(ApiSelectors, RefuseWhatIsNoSelector) {
  for (const char* const text : {"=a", "pod in a", "pod in (a", "a b", "pod in (a))", "!", "pod=(a)", ",",
                                 "a=b=c", "pod!a", "pod=!a"}) {
    Selector selector;
    EXPECT_FALSE(selector.add_labels(text)) << text;
  }
  std::string many = "a";
  for (std::size_t i = 0; i < kRequirementsMax; ++i) many += ",a";
  EXPECT_FALSE(Selector().add_labels(many));
}

TEST(ApiSelectors, SelectByTheFieldsOfTheKind) {
  const auto selects = [](std::string_view text) {
    Selector selector;
    const auto added = selector.add_fields(text, Kind::device);
    EXPECT_TRUE(added) << text;
    return selector.selects(labelled());
  };
  EXPECT_TRUE(selects("status.reachable=true,metadata.name==leaf0"));
  EXPECT_TRUE(selects("status.differences!=1"));
  EXPECT_FALSE(selects("status.reachable=false"));
  EXPECT_FALSE(selects("metadata.name=leaf1"));
  EXPECT_FALSE(selects("spec.cordoned=true"));
  Selector selector;
  const auto unknown = selector.add_fields("status.colour=red", Kind::device);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().text().find("metadata.name, status.reachable"), std::string::npos);
  EXPECT_FALSE(selector.add_fields("status.reachable", Kind::device));
}

TEST(MediaTypes, AreAcceptedByTheMostSpecificRange) {
  for (const char* const accept :
       {"", "*/*", "application/*", "application/json", "text/html, application/json;q=0.1",
        "APPLICATION/JSON", "application/json;as=Table;v=v1,application/json", "text/html, */*;q=0.1",
        "application/json, */*;q=0"})
    EXPECT_TRUE(accepts(accept, "application/json")) << accept;
  for (const char* const accept : {"text/html", "application/json;q=0", "application/json;q=0.0, */*",
                                   "application/jsonx", "json", ";", ","})
    EXPECT_FALSE(accepts(accept, "application/json")) << accept;
  EXPECT_TRUE(accepts("text/event-stream", "text/event-stream"));
  for (const char* const type :
       {"application/json", "Application/JSON ; charset=UTF-8", "application/json;charset=\"utf-8\""})
    EXPECT_TRUE(is_json_type(type)) << type;
  for (const char* const type :
       {"", "text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded"})
    EXPECT_FALSE(is_json_type(type)) << type;
}

TEST(ApiActionBody, SaysStepsAndReason) {
  const auto body = parse_action_body(
      row_of(Verb::approve), R"({"steps": ["sha256:aabb", "cc00"], "reason": "window\u001b of tonight"})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->steps, (std::vector<std::string>{"sha256:aabb", "cc00"}));
  EXPECT_EQ(body->reason, "window\\x1b of tonight");
  EXPECT_TRUE(parse_action_body(row_of(Verb::approve), "")->steps.empty());
  EXPECT_TRUE(parse_action_body(row_of(Verb::resume), " \n"));
}

TEST(ApiActionBody, RefusesEverythingElse) {
  const std::string deep(kDepthMax + 1, '[');
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{", "not valid JSON"},
      {"{}x", "not valid JSON"},
      {"{\"reason\": \"\xff\"}", "not valid JSON"},
      {std::string("{\"reason\": \"a\0b\"}", 17), "not valid JSON"},
      {"[]", "not a JSON object"},
      {"null", "not a JSON object"},
      {deep, "deeper than"},
      {R"({"reason": 1})", "must be a text"},
      {R"({"reason": "a", "reason": "b"})", "appears twice"},
      {R"({"step": ["sha256:aabb"]})", "unknown field 'step'"},
      {R"({"steps": []})", "at least one digest"},
      {R"({"steps": "sha256:aabb"})", "at least one digest"},
      {R"({"steps": ["sha256:"]})", "start of a digest"},
      {R"({"steps": [""]})", "start of a digest"},
      {R"({"steps": ["sha256:zzzz"]})", "start of a digest"},
      {R"({"steps": [7]})", "start of a digest"},
      {R"({"reason": ")" + std::string(kReasonMax + 1, 'a') + "\"}", "longer than"}};
  for (const auto& [text, why] : cases) {
    const auto body = parse_action_body(row_of(Verb::approve), text);
    ASSERT_FALSE(body) << text;
    EXPECT_NE(body.error().text().find(why), std::string::npos) << text << ": " << body.error().text();
  }
  EXPECT_FALSE(parse_action_body(row_of(Verb::cordon), R"({"steps": ["sha256:aabb"], "reason": "a"})"));
  for (const char* const text : {"", "{}", R"({"reason": " "})"})
    EXPECT_NE(parse_action_body(row_of(Verb::suspend), text).error().text().find("'reason' is missing"),
              std::string::npos);
}

}  // namespace
}  // namespace lockstep::api
