// Plans of specs that somebody proposes: who may ask, for what, and what it costs others. The planner is the
// test's own.
#include <poll.h>
#include <sys/stat.h>

#include <condition_variable>
#include <future>

#include "reconciler/api/json_body.hpp"
#include "server_fixture.hpp"

namespace lockstep::api {
namespace {

constexpr const char* kTarget = "/api/v1alpha1/clusters/pod1:plan";
constexpr const char* kSpecs = R"({"files": {"fabric.yaml": "mtu: 9000\n", "platforms/a.yaml": ""}})";

class ProposalsTest : public ApiServerTest {
 protected:
  ProposalsTest() {
    settings_.planner = [this](const ProposedSpecs& specs, const ServiceStatus& status, const Call& call) {
      return plan(specs, status, call);
    };
  }
  void TearDown() override {
    let_go();
    ApiServerTest::TearDown();
  }
  Result<PlannedProposal> plan(const ProposedSpecs& specs, const ServiceStatus& status, const Call&) {
    std::unique_lock lock(plans_);
    asked_.push_back(specs);
    cluster_ = status.cluster;
    at_once_ = std::max(at_once_, ++open_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return !holds_; });
    --open_;
    return answer_;
  }
  std::size_t asked() {
    const std::scoped_lock lock(plans_);
    return asked_.size();
  }
  void hold() {
    const std::scoped_lock lock(plans_);
    holds_ = true;
  }
  void let_go() {
    const std::scoped_lock lock(plans_);
    holds_ = false;
    changed_.notify_all();
  }
  void wait_until_open() {
    std::unique_lock lock(plans_);
    changed_.wait(lock, [this] { return open_ > 0; });
  }
  std::future<Reply> posted_by(const std::string& role) {
    return std::async(std::launch::async, [this, role] { return client(role).post(kTarget, kSpecs); });
  }

  std::mutex plans_;
  std::condition_variable changed_;
  std::vector<ProposedSpecs> asked_;  // under plans_, as all below
  std::string cluster_;
  Result<PlannedProposal> answer_ = PlannedProposal{true, R"({"kind": "Plan"})"};
  int open_ = 0;
  int at_once_ = 0;
  bool holds_ = false;
};

TEST_F(ProposalsTest, ViewersGetThePlanAndTheAuditLogHasIt) {
  start();
  const Reply reply = client("viewer").post(
      kTarget, R"({"files": {"a.yaml": "x: 1\n", "b/c.csv": "name\n"}, "folder": "specs", "only": "leaf[0-1]",
                   "details": true, "text": "colour"})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body, R"({"kind": "Plan"})");
  ASSERT_EQ(asked(), 1U);
  EXPECT_EQ(asked_[0].files,
            (std::map<std::string, std::string>{{"a.yaml", "x: 1\n"}, {"b/c.csv", "name\n"}}));
  EXPECT_EQ(asked_[0].folder + " " + asked_[0].only, "specs leaf[0-1]");
  EXPECT_TRUE(asked_[0].details && asked_[0].text == PlanText::colour);
  EXPECT_EQ(cluster_, desk_.status()->cluster);
  const auto lines = audited();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["action"], "plan");
  EXPECT_EQ(lines[0]["object"], "Cluster/pod1");
  EXPECT_EQ(lines[0]["who"], "the-viewer");
  EXPECT_TRUE(lines[0]["reason"].get<std::string>().starts_with("2 files, sha256:")) << lines[0];
  EXPECT_EQ(lines[0]["id"], lines[1]["id"]);
  EXPECT_EQ(lines[1]["outcome"], "planned");
  EXPECT_EQ(lines[1]["code"], 200);
  EXPECT_TRUE(desk_.actions().empty()) << "nothing is said to the engine";
  EXPECT_EQ(desk_.fetches(), 0);
}

TEST_F(ProposalsTest, WhatIsWrongWithSpecsIsAnAnswerAndWhatFailsIsAStatus) {
  start();
  answer_ = PlannedProposal{false, R"({"kind": "Error", "errors": []})"};
  Reply reply = client("viewer").post(kTarget, kSpecs);
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(Json::parse(reply.body)["kind"], "Error");
  EXPECT_EQ(audited().back()["outcome"], "the specs can't be planned");
  answer_ = Error{ErrorKind::transient, "no revision yet"};
  reply = client("viewer").post(kTarget, kSpecs);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(Json::parse(reply.body)["message"], "no revision yet");
  EXPECT_EQ(audited().back()["outcome"], "no revision yet");
}

TEST_F(ProposalsTest, NoPathLeadsOutOfTheFolder) {
  settings_.limits.requests.proposals_burst = 1000;
  start();
  const std::vector<std::string> paths{"",
                                       "/etc/passwd",
                                       "../up.yaml",
                                       "a/../../up.yaml",
                                       ".",
                                       "..",
                                       "./a.yaml",
                                       "a//b.yaml",
                                       "a/",
                                       ".git/config",
                                       "a/.git/config",
                                       "a\\u0000b",
                                       "a\\nb",
                                       "a/./b.yaml",
                                       "a/..",
                                       "\\u202egpj.yaml",
                                       "~/../a/.",
                                       std::string(kProposedNameMax + 1, 'n')};
  for (const std::string& path : paths) {
    const Reply reply = client("viewer").post(kTarget, "{\"files\": {\"" + path + "\": \"\"}}");
    EXPECT_EQ(reply.status, 400) << path;
    EXPECT_NE(reply.body.find("its path"), std::string::npos) << path << reply.body;
  }
  EXPECT_EQ(asked(), 0U);
  EXPECT_TRUE(audited().empty()) << "nothing was asked for";
  const std::string odd = R"({"files": {"a b.yaml": "", "ä.yaml": "", "~": "", "a:b": "", "-": ""}})";
  EXPECT_EQ(client("viewer").post(kTarget, odd).status, 200) << "odd, and in the folder";
}

TEST_F(ProposalsTest, BodiesThatAreNoSpecsAreRefusedWithTheReason) {
  settings_.limits.requests.proposals_burst = 1000;
  start();
  std::string many = "{\"files\": {\"a\": \"\"";
  for (std::size_t i = 0; i < kProposedFilesMax; ++i) many += ",\"f" + std::to_string(i) + "\":\"\"";
  const std::string a = R"("files": {"a.yaml": ""})";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "'files' is missing"},
      {"{}", "'files' is missing"},
      {"[]", "not a JSON object"},
      {"{\"files\": {\"a\": \"\xff\"}}", "not valid JSON in UTF-8"},
      {R"({"files": {}})", "'files' must be"},
      {R"({"files": ["a"]})", "'files' must be"},
      {R"({"files": {"a": 1}})", "must be a text"},
      {R"({"files": {"a": "", "a": "x"}})", "appears twice"},
      {R"({"files": {"a": "", "a/b": "x"}})", "is a folder, too"},
      {"{" + a + ", \"file\": {}}", "unknown field 'file'"},
      {"{" + a + ", \"only\": 1}", "'only' must be a text"},
      {"{" + a + ", \"folder\": \"a\\u001b[2J\"}", "not printable"},
      {"{" + a + ", \"only\": \"" + std::string(kProposedTextMax + 1, 'x') + "\"}", "is longer than"},
      {"{" + a + ", \"details\": \"yes\"}", "'details' must be"},
      {"{" + a + ", \"text\": \"html\"}", "'text' must be"},
      {many + "}}", "more than 8192 files"},
      {R"({"files": )" + std::string(20'000, '[') + "}", "deeper than"},
      {R"({"files": {"a": [)" + std::string(20'000, ',') + "]}}", "values"}};
  for (const auto& [body, why] : cases) {
    const Reply reply = client("viewer").post(kTarget, body);
    EXPECT_EQ(reply.status, 400) << body.substr(0, 80);
    EXPECT_NE(reply.body.find(why), std::string::npos) << why << ": " << reply.body.substr(0, 300);
  }
  EXPECT_EQ(asked(), 0U);
}

TEST_F(ProposalsTest, JudgesTheRequestBeforeItsBody) {
  settings_.limits.requests.proposal_max = 1000;
  settings_.limits.requests.proposals_burst = 1000;
  start();
  const std::string large = R"({"files": {"a.yaml": ")" + std::string(1000, 'x') + "\"}}";
  EXPECT_EQ(client("viewer").post(kTarget, large).status, 413);
  ApiClient chunked = client("viewer");
  chunked.send("POST " + std::string(kTarget) +
               " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer viewer\r\nContent-Type: application/json\r\n"
               "Transfer-Encoding: chunked\r\n\r\n3ff\r\n" +
               std::string(0x3ff, ' ') + "\r\n");
  EXPECT_EQ(chunked.reply().status, 413);
  EXPECT_EQ(client().post(kTarget, kSpecs).status, 401);
  EXPECT_EQ(client("wrong").post(kTarget, kSpecs).status, 401);
  EXPECT_EQ(client("operator").post("/api/v1alpha1/clusters/pod2:plan", kSpecs).status, 404);
  EXPECT_EQ(client("viewer").post("/api/v1alpha1/devices/gpu1:plan", kSpecs).status, 405);
  EXPECT_EQ(client("viewer").post(kTarget, kSpecs, "Content-Type: text/yaml\r\n").status, 415);
  EXPECT_EQ(client("viewer")
                .post(kTarget, kSpecs, "Content-Type: application/json\r\nAccept: text/html\r\n")
                .status,
            406);
  const Reply read = client("viewer").get(kTarget);
  EXPECT_EQ(read.status, 405);
  EXPECT_EQ(read.headers.at("Allow"), "POST, OPTIONS");
  EXPECT_EQ(asked(), 0U);
}

TEST_F(ProposalsTest, OnePlanAtATimeAndReadsGoOn) {
  settings_.limits.requests.proposals_burst = 10'000;
  start();
  hold();
  std::future<Reply> first = posted_by("viewer");
  wait_until_open();
  std::future<Reply> second = posted_by("operator");
  for (const char* const role : {"viewer", "operator", "admin"})
    EXPECT_EQ(client(role).get("/api/v1alpha1/devices").status, 200) << role;
  EXPECT_EQ(client("operator").post("/api/v1alpha1/devices/gpu1:cordon", R"({"reason": "x"})").status, 200);
  const Reply again = client("viewer").post(kTarget, kSpecs);
  EXPECT_EQ(again.status, 429) << "one of each client";
  EXPECT_EQ(again.headers.at("Retry-After"), "5");
  let_go();
  EXPECT_EQ(first.get().status, 200);
  EXPECT_EQ(second.get().status, 200);
  EXPECT_EQ(at_once_, 1);
  EXPECT_TRUE(soon_holds([&] { return client("viewer").post(kTarget, kSpecs).status == 200; }))
      << "its turn ended with its answer";
}

TEST_F(ProposalsTest, FewWaitInAllAndAClientThatIsGoneIsNotWaitedFor) {
  settings_.limits.requests.proposals_waiting = 1;
  settings_.limits.requests.proposals_burst = 10'000;
  start();
  hold();
  std::future<Reply> first = posted_by("viewer");
  wait_until_open();
  EXPECT_EQ(client("operator").post(kTarget, kSpecs).status, 429);
  let_go();
  EXPECT_EQ(first.get().status, 200);
  {
    ApiClient gone = client("viewer");  // within its body
    gone.send("POST " + std::string(kTarget) +
              " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer viewer\r\nContent-Type: application/json\r\n"
              "Content-Length: 100\r\n\r\n{");
    EXPECT_TRUE(soon_holds([&] { return client("operator").post(kTarget, kSpecs).status == 429; }));
  }
  EXPECT_TRUE(soon_holds([&] { return client("admin").post(kTarget, kSpecs).status == 200; }));
}

TEST_F(ProposalsTest, AClientThatAsksTooOftenWaits) {
  settings_.limits.requests.proposals_burst = 2;
  settings_.limits.requests.proposals_per_second = 0.001;
  start();
  EXPECT_TRUE(soon_holds([&] { return client("viewer").post(kTarget, kSpecs).status == 429; }));
  EXPECT_LE(asked(), 2U);
  const Reply late = client("viewer").post(kTarget, kSpecs);
  EXPECT_EQ(late.status, 429);
  EXPECT_GT(std::stoi(late.headers.at("Retry-After")), 100);
  EXPECT_EQ(client("viewer").get("/api/v1alpha1/devices").status, 200) << "reads have limits of their own";
  EXPECT_EQ(client("operator").post(kTarget, kSpecs).status, 200) << "others have theirs";
}

// As the service's documentation says: five at once, and six in a minute.
TEST_F(ProposalsTest, WithoutOtherSettingsAClientMayAskFiveTimesAtOnce) {
  start();
  const Time began = std::chrono::steady_clock::now();
  std::size_t planned = 0;
  Reply reply;
  while ((reply = client("viewer").post(kTarget, kSpecs)).status == 200) ++planned;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_EQ(reply.status, 429);
  EXPECT_GE(planned, 5U);
  EXPECT_LE(static_cast<double>(planned), 5 + took.count() / 10);
  EXPECT_GE(std::stoi(reply.headers.at("Retry-After")), 1);
  EXPECT_LE(std::stoi(reply.headers.at("Retry-After")), 10);
  EXPECT_EQ(RequestLimits{}.proposal_time, std::chrono::minutes(2));
}

TEST_F(ProposalsTest, APlanHasATimeWithinWhichItEnds) {
  settings_.limits.requests.proposal_time = std::chrono::milliseconds(50);
  settings_.planner = [&](const ProposedSpecs&, const ServiceStatus&,
                          const Call& call) -> Result<PlannedProposal> {
    while (!call.why_ended(std::chrono::steady_clock::now())) ::poll(nullptr, 0, 1);
    return *call.why_ended(std::chrono::steady_clock::now());
  };
  start();
  const Reply reply = client("viewer").post(kTarget, kSpecs);
  EXPECT_EQ(reply.status, 503) << reply.body;
  EXPECT_NE(audited().back()["outcome"], "planned");
}

TEST_F(ProposalsTest, PlansNothingThatItCanNotRecord) {
  start();
  ASSERT_EQ(::unlink(folder_.file("audit").c_str()), 0);
  ASSERT_EQ(::mkdir(folder_.file("audit").c_str(), 0700), 0);
  EXPECT_EQ(client("viewer").post(kTarget, kSpecs).status, 503);
  EXPECT_EQ(asked(), 0U);
}

TEST_F(ProposalsTest, EndsWithTheServer) {
  std::promise<void> begun;
  std::string why;
  settings_.planner = [&](const ProposedSpecs&, const ServiceStatus&,
                          const Call& call) -> Result<PlannedProposal> {
    begun.set_value();
    // As poll(2) of a child's end does.
    pollfd wakes{.fd = call.wake_fd, .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&wakes, 1, 20'000), 1);
    why = call.why_ended(std::chrono::steady_clock::now())->text();
    return Error{ErrorKind::cancelled, why};
  };
  start();
  std::future<Reply> reply = posted_by("viewer");
  begun.get_future().wait();
  server_.reset();
  EXPECT_EQ(why, "asked to stop");
  reply.wait();
  EXPECT_EQ(audited().back()["outcome"], "asked to stop");
}

TEST_F(ProposalsTest, AServiceWithoutAPlannerHasNone) {
  settings_.planner = nullptr;
  start();
  EXPECT_EQ(client("viewer").post(kTarget, kSpecs).status, 404);
}

}  // namespace
}  // namespace lockstep::api
