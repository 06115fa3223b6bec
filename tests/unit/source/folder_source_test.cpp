// A folder as a source: copies of one moment, and what is refused.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "drivers/posix/wait.hpp"
#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;
using Trouble = SourceTrouble;

class FolderSourceTest : public ::testing::Test {
 protected:
  FolderSourceTest() { fs::create_directories(specs); }
  std::unique_ptr<Source> source() const { return *make_folder_source(settings); }
  FetchOutcome fetched() const { return source()->fetch(within(std::chrono::seconds(20))); }
  std::string write(const std::string& name, const std::string& text) const {
    return write_text(specs + "/" + name, text);
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, specs + "/" + name);
  }

  TestFolder folder;
  const std::string specs = folder / "specs";
  FolderSettings settings{.folder = specs, .cache = folder / "cache"};
};

TEST_F(FolderSourceTest, ReturnsACopyThatStays) {
  const Files files{{"a.yaml", "a"}, {"sub/deep/b.csv", std::string("\0\n", 2)}, {"empty.yaml", ""}};
  for (const auto& [name, text] : files) write(name, text);
  const auto git = source();
  const auto first = expect_revision(git->fetch(within(std::chrono::seconds(20))));
  ASSERT_TRUE(first);
  EXPECT_EQ(files_in(first->folder->path()), files);
  EXPECT_TRUE(first->id.starts_with("sha256:") && first->id.size() == 71) << first->id;
  EXPECT_EQ(first->author + first->subject + first->made + first->signer, "");
  write("a.yaml", "changed");
  const auto second = expect_revision(git->fetch(within(std::chrono::seconds(20))));
  EXPECT_EQ(files_in(first->folder->path()), files);
  EXPECT_EQ(files_in(second->folder->path()).at("a.yaml"), "changed");
  EXPECT_NE(second->id, first->id);
}

TEST_F(FolderSourceTest, TheIdIsThatOfNamesAndContents) {
  write("a.yaml", "1");
  const auto source_of_it = source();
  const auto id = [&] { return expect_revision(source_of_it->fetch(within(std::chrono::seconds(20))))->id; };
  const std::string before = id();
  fs::last_write_time(specs + "/a.yaml", fs::file_time_type::clock::now() - std::chrono::hours(1));
  fs::permissions(specs + "/a.yaml", fs::perms::owner_all);
  write(".hidden", "x");
  EXPECT_EQ(id(), before);
  fs::rename(specs + "/a.yaml", specs + "/b.yaml");
  EXPECT_NE(id(), before);
  fs::rename(specs + "/b.yaml", specs + "/a.yaml");
  EXPECT_EQ(id(), before);
  write("a.yaml", "");
  write("b.yaml", "1");
  const std::string split = id();
  write("a.yaml", "1");
  write("b.yaml", "");
  EXPECT_NE(id(), split);
}

TEST_F(FolderSourceTest, ReturnsTheSameFolderWhileNothingChanges) {
  write("a.yaml", "1");
  const auto one = source();
  const auto first = expect_revision(one->fetch(within(std::chrono::seconds(20))));
  EXPECT_EQ(expect_revision(one->fetch(within(std::chrono::seconds(20))))->folder, first->folder);
}

// As Kubernetes mounts a ConfigMap: every file is a link through ..data, which is replaced whole.
TEST_F(FolderSourceTest, FollowsLinksWithinTheFolder) {
  write("..2026/a.yaml", "first");
  link("..2026", "..data");
  link("..data/a.yaml", "a.yaml");
  write("v3/inventory.csv", "x");
  link("v3", "current");
  link("none", "dangling.yaml");
  const auto revision = expect_revision(fetched());
  ASSERT_TRUE(revision);
  EXPECT_EQ(files_in(revision->folder->path()), (Files{{"a.yaml", "first"},
                                                       {"current", "-> v3"},
                                                       {"dangling.yaml", "-> none"},
                                                       {"v3/inventory.csv", "x"}}));
}

TEST_F(FolderSourceTest, RefusesLinksOutOfTheFolder) {
  write_text(folder / "secret", "secret");
  write_text(folder / "outside/a.yaml", "secret");
  write("a.yaml", "a");
  for (const std::string target : {"/etc/passwd", "/etc", "../secret", "../outside", "../outside/a.yaml",
                                   "..", "../specs/a.yaml", "sub/../../secret", "/proc/self/root"}) {
    fs::create_directories(specs + "/sub");
    link(target, "b.yaml");
    const std::string text = expect_trouble(fetched(), Trouble::not_allowed);
    EXPECT_NE(text.find("b.yaml: is a symbolic link out of the folder"), text.npos) << target << ": " << text;
    fs::remove(specs + "/b.yaml");
  }
  EXPECT_TRUE(expect_revision(fetched()));
}

TEST_F(FolderSourceTest, RefusesWhatIsNoFileAndNeverWaitsForIt) {
  const std::string fifo = specs + "/a.yaml";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(expect_trouble(fetched(), Trouble::not_allowed).find("neither a file nor a folder"),
            std::string::npos);
}

TEST_F(FolderSourceTest, ReportsAFolderThatIsMissing) {
  settings.folder = folder / "none";
  (void)expect_trouble(fetched(), Trouble::not_found);
  settings.folder = write_text(folder / "file", "");
  (void)expect_trouble(fetched(), Trouble::not_found);
  fs::remove_all(specs);
  settings.folder = specs;
  const auto one = source();
  (void)expect_trouble(one->fetch(within(std::chrono::seconds(20))), Trouble::not_found);
  write("a.yaml", "1");
  EXPECT_TRUE(expect_revision(one->fetch(within(std::chrono::seconds(20)))));
}

TEST_F(FolderSourceTest, KeepsToItsLimits) {
  write("a.yaml", std::string(1000, 'a'));
  write("b.yaml", std::string(1000, 'b'));
  settings.max_bytes = 1999;
  EXPECT_NE(expect_trouble(fetched(), Trouble::too_large).find("bytes that are read"), std::string::npos);
  settings.max_bytes = 2000;
  EXPECT_TRUE(expect_revision(fetched()));
  settings.max_files = 1;
  EXPECT_NE(expect_trouble(fetched(), Trouble::too_large).find(" files and folders"), std::string::npos);
  settings.max_files = 1000;
  std::string deep;
  for (int i = 0; i < 70; ++i) deep += "d/";
  write(deep + "c.yaml", "");
  EXPECT_NE(expect_trouble(fetched(), Trouble::too_large).find("folders deep"), std::string::npos);
}

// The writer goes through the files and raises each number by one: at each moment they are N…N, N-1…N-1.
TEST_F(FolderSourceTest, IsOfOneMomentWhileFilesAreWritten) {
  constexpr int kFiles = 20;
  const auto replace = [&](int file, int number) {
    const std::string name = specs + "/" + std::to_string(100 + file) + ".yaml";
    fs::rename(write(".beside", std::to_string(number)), name);
  };
  for (int file = 0; file < kFiles; ++file) replace(file, 0);
  std::jthread writer([&](const std::stop_token& stop) {
    for (int number = 1; !stop.stop_requested(); ++number) {
      for (int file = 0; file < kFiles; ++file) {
        replace(file, number);
        if ((number + file) % 16 == 0)
          (void)pause(std::chrono::milliseconds(20 * ((number + file) % 17)), {});
      }
    }
  });
  for (int i = 0; i < 4; ++i) {
    const auto outcome = fetched();
    if (std::holds_alternative<SourceError>(outcome)) {
      EXPECT_NE(expect_trouble(outcome, Trouble::unreachable).find("keeps changing"), std::string::npos);
      continue;
    }
    const Files files = files_in(std::get<Revision>(outcome).folder->path());
    ASSERT_EQ(files.size(), static_cast<std::size_t>(kFiles));
    const int first = std::stoi(files.begin()->second);
    int before = first;
    for (const auto& [name, text] : files) {
      EXPECT_TRUE(std::stoi(text) <= before && std::stoi(text) >= first - 1)
          << name << ": " << text << " of " << first;
      before = std::stoi(text);
    }
  }
  writer.request_stop();
  writer.join();
  for (int file = 0; file < kFiles; ++file) replace(file, -1);
  EXPECT_EQ(files_in(expect_revision(fetched())->folder->path()).at("100.yaml"), "-1");
}

TEST_F(FolderSourceTest, IsUnreachableWhileItChanges) {
  std::atomic<bool> done_writing = false;
  std::jthread writer([&] {
    for (int round = 0; !done_writing; ++round) write("a.yaml", std::to_string(round));
  });
  // A writer that the scheduler does not run for long enough leaves the folder quiet.
  FetchOutcome outcome;
  EXPECT_TRUE(becomes_true([&] {
    outcome = fetched();
    return std::holds_alternative<SourceError>(outcome);
  }));
  const std::string text = expect_trouble(outcome, Trouble::unreachable);
  EXPECT_NE(text.find("keeps changing"), text.npos) << text;
  (void)expect_trouble(source()->fetch(within(std::chrono::milliseconds(50))), Trouble::unreachable);
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = source()->fetch({.stop = stop.get_token()});
  EXPECT_EQ(std::get<SourceError>(stopped).error.kind, ErrorKind::cancelled);
  done_writing = true;
}

}  // namespace
}  // namespace lockstep
