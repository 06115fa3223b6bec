#include "drivers/linux/known_lacks.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kGovernor = row("cpu/governor");
constexpr RowId kMemlock = row("memlock");

// Supports none of its rows, and records each request.
class CountingPart final : public LinuxPart {
 public:
  std::vector<RowId> reads() const override { return {kGovernor, kMemlock}; }
  std::vector<RowId> writes() const override { return {}; }
  std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>&, const Call& call) override {
    asked.push_back(scope.rows);
    while (hangs && !call.must_end(std::chrono::steady_clock::now())) std::this_thread::yield();
    return {{kGovernor, {}, "no cpufreq here"}, {kMemlock, {}, "no limits here"}};
  }
  void read(const Scope&, const std::vector<Link>&, TreeBuilder&, std::vector<Unread>&,
            const Call&) override {}
  std::vector<std::optional<Error>> apply(const ChangeSet&, const std::vector<Link>&, const Call&) override {
    return {};
  }
  std::string native(const Change&) const override { return {}; }

  std::vector<std::vector<RowId>> asked;
  bool hangs = false;
};

class KnownLacksTest : public ::testing::Test {
 protected:
  KnownLacksTest() { parts_.push_back(std::make_unique<CountingPart>()); }
  CountingPart& part() { return static_cast<CountingPart&>(*parts_.front()); }
  static Call within(std::chrono::milliseconds limit) {
    return Call{.deadline = std::chrono::steady_clock::now() + limit, .stop = {}};
  }
  std::size_t lacks(const std::string& boot, const std::vector<Link>& ports, const Scope& scope = {}) {
    const Lacks out = known_.of(scope, boot, ports, within(std::chrono::seconds(10)));
    EXPECT_TRUE(out.unknown.empty());
    return out.known.size();
  }
  static Link port(const std::string& name, std::uint32_t index) {
    Link out;
    out.name = name;
    out.index = index;
    return out;
  }

  const LinuxTarget target_{};
  LinuxParts parts_;
  const std::vector<RowId> rows_{kGovernor, kMemlock};
  KnownLacks known_{target_, parts_, rows_};
};

TEST_F(KnownLacksTest, AreReadOncePerBootPortsAndNames) {
  const std::vector<Link> ports{port("rail0", 2)};
  EXPECT_EQ(lacks("boot1", ports), 2U);
  EXPECT_EQ(lacks("boot1", ports), 2U);
  EXPECT_EQ(part().asked.size(), 1U);
  EXPECT_EQ(lacks("boot2", ports), 2U);
  EXPECT_EQ(part().asked.size(), 2U) << "it has booted";
  lacks("boot2", {port("rail0", 2), port("rail1", 3)});
  EXPECT_EQ(part().asked.size(), 3U) << "a port came";
  lacks("boot2", {port("rail0", 2), port("rail1", 4)});
  EXPECT_EQ(part().asked.size(), 4U) << "a port was made anew";
  lacks("boot2", {}, Scope{{}, {*Path::parse("package[rdma-core]")}});
  lacks("boot2", {}, Scope{{}, {*Path::parse("package[lldpd]")}});
  EXPECT_EQ(part().asked.size(), 6U) << "another name is looked for";
}

TEST_F(KnownLacksTest, AreReadForTheScopeOnly) {
  EXPECT_EQ(lacks("boot1", {}, Scope{{kMemlock}}), 1U);
  EXPECT_EQ(lacks("boot1", {}, Scope{{kMemlock}}), 1U);
  EXPECT_EQ(lacks("boot1", {}), 2U);
  EXPECT_EQ(part().asked, (std::vector<std::vector<RowId>>{{kMemlock}, {kGovernor}}));
  EXPECT_EQ(lacks("boot1", {}, Scope{{row("sysctl[*]")}}), 0U);
}

TEST_F(KnownLacksTest, RowsThatTimeOutAreRetriedAndLeaveTimeForTheRest) {
  part().hangs = true;
  const Call call = within(std::chrono::seconds(1));
  EXPECT_EQ(known_.of(Scope{}, "boot1", {}, call).unknown, rows_);
  EXPECT_LT(std::chrono::steady_clock::now(), call.deadline);
  part().hangs = false;
  EXPECT_EQ(lacks("boot1", {}), 2U);
  EXPECT_EQ(part().asked.size(), 2U);
  EXPECT_EQ(known_.of(Scope{}, "boot2", {}, within(std::chrono::milliseconds(-1))).unknown, rows_);
  EXPECT_EQ(part().asked.size(), 2U) << "of a call that is over nothing is asked";
}

}  // namespace
}  // namespace lockstep
