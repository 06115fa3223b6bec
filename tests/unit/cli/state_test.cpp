// `lockstep state`: shows, backs up and restores a state directory.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reconciler/engine/plan.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "said.hpp"
#include "tests/needs.hpp"
#include "tests/unit/store/led_store.hpp"

namespace lockstep {
namespace {

class StateCommands : public testing::Test {
 protected:
  StateCommands() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-state-XXXXXX").string();
    top = mkdtemp(pattern.data());
    setenv("LOCKSTEP_STATE_DIR", (top + "/state").c_str(), 1);
    file = top + "/backup.sqlite";
  }
  ~StateCommands() override {
    unsetenv("LOCKSTEP_STATE_DIR");
    std::filesystem::remove_all(top);
  }

  // State as an apply leaves it.
  std::unique_ptr<Store> change() const {
    const Result<OpenedCluster> cluster = load_cluster({.specs = {pod}});
    if (!cluster) throw std::runtime_error(cluster.error().text());
    auto store = led(state_directory(*cluster), {.cluster = cluster->state_name()});
    const auto begun = store->history().begin(Plan{}, "ann", "lockstep apply");
    if (!begun || !store->history().end(*begun, "kept") || !store->blobs().keep("baseline/pairs", {{"a", 1}}))
      throw std::runtime_error("no change");
    return store;
  }
  static nlohmann::json json_of(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "json"});
    const Answer said = say(words);
    EXPECT_EQ(said.code, 0) << said.out << said.err;
    return nlohmann::json::parse(said.out, nullptr, false);
  }

  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  std::string top;
  std::string file;
};

TEST_F(StateCommands, TwinDownLeavesAnotherUsersStateWhereItIs) {
  LOCKSTEP_NEEDS_ROOT("gives a folder to another user");
  const std::string state = top + "/state/nosuch-twin";
  std::filesystem::create_directories(state);
  std::ofstream(state + "/journal.sqlite") << "theirs";
  ASSERT_EQ(::chown(state.c_str(), 65534, 65534), 0);
  std::filesystem::create_directories(top + "/elsewhere");
  std::filesystem::create_directory_symlink(top + "/elsewhere", top + "/state/linked-twin");
  for (const bool force : {false, true}) {
    std::vector<std::string> words{"twin", "down", "--name", "nosuch"};
    if (force) words.emplace_back("--force");
    const Answer said = say(words);
    EXPECT_EQ(said.code, 1) << said.out;
    if (!force) {
      EXPECT_NE(said.err.find("belongs to another user (uid 65534)"), std::string::npos) << said.err;
    }
    words[3] = "linked";
    EXPECT_EQ(say(words).code, 1);
  }
  EXPECT_TRUE(std::filesystem::exists(state + "/journal.sqlite"));
  EXPECT_FALSE(std::filesystem::exists(state + "/lock"));
  EXPECT_TRUE(std::filesystem::is_empty(top + "/elsewhere"));
  EXPECT_TRUE(std::filesystem::is_symlink(top + "/state/linked-twin"));
}

TEST_F(StateCommands, WithoutStateReportThatAndCreateNothing) {
  const Answer shown = say({"state", "show", pod});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(shown.out.starts_with("state of ")) << shown.out;
  EXPECT_TRUE(shown.out.ends_with(": nothing was ever written here\n")) << shown.out;
  EXPECT_EQ(json_of({"state", "show", pod})["begun"], false);
  const Answer refused = say({"state", "backup", file, pod});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("there is nothing to back up"), std::string::npos) << refused.err;
  EXPECT_TRUE(std::filesystem::is_empty(top));
}

TEST_F(StateCommands, ShowBackUpAndRestore) {
  change();
  const Answer made = say({"state", "backup", file, pod});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_NE(made.out.find(file + ", 1 change in "), std::string::npos) << made.out;
  change();
  const nlohmann::json shown = json_of({"state", "show", pod});
  EXPECT_EQ(shown["kind"], "State");
  EXPECT_EQ(shown["changes"]["total"], 2);
  EXPECT_EQ(shown["changes"]["newest"][0]["outcome"], "kept");
  EXPECT_EQ(shown["kept"][0]["key"], "baseline/pairs");
  EXPECT_EQ(shown["lastBackup"]["file"], file);
  EXPECT_TRUE(shown["leader"].is_null());
  const std::string text = say({"state", "show", pod}).out;
  for (const char* const part : {"none (no command is changing the cluster); last epoch 2", "2 changes",
                                 "pairs (accepted ", "1 change\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << ":\n" << text;
  const Answer back = say({"state", "restore", file, pod});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_NE(back.out.find("1 change; the next epoch is above 1000002\n"), std::string::npos) << back.out;
  EXPECT_NE(back.out.find("what was there before is kept: "), std::string::npos) << back.out;
  EXPECT_NE(back.out.find("`lockstep drift` shows what differs"), std::string::npos) << back.out;
  EXPECT_EQ(json_of({"state", "show", pod})["changes"]["total"], 1);
  const nlohmann::json again = json_of({"state", "restore", file, pod});
  EXPECT_EQ(again["kind"], "Restored");
  EXPECT_TRUE(std::filesystem::exists(again["keptBefore"].get<std::string>()));
}

TEST_F(StateCommands, RefusalsSuggestWhatToDo) {
  const auto leader = change();
  ASSERT_EQ(json_of({"state", "backup", file, pod})["noted"], true) << "while another leads";
  EXPECT_NE(say({"state", "show", pod}).out.find("(lockstep apply); epoch 1"), std::string::npos);
  const Answer busy = say({"state", "restore", file, pod});
  EXPECT_EQ(busy.code, 1);
  EXPECT_NE(busy.err.find("this cluster is being changed by process "), std::string::npos) << busy.err;
  const Answer twin = say({"state", "restore", file, pod, "--twin"});
  EXPECT_EQ(twin.code, 1);
  EXPECT_NE(twin.err.find("is a backup of cluster "), std::string::npos) << twin.err;
  std::ofstream(file) << std::string(9000, 'g');
  leader->leadership().resign();
  const Answer damaged = say({"state", "restore", file, pod});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_TRUE(damaged.err.starts_with("error: " + file + ": ")) << damaged.err;
  EXPECT_EQ(json_of({"state", "show", pod})["changes"]["total"], 1);
  const Answer missing = say({"state", "backup"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("FILE"), std::string::npos) << missing.err;
  EXPECT_NE(say({"state"}).err.find("`lockstep state --help`"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
