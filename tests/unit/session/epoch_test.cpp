// Sessions over devices that remember whose epoch they accepted, as agents do: stores that were restored or
// copied, and devices that lie.
#include <limits>

#include "lab.hpp"
#include "reconciler/session/cluster_watch.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

struct Accepted {
  CurrentEpoch::Leader by;
  int writes = 0;
  bool lies = false;  // that it has a leader beyond any epoch
};

class Remembering final : public Driver {
 public:
  Remembering(std::unique_ptr<Driver> device, std::string name, std::shared_ptr<CurrentEpoch> epoch,
              Accepted& accepted)
      : device_(std::move(device)), name_(std::move(name)), epoch_(std::move(epoch)), accepted_(accepted) {}

  Result<Traits> traits(const Call& call) override { return device_->traits(call); }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    if (epoch_->leader().epoch != 0) TRY_DONE(admit(epoch_->leader()));
    return device_->observe(scope, if_not, call);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    TRY_DONE(admit({guard.epoch, epoch_->leader().id}));
    ++accepted_.writes;
    return device_->apply(changes, guard, call);
  }
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override {
    TRY_DONE(admit(epoch_->leader()));
    return device_->settle(transaction, settlement, call);
  }

 private:
  Result<Done> admit(const CurrentEpoch::Leader& leader) {
    CurrentEpoch::Leader& by = accepted_.by;
    const std::uint64_t known = accepted_.lies ? std::numeric_limits<std::uint64_t>::max() : by.epoch;
    if (leader.epoch < known || (leader.epoch == known && leader.id != by.id)) {
      epoch_->denied_by(name_, known);
      return Error{ErrorKind::denied, name_ + " has another leader"};
    }
    by = leader;
    return Done{};
  }
  const std::unique_ptr<Driver> device_;
  const std::string name_;
  const std::shared_ptr<CurrentEpoch> epoch_;
  Accepted& accepted_;
};

class Epochs : public Lab {
 protected:
  Epochs() {
    auto& attach = drivers[DriverName::sim].attach;
    attach = [this, plain = attach](const DriverTarget& target) -> Result<std::optional<Attached>> {
      TRY(std::optional<Attached> one, plain(target));
      one->driver = std::make_unique<Remembering>(std::move(one->driver), target.device, target.epoch,
                                                  accepted[target.device]);
      return one;
    };
  }
  void probing(int value) {
    std::string text = kProfile;
    const std::string before = "tcp_mtu_probing: 0";
    text.replace(text.find(before), before.size(), "tcp_mtu_probing: " + std::to_string(value));
    folder.write("specs/hosts.yaml", text);
  }
  // The copy becomes the store.
  void restore(const std::string& copy) {
    session.reset();
    fs::remove_all(state());
    fs::copy(copy, state(), fs::copy_options::recursive);
  }
  void keep_copy(const std::string& copy) {
    session.reset();
    fs::copy(state(), copy, fs::copy_options::recursive);
  }
  std::string copy() const { return folder.path() + "/copy"; }
  int writes() const {
    int out = 0;
    for (const auto& [name, one] : accepted) out += one.writes;
    return out;
  }

  std::map<std::string, Accepted> accepted;
};

TEST_F(Epochs, ARestoredStoreIsNotLockedOut) {
  ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
  keep_copy(copy());
  for (const int value : {1, 2, 1}) {
    probing(value);
    ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
  }
  const std::uint64_t before = accepted.at("gpu1").by.epoch;
  restore(copy());
  probing(2);
  ClusterSession& lab = open();
  const Applied applied = apply(lab);
  EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept) << to_string(applied.report.verdict);
  EXPECT_EQ(at("gpu1", "sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("2"));
  EXPECT_EQ(accepted.at("gpu1").by.epoch, before + 1);
  EXPECT_EQ(accepted.at("leaf0").by.epoch, before + 1) << "each device was read anew";
  EXPECT_NE(lab.raised().find("devices had accepted epoch " + std::to_string(before)), std::string::npos)
      << lab.raised();
  probing(1);
  ClusterSession& next = open();
  EXPECT_EQ(apply(next).report.verdict, ApplyVerdict::kept);
  EXPECT_EQ(next.raised(), "") << "the store knows by now";
}

// Both hold a store, and their epochs are the same.
TEST_F(Epochs, OfTwoStoresTheOneThatObservedFirstEnds) {
  ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
  keep_copy(copy());
  probing(1);
  ClusterSession& first = open();
  const ApplyRequest request{.command = "test", .author = "ann"};
  ASSERT_TRUE(first.prepare_apply(request));
  const Result<Plan> plan = first.plan(first.observe());
  ASSERT_TRUE(plan);
  ASSERT_FALSE(plan->empty());
  const std::uint64_t epoch = accepted.at("gpu1").by.epoch;

  std::unique_ptr<ClusterSession> kept = std::move(session);
  const std::string original = folder.path() + "/original";
  fs::rename(state(), original);
  fs::rename(copy(), state());
  ClusterSession& second = open();
  ASSERT_TRUE(second.prepare_apply(request));
  EXPECT_TRUE(second.not_observed(second.observe()).empty());
  EXPECT_EQ(accepted.at("gpu1").by.epoch, epoch + 1);

  const int before = writes();
  const Applied late = kept->apply(*plan, {}, request, {});
  EXPECT_EQ(late.report.verdict, ApplyVerdict::taken_over) << to_string(late.report.verdict);
  EXPECT_EQ(late.report.exit_code(), 1);
  EXPECT_EQ(writes(), before) << "it wrote";
  kept->observe();
  EXPECT_EQ(accepted.at("gpu1").by.epoch, epoch + 1) << "it does not take leadership back";
}

TEST_F(Epochs, ADeviceThatLiesIsLeftOutAndHarmsNoOther) {
  ASSERT_EQ(apply(open()).report.verdict, ApplyVerdict::kept);
  accepted.at("gpu2").lies = true;
  for (const int value : {1, 2}) {
    probing(value);
    const std::uint64_t before = accepted.at("gpu1").by.epoch;
    ClusterSession& lab = open();
    const Applied applied = apply(lab);
    EXPECT_EQ(applied.report.verdict, ApplyVerdict::kept) << to_string(applied.report.verdict);
    EXPECT_EQ(at("gpu1", "sysctl[net.ipv4.tcp_mtu_probing]"), Value::text(std::to_string(value)));
    EXPECT_EQ(accepted.at("gpu1").by.epoch, before + 1);
    EXPECT_EQ(lab.raised(), "");
    const std::vector<NotObserved> silent = lab.not_observed(lab.observe());
    ASSERT_EQ(silent.size(), 1U);
    EXPECT_EQ(silent[0].devices, std::vector<std::string>{"gpu2"});
    EXPECT_EQ(silent[0].why, "gpu2 has another leader");
  }
}

class WatchedEpochs : public Epochs {
 protected:
  void begin_watch() {
    open();
    watching = std::move(session);
    watch = watching->make_watch({.command = "lockstep watch --converge",
                                  .author = "lockstep watch",
                                  .converge = true,
                                  .event = [this](const WatchEvent& event) { events.push_back(event); },
                                  .healed = [this](const Healing& one) { healings.push_back(one); }});
    watch->start([this](const ClusterWatch::Answer&) { ended = true; });
    run_for(std::chrono::seconds(2));
  }
  ~WatchedEpochs() override {
    watch->stop();
    while (!ended && executor.step()) {
    }
    watch.reset();
    watching.reset();
  }
  void change_and_heal() {
    devices.at("gpu1")->set(*Path::parse("sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
    run_for(std::chrono::minutes(5));
  }

  std::unique_ptr<ClusterSession> watching;
  std::unique_ptr<ClusterWatch> watch;
  std::vector<Healing> healings;
  std::vector<WatchEvent> events;
  bool ended = false;
};

TEST_F(WatchedEpochs, BetweenItsHealsAnotherMayLead) {
  apply(open());
  begin_watch();
  change_and_heal();
  ASSERT_EQ(healings.size(), 1U);
  EXPECT_EQ(healings[0].report.verdict, ApplyVerdict::kept);
  apply(open());
  session.reset();
  events.clear();
  change_and_heal();
  EXPECT_EQ(at("gpu1", "sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("0"));
  for (const WatchEvent& one : events) EXPECT_NE(one.kind, WatchEvent::Kind::unreadable) << one.item.reason;
}

TEST_F(WatchedEpochs, HealsWithARestoredStoreOnceItIsRaised) {
  apply(open());
  keep_copy(copy());
  for (int i = 0; i < 3; ++i) apply(open());
  restore(copy());
  const std::uint64_t before = accepted.at("gpu1").by.epoch;
  begin_watch();
  change_and_heal();
  EXPECT_EQ(at("gpu1", "sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("0"));
  ASSERT_GE(healings.size(), 2U);
  EXPECT_EQ(healings[0].report.verdict, ApplyVerdict::taken_over);
  EXPECT_EQ(healings[1].report.verdict, ApplyVerdict::kept);
  EXPECT_GT(accepted.at("gpu1").by.epoch, before);
  // Somebody else leads again: it is not raised a second time.
  accepted.at("gpu1").by = {accepted.at("gpu1").by.epoch + 100, "somebody"};
  const std::uint64_t other = accepted.at("gpu1").by.epoch;
  change_and_heal();
  EXPECT_EQ(accepted.at("gpu1").by.epoch, other);
  EXPECT_EQ(at("gpu1", "sysctl[net.ipv4.tcp_mtu_probing]"), Value::text("1"));
}

}  // namespace
}  // namespace lockstep
