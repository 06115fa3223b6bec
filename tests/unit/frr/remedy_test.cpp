// How a remedy reports its errors, and prefixes that FRR does not install, against scripted daemons.
#include "drivers/frr/remedy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/frr/fake_vty.hpp"
#include "tests/unit/frr/recorded.hpp"

namespace lockstep::frr {
namespace {

constexpr const char* kServed = "10.99.0.1/32";
constexpr const char* kComing = "10.99.0.2/32";
constexpr const char* kForeign = "10.99.0.3/32";

std::string asked_for(const std::string& prefix) { return "show ip route " + prefix + " json"; }

class FrrRemedyOverAFake : public testing::Test {
 protected:
  FrrRemedyOverAFake() {
    seen.speaks = true;
    routes = {{asked_for(kServed), recorded("route-ecmp.json")},
              {asked_for(kComing), R"({")" + std::string(kComing) +
                                       R"(":[{"protocol":"bgp","selected":true,"installed":false}]})"},
              {asked_for(kForeign), "{}"}};
  }
  // The lines that bgpd received.
  std::vector<std::string> cure(const std::vector<std::string>& prefixes) {
    const Folder folder;
    FrrTarget target;
    target.device = "leaf0";
    target.run_dir = folder.name();
    ChangeSet effects;
    for (const std::string& prefix : prefixes)
      effects.push_back({*Path::parse("fib[" + prefix + "]/paths"), Value::integer(1), Value::integer(2), 0});
    const FakeVty zebra(folder.name(), "zebra", {}, routes);
    const FakeVty bgpd(folder.name(), "bgpd", fault,
                       {{"show running-config", recorded("bgpd-datacenter.txt")},
                        {"show version", recorded("version.txt")}});
    FrrRemedy remedy(target, [this] { return seen; });
    answer.emplace(remedy.cure(
        effects, {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}}));
    return bgpd.configured();
  }
  ErrorKind kind() const { return answer->error().kind; }

  SeenSessions seen;
  Answers routes;
  Fault fault;
  std::optional<Result<Done>> answer;
};

TEST_F(FrrRemedyOverAFake, APrefixThatIsNotInstalledYetDoesNotBlockTheOthers) {
  const auto lines = cure({kServed, kComing});
  EXPECT_TRUE(*answer) << answer->error().text();
  EXPECT_EQ(std::ranges::count(lines, "maximum-paths 1"), 1);
}

TEST_F(FrrRemedyOverAFake, SucceedsWhenItWasDoneForSomePrefixes) {
  const auto lines = cure({kServed, kForeign});
  EXPECT_TRUE(*answer) << answer->error().text();
  EXPECT_EQ(std::ranges::count(lines, "maximum-paths 1"), 1);
}

TEST_F(FrrRemedyOverAFake, IsRefusedWhenItWouldChangeNothing) {
  for (const char* const prefix : {kComing, kForeign}) {
    EXPECT_TRUE(cure({prefix}).empty());
    ASSERT_FALSE(*answer);
    EXPECT_EQ(kind(), ErrorKind::refused) << answer->error().text();
  }
  routes[asked_for(kServed)] = "no JSON";
  EXPECT_TRUE(cure({kServed}).empty());
  ASSERT_FALSE(*answer);
  EXPECT_EQ(kind(), ErrorKind::refused) << answer->error().text();
}

TEST_F(FrrRemedyOverAFake, IsNotRefusedOnceSomethingWasWritten) {
  fault = {.on = "maximum-paths 1", .pieces = {framed("% no\n", 13)}};
  cure({kServed});
  ASSERT_FALSE(*answer);
  EXPECT_EQ(kind(), ErrorKind::unknown_outcome) << answer->error().text();
}

}  // namespace
}  // namespace lockstep::frr
