#include "drivers/mapped/mapped_driver.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr MapRow kMap[] = {{row("interface[*]/address[*]"), "port.{}.address.{}"},
                           {row("interface[*]/mtu"), "port.{}.mtu"}};

// A store that keeps the native state in memory.
class Memory final : public NativeStore {
 public:
  explicit Memory(NativeState& state) : state_(state) {}
  Result<NativeState> read(const Call&) override { return state_; }
  Result<Done> edit(const NativeState& ground, const std::vector<NativeEdit>& edits, const Call&) override {
    if (between) between();
    if (ground.entries.size() != state_.entries.size()) return Error{ErrorKind::conflict, "another hand"};
    for (const NativeEdit& one : edits) state_.entries.push_back({one.key, one.value.value_or("")});
    return Done{};
  }
  bool can_hold(std::string_view) const override { return true; }
  std::string words(const NativeEdit& edit) const override { return edit.key; }
  std::function<void()> between;  // runs between the read and the edit of an apply

 private:
  NativeState& state_;
};

Attached driver_over(NativeState& state, std::span<const MapRow> map = kMap) {
  return make_mapped_driver("mapped", "sw1", map, std::make_unique<Memory>(state));
}

TEST(MappedDriver, AKeyThatLooksLikeAPlaceholderIsNotOne) {
  NativeState state;
  const Attached attached = driver_over(state);
  const Path entry(row("interface[*]/address[*]"), {"{}", "10.0.0.1/31"});
  EXPECT_EQ(attached.preview->native({{entry, {}, Value::present(), 0}}),
            std::vector<std::string>{"port.{}.address.10.0.0.1/31"});
}

TEST(MappedDriver, RefusesATableThatDoesNotFitItsRows) {
  NativeState state;
  for (const char* const key : {"port.mtu", "port.{}.{}.mtu"}) {
    const MapRow wrong[] = {{row("interface[*]/mtu"), key}};
    EXPECT_THROW(driver_over(state, wrong), std::invalid_argument) << key;
  }
}

TEST(MappedDriver, DifferentStatesHaveDifferentRevisions) {
  const auto revision = [](std::vector<NativeEntry> entries) {
    NativeState state{std::move(entries), "boot"};
    const auto seen = driver_over(state).driver->observe({}, "", {});
    EXPECT_TRUE(seen);
    return seen ? seen->revision : std::string();
  };
  EXPECT_NE(revision({{"a", "b"}, {"c", "d"}}), revision({{"a", "b\nc\nd"}}));
  EXPECT_NE(revision({{"a", "bc"}}), revision({{"ab", "c"}}));
  EXPECT_EQ(revision({{"a", "b"}}), revision({{"a", "b"}}));
}

TEST(MappedDriver, AForeignWriteBetweenReadAndEditIsAConflict) {
  NativeState state;
  auto store = std::make_unique<Memory>(state);
  int hands = 0;
  store->between = [&] {
    if (++hands == 1) state.entries.push_back({"port.x.mtu", "1400"});
  };
  const Attached attached = make_mapped_driver("mapped", "sw1", kMap, std::move(store));
  const ChangeSet changes{{Path(row("interface[*]/mtu"), {"y"}), {}, Value::integer(9000), 0}};
  const auto first = attached.driver->apply(changes, {}, {});
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().kind, ErrorKind::conflict);
  EXPECT_EQ(state.entries.size(), 1U);
  EXPECT_TRUE(attached.driver->apply(changes, {}, {}));
}

}  // namespace
}  // namespace lockstep
