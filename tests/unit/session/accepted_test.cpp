#include "reconciler/session/accepted.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

// A checkout without devices, and a store that remembers some.
class DeletionGuardOverAStore : public testing::Test {
 protected:
  DeletionGuardOverAStore() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-accepted-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    store_ = led(directory_);
  }
  ~DeletionGuardOverAStore() override { std::filesystem::remove_all(directory_); }

  Result<std::string> why_after(const nlohmann::json& census) {
    TRY_DONE(store_->blobs().keep("census", census));
    TRY(Deletion deletion, deletion_by(cluster_, Plan{}, store_->blobs()));
    return std::move(deletion.why);
  }

  std::string directory_;
  std::unique_ptr<Store> store_;
  OpenedCluster cluster_;
};

TEST_F(DeletionGuardOverAStore, AllowsTheFirstChange) {
  EXPECT_EQ(deletion_by(cluster_, Plan{}, store_->blobs())->why, "");
}

TEST_F(DeletionGuardOverAStore, RequiresConfirmationAboveMaxDelete) {
  const auto why = why_after({{"devices", {"gpu1", "gpu2", "gpu3"}}, {"objects", nlohmann::json::array()}});
  ASSERT_TRUE(why) << why.error().text();
  EXPECT_NE(*why, "");
}

// Specs that raise maxDelete do not raise it for the change that does so.
TEST_F(DeletionGuardOverAStore, IgnoresAMaxDeleteRaisedByTheSameChange) {
  RolloutPolicy& policy = cluster_.catalog.rollout_policies.emplace_back();
  policy.max_delete.said = true;
  policy.max_delete.value = Ratio{1'000'000};
  const nlohmann::json three{
      {"devices", {"gpu1", "gpu2", "gpu3"}}, {"objects", nlohmann::json::array()}, {"maxDelete", 250'000}};
  const auto why = why_after(three);
  ASSERT_TRUE(why) << why.error().text();
  EXPECT_NE(why->find("more than the 25% that one change may delete"), std::string::npos) << *why;
}

TEST_F(DeletionGuardOverAStore, RemembersDevicesAfterAnEmptyApply) {
  OpenedCluster two;
  for (const char* const name : {"gpu1", "gpu2"}) {
    TopologyDevice device;
    device.name = name;
    two.compiled.topology.devices.push_back(device);
  }
  ASSERT_TRUE(remember_first(two, store_->blobs()));
  EXPECT_NE(deletion_by(cluster_, Plan{}, store_->blobs())->why, "");
  ASSERT_TRUE(remember_first(cluster_, store_->blobs()));
  EXPECT_NE(deletion_by(cluster_, Plan{}, store_->blobs())->why, "") << "the second forgets nobody";
}

TEST_F(DeletionGuardOverAStore, RefusesAnInvalidCensus) {
  for (const nlohmann::json& broken :
       {nlohmann::json("three devices"), nlohmann::json::object(),
        nlohmann::json{{"devices", {"gpu1"}}, {"objects", "none"}},
        nlohmann::json{{"devices", {1, 2}}, {"objects", nlohmann::json::array()}}}) {
    const auto refused = why_after(broken);
    ASSERT_FALSE(refused) << broken;
    EXPECT_NE(refused.error().text().find("'census'"), std::string::npos) << refused.error().text();
  }
}

TEST_F(DeletionGuardOverAStore, RefusesWhenTheStoreFails) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((directory_ + "/journal.sqlite").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "DROP TABLE kept", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_FALSE(deletion_by(cluster_, Plan{}, store_->blobs()));
}

}  // namespace
}  // namespace lockstep
