#include "reconciler/session/specs_follower.hpp"

#include <filesystem>

#include "lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

class FollowedSpecs : public Lab {
 protected:
  std::vector<std::string> paths() const { return {folder.path() + "/specs"}; }
  void run_for(milliseconds length) {
    bool over = false;
    executor.at(executor.now() + length, [&over] { over = true; });
    while (!over && executor.step()) {
    }
  }
  SpecsFollower follow() {
    return SpecsFollower(executor, paths(), {}, specs_seen(paths()), [this](const std::string&) {
      ++changed;
      return takes;
    });
  }
  int changed = 0;
  bool takes = true;
};

TEST_F(FollowedSpecs, AreOfferedOnceAfterEachKindOfEdit) {
  const SpecsFollower follower = follow();
  run_for(seconds(5));
  EXPECT_EQ(changed, 0);
  const std::vector<std::function<void()>> edits{
      [this] { folder.write("specs/hosts.yaml", "# shorter\n"); },
      [this] { folder.write("specs/more/racks.csv", "name,platform\n"); },
      [this] { fs::rename(folder.write("new.yaml", kProfile), folder.path() + "/specs/hosts.yaml"); },
      [this] { fs::remove(folder.path() + "/specs/slo.yaml"); },
      [this] {
        fs::rename(folder.path() + "/specs", folder.path() + "/old");
        fs::copy(folder.path() + "/old", folder.path() + "/specs", fs::copy_options::recursive);
      }};
  for (std::size_t i = 0; i < edits.size(); ++i) {
    edits[i]();
    run_for(seconds(5));
    EXPECT_EQ(changed, static_cast<int>(i) + 1);
  }
}

TEST_F(FollowedSpecs, AreNotOfferedWhileTheyAreEdited) {
  const SpecsFollower follower = follow();
  std::string text = "# ";
  for (int i = 0; i < 20; ++i) {
    folder.write("specs/hosts.yaml", text += "longer ");
    run_for(milliseconds(900));
  }
  EXPECT_EQ(changed, 0);
  run_for(seconds(3));
  EXPECT_EQ(changed, 1);
}

TEST_F(FollowedSpecs, AreOfferedAgainUntilAccepted) {
  takes = false;
  const SpecsFollower follower = follow();
  folder.write("specs/hosts.yaml", "# shorter\n");
  run_for(seconds(5));
  EXPECT_GE(changed, 3);
  takes = true;
  run_for(seconds(2));
  const int before = changed;
  run_for(seconds(5));
  EXPECT_EQ(changed, before);
}

// A watch ends when the edited specs are accepted, and continues when they are refused.
TEST_F(FollowedSpecs, EndAWatchOnlyWhenAccepted) {
  ClusterSession& watching = open();
  executor.at(executor.now() + seconds(3), [this] { folder.write("specs/hosts.yaml", "kind: Nothing\n"); });
  executor.at(executor.now() + seconds(10),
              [this] { folder.write("specs/hosts.yaml", "# nothing at all\n"); });
  std::vector<bool> valid;
  const Result<Done> ended = watching.watch({.command = "test",
                                             .author = "ann",
                                             .event = {},
                                             .specs = paths(),
                                             .specs_seen = specs_seen(paths()),
                                             .specs_changed = [&](const std::string&) {
                                               valid.push_back(load_cluster({.specs = paths()})->valid());
                                               return valid.back() ? EditedSpecs::taken : EditedSpecs::left;
                                             }});
  EXPECT_TRUE(ended);
  EXPECT_EQ(valid, (std::vector<bool>{false, true}));
  EXPECT_LT(executor.now(), Time{} + seconds(14));
}

TEST_F(FollowedSpecs, AreOfferedAgainWhenOpeningFails) {
  ClusterSession& watching = open();
  executor.at(executor.now() + seconds(3), [this] { folder.write("specs/hosts.yaml", "# shorter\n"); });
  executor.at(executor.now() + seconds(30), [this] { stop.request_stop(); });
  const Result<Done> ended =
      watching.watch({.command = "test",
                      .author = "ann",
                      .event = {},
                      .specs = paths(),
                      .specs_seen = specs_seen(paths()),
                      .specs_changed = [this](const std::string&) {
                        return ++changed < 3 ? EditedSpecs::postponed : EditedSpecs::taken;
                      }});
  EXPECT_TRUE(ended);
  EXPECT_EQ(changed, 3);
  EXPECT_LT(executor.now(), Time{} + seconds(10));
}

// A followed file includes the files that it names and the numbers beside it.
TEST_F(FollowedSpecs, IncludeInventoriesAndNumbersOfAFile) {
  std::string devices = kDevices;
  const std::string names = "names: gpu[1-2]";
  devices.replace(devices.find(names), names.size(), "from: {csv: hosts.csv}");
  const std::vector<std::string> file{folder.write("one/devices.yaml", devices)};
  folder.write("one/hosts.csv", "name\ngpu1\ngpu2\n");
  const std::vector<std::pair<std::string, std::string>> edits{
      {"one/hosts.csv", "name,rack\ngpu1,a\ngpu2,b\n"}, {"one/allocations.lock", "# none yet\n"}};
  for (const auto& [edited, text] : edits) {
    const std::string seen = specs_seen(file);
    auto cluster = load_cluster({.specs = file});
    ASSERT_TRUE(cluster && cluster->valid());
    auto opened =
        ClusterSession::open(*std::move(cluster), {drivers, executor, state(), stop.get_token(), &measurer});
    ASSERT_TRUE(opened) << opened.error().text();
    bool is_edited = false;
    executor.at(executor.now() + seconds(10), [&] {
      folder.write(edited, text);
      is_edited = true;
    });
    std::stop_source too_late;
    const std::uint64_t timer = executor.at(executor.now() + seconds(15), [&] { too_late.request_stop(); });
    EXPECT_TRUE((*opened)->watch(
        {.command = "test",
         .author = "ann",
         .event = {},
         .specs = file,
         .specs_seen = seen,
         .specs_changed =
             [&](const std::string&) { return is_edited ? EditedSpecs::taken : EditedSpecs::left; },
         .stop = too_late.get_token()}));
    executor.cancel(timer);
    EXPECT_FALSE(too_late.stop_requested()) << edited;
  }
}

}  // namespace
}  // namespace lockstep
