// The calls of protocol 1 over a device: bodies, answers, errors by their kinds, and the joined watch.
#include "reconciler/agent/calls.hpp"

#include <poll.h>

#include "dead_man_test_fixture.hpp"

namespace lockstep::agent {
namespace {

constexpr Calls::Kind kReads = Calls::Kind::reads;
constexpr Calls::Kind kWrites = Calls::Kind::writes;

class UsageOfMtu final : public Usage {
 public:
  explicit UsageOfMtu(Path mtu) : mtu_(mtu) {}
  bool knows(Path path) const override { return path == mtu_; }
  Result<Use> of(Path, const Call&) override { return Use{"queue pairs of rail0", 3}; }

 private:
  Path mtu_;
};

class DeviceCallsTest : public ::testing::Test {
 protected:
  DeviceCallsTest() {
    agent_.linux().device.set(mtu_, number(1500));
    attached_ = agent_.attached();
    attached_.at("linux")->usage = &usage_;
    auto journal = AgentJournal::open(agent_.folder() + "-calls");
    dead_man_ = std::make_shared<DeadMan>(*std::move(journal), attached_, this_machine());
    calls_ = std::make_unique<DeviceCalls>(
        DeviceCalls::Identity{.cluster = "rail-pod", .device = "gpu1", .version = "0.3.0"}, dead_man_,
        attached_);
  }
  Reply call(const std::string& name, const std::string& body, PeerRole by = PeerRole::controller) {
    return calls_->handle(name, body, by, {});
  }
  void expect_error(const Reply& reply, int status, ErrorKind kind) {
    EXPECT_EQ(reply.status, status) << reply.body;
    const Error error = wire::decode_error(reply.body, ErrorKind::transient, "no error of ours");
    EXPECT_EQ(to_string(error.kind), to_string(kind)) << reply.body;
    EXPECT_NE(error.what, "no error of ours");
  }
  wire::ApplyRequest grow(const std::string& transaction, std::uint64_t epoch = 1) const {
    const ChangeSet changes{{mtu_, number(1500), number(9000), 0}};
    return {"linux", changes, armed(transaction, reverse_of(changes), epoch)};
  }

  const Path mtu_ = entry("interface[rail0]/mtu");
  UsageOfMtu usage_{mtu_};
  AgentUnderTest agent_;
  std::map<std::string, Attached*> attached_;
  std::shared_ptr<DeadMan> dead_man_;
  std::unique_ptr<DeviceCalls> calls_;
};

TEST_F(DeviceCallsTest, SayWhichOfThemWrite) {
  for (const auto& [name, kind] :
       std::vector<std::pair<std::string, Calls::Kind>>{{"hello", kReads},
                                                        {"observe", kReads},
                                                        {"usage", kReads},
                                                        {"healthz", kReads},
                                                        {"apply", kWrites},
                                                        {"settle", kWrites},
                                                        {"remedy", kWrites},
                                                        {"", Calls::Kind::unknown},
                                                        {"Apply", Calls::Kind::unknown},
                                                        {"apply/", Calls::Kind::unknown}})
    EXPECT_EQ(calls_->kind(name), kind) << name;
  expect_error(call("reboot", "{}"), 422, ErrorKind::unsupported);
}

TEST_F(DeviceCallsTest, HelloDescribesTheAgent) {
  ASSERT_TRUE(dead_man_->hold("fans"));
  const auto hello = wire::decode_hello(call("hello", "{}").body);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->protocol, 1U);
  EXPECT_EQ(hello->version, "0.3.0");
  EXPECT_EQ(hello->cluster, "rail-pod");
  EXPECT_EQ(hello->device, "gpu1");
  EXPECT_EQ(hello->hold, "fans");
  EXPECT_EQ(hello->boot_id + "\n", text_of_file("/proc/sys/kernel/random/boot_id"));
  EXPECT_FALSE(hello->machine_id.empty());
  ASSERT_EQ(hello->drivers.size(), 2U);
  EXPECT_EQ(hello->drivers[0].driver, "frr");
  EXPECT_EQ(hello->drivers[1].driver, "linux");
  for (const Traits& one : hello->drivers) {
    EXPECT_TRUE(one.undoes_itself);
    EXPECT_FALSE(one.writes.empty());
  }
}

TEST_F(DeviceCallsTest, ATransactionFromApplyToSettle) {
  const Reply applied = call("apply", encode(grow("s1")));
  ASSERT_EQ(applied.status, 200) << applied.body;
  const auto receipt = wire::decode_receipt(applied.body);
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->ticket, "s1-1");
  ASSERT_EQ(receipt->outcomes.size(), 1U);
  EXPECT_FALSE(receipt->outcomes[0].error);
  EXPECT_EQ(agent_.have(mtu_), number(9000));

  const Reply observed = call("observe", encode(wire::ObserveRequest{"linux", {{mtu_.row()}, {}}, "", 1}));
  ASSERT_EQ(observed.status, 200) << observed.body;
  const auto observation = wire::decode_observation(observed.body, {});
  ASSERT_TRUE(observation);
  EXPECT_EQ(observation->have.value(mtu_), number(9000));
  EXPECT_EQ(observation->armed, "s1");
  const wire::ObserveRequest again{"linux", {{mtu_.row()}, {}}, observation->revision, 1};
  const auto unchanged = wire::decode_observation(call("observe", encode(again)).body, {});
  ASSERT_TRUE(unchanged);
  EXPECT_TRUE(unchanged->have.empty());
  EXPECT_EQ(unchanged->revision, observation->revision);

  EXPECT_EQ(call("settle", encode(wire::SettleRequest{"s1", Settlement::extend, 1})).status, 200);
  const Reply undone = call("settle", encode(wire::SettleRequest{"s1", Settlement::undo, 1}));
  EXPECT_EQ(undone.status, 200);
  EXPECT_TRUE(wire::decode_done(undone.body));
  EXPECT_EQ(agent_.have(mtu_), number(1500));
}

TEST_F(DeviceCallsTest, RemedyUsageAndHealth) {
  EXPECT_EQ(call("remedy", encode(wire::RemedyRequest{"frr", {}, 1})).status, 200);
  EXPECT_EQ(agent_.frr().cures, 1);
  const Reply used = call("usage", encode(wire::UsageRequest{"linux", mtu_}));
  ASSERT_EQ(used.status, 200) << used.body;
  EXPECT_EQ(wire::decode_use(used.body)->open, 3U);
  expect_error(call("usage", encode(wire::UsageRequest{"linux", entry("memlock")})), 422,
               ErrorKind::unsupported);
  expect_error(call("usage", encode(wire::UsageRequest{"frr", mtu_})), 422, ErrorKind::unsupported);
  EXPECT_EQ(call("healthz", "").status, 200);
}

TEST_F(DeviceCallsTest, ErrorsHaveTheStatusOfTheirKind) {
  for (const char* const name : {"observe", "apply", "settle", "remedy", "usage"})
    for (const char* const body : {"", "[]", "{", R"({"driver": 1, "transaction": 1})"})
      expect_error(call(name, body), 400, ErrorKind::invalid_spec);
  wire::ApplyRequest request = grow("s1", 5);
  request.driver = "sonic";
  expect_error(call("apply", encode(request)), 422, ErrorKind::unsupported);
  expect_error(call("observe", R"({"driver": "sonic"})"), 422, ErrorKind::unsupported);
  expect_error(call("observe", R"({"driver": "linux", "rows": ["warp[*]"]})"), 422, ErrorKind::unsupported);
  ASSERT_EQ(call("apply", encode(grow("s1", 5))).status, 200);
  expect_error(call("apply", encode(grow("s2", 5))), 409, ErrorKind::conflict);
  expect_error(call("apply", encode(grow("s1", 4))), 403, ErrorKind::denied);
  request = grow("s1", 5);
  request.guard.undo_after.reset();
  expect_error(call("apply", encode(request)), 422, ErrorKind::refused);
  EXPECT_EQ(call("observe", R"({"driver": "linux", "epoch": 99})", PeerRole::reader).status, 200);
  EXPECT_NE(call("apply", encode(grow("s1", 5))).status, 403) << "a reader's epoch shuts out the leader";
  agent_.linux().dead = true;
  expect_error(call("observe", R"({"driver": "linux"})"), 503, ErrorKind::transient);
  expect_error(call("apply", encode(grow("s1", 5))), 500, ErrorKind::unknown_outcome);
  std::stop_source stop;
  stop.request_stop();
  const Call stopped{.stop = stop.get_token()};
  expect_error(calls_->handle("settle", R"({"transaction": "s1", "settlement": "keep", "epoch": 5})",
                              PeerRole::controller, stopped),
               503, ErrorKind::cancelled);
}

bool is_readable(const Watcher& watch) {
  pollfd one{watch.descriptor(), POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

TEST_F(DeviceCallsTest, OneWatchForAllDrivers) {
  EXPECT_FALSE(calls_->watch()) << "no driver has one";
  for (auto& [name, one] : attached_)
    one->watch = [&device = name == "linux" ? agent_.linux().device : agent_.frr().device] {
      return device.watch();
    };
  const auto watch = calls_->watch();
  ASSERT_TRUE(watch) << watch.error().text();
  EXPECT_FALSE(is_readable(**watch));
  agent_.linux().device.set(mtu_, number(1600));
  agent_.frr().device.set(entry("bgp/max-paths"), number(4));
  EXPECT_TRUE(is_readable(**watch));
  const auto woken = (*watch)->drain();
  ASSERT_TRUE(woken);
  EXPECT_EQ(woken->devices, std::vector<std::string>{"gpu1"});
  EXPECT_FALSE(is_readable(**watch));
  EXPECT_FALSE((*watch)->drain()->any());
}

}  // namespace
}  // namespace lockstep::agent
