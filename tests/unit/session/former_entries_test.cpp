#include "reconciler/session/former_entries.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "specs/model/schema_rows.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

const Value kFound = Value::text("1");
const Value kWrote = Value::text("0");

Path path(std::string_view text) { return *Path::parse(text); }

class FormerEntries : public ::testing::Test {
 protected:
  FormerEntries() {
    compiled.intents.resize(1);
    compiled.intents[0].device = "gpu1";
  }
  Intent& gpu1() { return compiled.intents[0]; }
  // The object that defined an entry is gone, after a change had written it.
  void gone(const std::string& entry, Value found, Value wrote, bool restore = true) {
    want_restored(compiled, {{"gpu1", path(entry), found, wrote, {}, restore, "HostProfile/training"}});
  }
  Compiled compiled;
};

TEST_F(FormerEntries, FoundValueIsDesiredAgainOnBehalfOfTheObject) {
  gone("sysctl[net.ipv4.tcp_timestamps]", kFound, kWrote);
  const Entry* const want = gpu1().want.find(path("sysctl[net.ipv4.tcp_timestamps]"));
  ASSERT_NE(want, nullptr);
  EXPECT_EQ(want->value, kFound);
  EXPECT_EQ(compiled.origins[want->origin].object, "HostProfile/training");
  EXPECT_EQ(compiled.origins[want->origin].rule, "onDelete: restore");
}

TEST_F(FormerEntries, CreatedEntryIsRemoved) {
  gone("interface[rail0]/address[10.0.0.1/31]", Value{}, Value::present());
  Observation seen;
  seen.have.set(path("interface[rail0]/address[10.0.0.1/31]"), Value::present());
  seen.have.set(path("interface[rail0]/address[10.0.0.3/31]"), Value::present());
  const ChangeSet changes = diff(gpu1(), seen).changes;
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, path("interface[rail0]/address[10.0.0.1/31]"));
  EXPECT_FALSE(changes[0].want);
}

TEST_F(FormerEntries, NothingIsRestoredOnLeaveOrUnderAnotherObject) {
  gone("sysctl[net.ipv4.tcp_sack]", kFound, kWrote, false);
  EXPECT_TRUE(gpu1().want.empty());
  gpu1().want.set(path("interface[rail0]/mtu"), Value::integer(9000));
  gpu1().claims.push_back({row("interface[*]/address[*]"), {"rail0"}, 0});
  gone("interface[rail0]/mtu", Value::integer(1500), Value::integer(4000));
  gone("interface[rail0]/address[10.0.0.1/31]", Value::present(), Value{});
  EXPECT_EQ(gpu1().want.size(), 1U);
  EXPECT_EQ(gpu1().want.value(path("interface[rail0]/mtu")), Value::integer(9000));
  EXPECT_EQ(gpu1().claims.size(), 1U);
}

TEST_F(FormerEntries, AddressOfAFormerPoolIsRemovedOnlyAtManagedPorts) {
  const OriginId origin =
      compiled.origins.add(Origin{.at = {}, .object = "HostProfile/training", .rule = ""});
  gpu1().want.set(path("interface[lo]/admin"), Value::boolean(true), origin);
  gone("interface[lo]/address[10.255.0.1/32]", Value{}, Value::present(), false);
  gone("interface[lo]/address[192.0.2.1/32]", Value::present(), Value::present(), false);
  gone("interface[rail0]/address[10.0.0.1/31]", Value{}, Value::present(), false);
  Observation seen;
  for (const char* one : {"interface[lo]/address[10.255.0.1/32]", "interface[lo]/address[192.0.2.1/32]",
                          "interface[rail0]/address[10.0.0.1/31]"})
    seen.have.set(path(one), Value::present());
  seen.have.set(path("interface[lo]/admin"), Value::boolean(true));
  const ChangeSet changes = diff(gpu1(), seen).changes;
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, path("interface[lo]/address[10.255.0.1/32]"));
  EXPECT_FALSE(changes[0].want);
}

// gpu1 as observed, without an object that mentions it.
class LeftBehind : public FormerEntries {
 protected:
  LeftBehind() : fleet(*Fleet::make({{"gpu1", "host", &gpu1(), {}}}, {})), states(1) {
    states[0].device = "gpu1";
    states[0].reachable = true;
  }
  void has(Path entry, Value value) { states[0].observation.have.set(entry, value); }
  // Written by a change that failed, so not verified.
  WrittenEntry tried(Value value) const {
    return {"gpu1", mtu, kFound, kFound, value, false, "Fabric/backend"};
  }
  const Path mtu = path("interface[rail0]/mtu");
  Fleet fleet;
  std::vector<DeviceState> states;
};

TEST_F(LeftBehind, VerifiedEntryIsLeftIfStillPresent) {
  const WrittenEntry one{"gpu1", mtu, kFound, kWrote, {}, false, "Fabric/backend"};
  has(mtu, kWrote);
  EXPECT_EQ(left_behind(fleet, states, {one}).size(), 1U);
  has(mtu, kFound);
  EXPECT_TRUE(left_behind(fleet, states, {one}).empty());
}

// An owned class is removed together with its DSCPs, which then do not count as left by an earlier change.
TEST_F(LeftBehind, PartOfAnOwnedCollectionIsNotLeft) {
  const Path dscp = path("interface[rail0]/class[3]/dscp");
  const Value wrote = Value::set({"26"});
  const WrittenEntry made{"gpu1", dscp, Value{}, wrote, {}, false, "RoceProfile/lossless"};
  const WrittenEntry removed{"gpu1", dscp, wrote, Value{}, {}, false, "RoceProfile/lossless"};
  has(dscp, wrote);
  EXPECT_EQ(left_behind(fleet, states, {made}).size(), 1U);
  gpu1().claims.push_back({row("interface[*]/class[*]"), {"rail0"}, 0});
  EXPECT_TRUE(left_behind(fleet, states, {made}).empty());
  states[0].observation.have.erase(dscp);
  EXPECT_TRUE(left_behind(fleet, states, {removed}).empty());
}

TEST_F(LeftBehind, FailedWriteIsLeftOnlyWhereObserved) {
  EXPECT_TRUE(left_behind(fleet, states, {tried(kWrote)}).empty()) << "nothing was read there";
  has(mtu, kFound);
  EXPECT_TRUE(left_behind(fleet, states, {tried(kWrote)}).empty());
  has(mtu, kWrote);
  const std::vector<WrittenEntry> left = left_behind(fleet, states, {tried(kWrote)});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].wrote, kWrote);
  EXPECT_TRUE(is_verified(left[0]));
}

TEST_F(LeftBehind, FailedWriteToARemovedDeviceIsUnverified) {
  WrittenEntry one = tried(kWrote);
  one.device = "gpu9";
  const std::vector<WrittenEntry> left = left_behind(fleet, states, {one});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_FALSE(is_verified(left[0]));
}

class SettledByAnObservation : public LeftBehind {
 protected:
  SettledByAnObservation() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-settle-XXXXXX").string();
    directory = mkdtemp(pattern.data());
    store = led(directory);
    const std::uint64_t change = *history().begin(Plan{}, "ann", "why");
    const ChangeSet changes{{mtu, Value::integer(1500), Value::integer(9000), 0}};
    if (!history().ticket(change, {"t1", 1, "gpu1", "linux", changes}) ||
        !history().receipt("t1", TicketState::failed, "no answer"))
      throw std::runtime_error("the store takes nothing");
  }
  ~SettledByAnObservation() override { std::filesystem::remove_all(directory); }
  History& history() const { return store->history(); }
  std::vector<WrittenEntry> settle() { return *settle_written(fleet, states, history()); }

  std::string directory;
  std::unique_ptr<Store> store;
};

TEST_F(SettledByAnObservation, FailedWriteThatIsPresentIsRecordedAsOurs) {
  has(mtu, Value::integer(9000));
  ASSERT_EQ(settle().size(), 1U);
  EXPECT_EQ(history().written()->front().wrote, Value::integer(9000));
  EXPECT_FALSE(history().written()->front().tried);
}

TEST_F(SettledByAnObservation, FailedWriteWithoutEffectIsForgotten) {
  has(mtu, Value::integer(1500));
  EXPECT_TRUE(settle().empty());
  EXPECT_TRUE(history().written()->empty());
}

TEST_F(SettledByAnObservation, FailedWriteStaysOpenWithoutEvidence) {
  EXPECT_TRUE(settle().front().tried) << "not there, which may be unread";
  has(mtu, Value::integer(4000));
  EXPECT_TRUE(settle().front().tried) << "of another hand";
  has(mtu, Value::integer(1500));
  states[0].reachable = false;
  EXPECT_TRUE(settle().front().tried) << "of a device that did not answer";
}

}  // namespace
}  // namespace lockstep
