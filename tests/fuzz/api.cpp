// What anybody may send to the service's API: targets, headers, bodies, deliveries of forges, files of
// tokens.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "reconciler/api/api_service.hpp"
#include "specs/model/printable.hpp"
#include "tests/fuzz/parsers.hpp"
#include "tests/unit/api/fake_desk.hpp"
#include "tests/unit/api/sample_status.hpp"
#include "tests/unit/api/temporary_path.hpp"

namespace lockstep::fuzzing {
namespace {

constexpr const char* kWebhookSecret = "a secret that no input has by chance";

// A service whose engine does nothing, and that never limits.
class FuzzedApi {
 public:
  FuzzedApi() {
    desk_.set(api::full_status());
    feed_.turn(api::at_second(100));
  }
  api::ApiService& service() { return service_; }

 private:
  static api::RequestLimits unlimited() {
    api::RequestLimits out;
    out.requests_per_second = 1e12;
    out.requests_burst = 1e12;
    return out;
  }
  api::TemporaryPath folder_;
  api::FakeDesk desk_;
  api::EventLog log_{"0011223344556677", 100};
  api::ObjectFeed feed_{desk_, log_, {}};
  std::unique_ptr<api::AuditLog> audit_ = *api::AuditLog::open(folder_.file("audit"));
  api::ApiService service_{{desk_,
                            feed_,
                            log_,
                            api::Authentication(*api::TokenFile::open(""), 0),
                            *audit_,
                            {{api::Forge::github, kWebhookSecret},
                             {api::Forge::gitlab, kWebhookSecret},
                             {api::Forge::gitea, kWebhookSecret}}},
                           unlimited()};
};

void is_status(const api::Answer& answer) {
  const auto json = nlohmann::json::parse(answer.body, nullptr, false);
  must(json.is_object() && json["kind"] == "Status", "a failure is a Status");
  must(json["code"] == static_cast<int>(answer.status), "whose code is that of HTTP");
  must(!json["message"].get<std::string>().empty(), "and says why");
  must(printable(answer.body) == answer.body, "and can be shown");
}

// A request as it may come: the first line is the target, the second a header's value.
void make_request(std::string_view input, std::string_view method, bool knows) {
  static FuzzedApi api;
  const std::size_t line = std::min(input.find('\n'), input.size());
  const std::string_view value = line < input.size() ? input.substr(line + 1) : std::string_view();
  api::Peer peer{.address = "192.0.2.7", .limits_key = "192.0.2.7"};
  if (knows) peer.user = 0;
  const api::RequestHead head{.method = method,
                              .target = input.substr(0, line),
                              .header =
                                  [&](std::string_view name) {
                                    return name == "Authorization" && knows ? std::string_view() : value;
                                  },
                              .has_body = method == "POST"};
  auto judged = api.service().plan(head, peer, {});
  if (const auto* const answer = std::get_if<api::Answer>(&judged); answer != nullptr) {
    if (answer->status != api::Http::no_content) is_status(*answer);
    return;
  }
  const auto& planned = std::get<api::PlannedRequest>(judged);
  const bool is_open = planned.route.what == api::What::healthz || planned.route.what == api::What::readyz ||
                       planned.route.what == api::What::openapi || planned.route.what == api::What::webhook;
  must(knows || is_open, "nobody who is not known is served");
  if (planned.proof) {
    planned.proof->add(input);
    must(!planned.proof->holds(), "nobody without the secret signs a delivery");
  } else if (planned.watch) {
    (void)api.service().watch(*planned.watch).next(1 << 20);
  } else if (planned.route.what != api::What::action) {
    const api::Answer answer = api.service().answer(planned, "");
    if (static_cast<int>(answer.status) >= 400 && answer.type == api::kJson) is_status(answer);
  }
}

void read_bodies(std::string_view input) {
  for (const api::ActionRow& action : api::actions()) {
    const auto said = api::parse_action_body(action, input);
    if (!said) {
      must(printable(said.error().text()) == said.error().text(), "a complaint can be shown");
      continue;
    }
    must(printable(said->reason) == said->reason, "a reason can be shown");
    must(action.steps || said->steps.empty(), "only an approval has steps");
    must(!action.needs_reason || !said->reason.empty(), "a reason is there where it must be");
  }
}

void read_proposals(std::string_view input) {
  const auto specs = api::parse_proposed_specs(input);
  if (!specs) {
    must(printable(specs.error().text()) == specs.error().text(), "a complaint can be shown");
    return;
  }
  must(!specs->files.empty(), "there are files");
  for (const auto& [path, text] : specs->files) {
    const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
    must(normal.is_relative() && normal == path, "a path is what it says");
    for (const auto& name : normal) must(name.string()[0] != '.', "and leads to nothing hidden, nor out");
  }
  must(printable(specs->folder) == specs->folder && printable(specs->only) == specs->only,
       "texts can be shown");
}

}  // namespace

void parse_api(std::string_view input) {
  if (const auto target = api::parse_target(input); target)
    for (const std::string& segment : target->segments)
      must(!find_invalid_utf8(segment) && segment.find('\0') == segment.npos, "a segment is a text");
  for (const bool knows : {false, true})
    for (const char* const method : {"GET", "HEAD", "POST", "OPTIONS", "DELETE"})
      make_request(input, method, knows);
  read_bodies(input);
  read_proposals(input);
  const api::ReadTokens tokens = api::parse_tokens("tokens", input);
  std::set<api::Sha256> hashes;
  for (const api::TokenOwner& one : tokens.owners)
    must(hashes.insert(one.hash).second && printable(one.name) == one.name, "a token has one owner");
}

std::vector<std::string> seeds_of_api() {
  const std::string hash(64, 'a');
  return {
      "/api/v1alpha1/devices?labelSelector=a%20in%20(b,c),!d&fieldSelector=status.reachable%3Dtrue&limit=3",
      "/api/v1alpha1/devices?continue=0011223344556677-1.67707531",
      "/api/v1alpha1/events?watch=1&resourceVersion=0011223344556677-0\ntext/event-stream",
      "/api/v1alpha1/revisions/sha256:3f2a:approve\napplication/json; charset=utf-8",
      "/api/v1alpha1/changes/17?limit=0\n*/*;q=0.1, application/json",
      "http://h/api/v1alpha1/clusters/pod1%2Ftwin:suspend",
      "/webhooks/github\nsha256=" + hash,
      "/webhooks/gitlab\n" + hash,
      "/readyz",
      "*",
      R"({"steps": ["sha256:aabb"], "reason": "window\u001b of tonight"})",
      R"({"files": {"fabric.yaml": "mtu: 9000\n", "platforms/a.yaml": ""}, "folder": "specs", "details": true})",
      "# people\nann:operator:" + hash + "\nbob:viewer:" + hash + "\n"};
}

}  // namespace lockstep::fuzzing
