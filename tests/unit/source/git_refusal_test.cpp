// Commits that are refused: links, submodules, paths that leave their folder, conflicts, and more than the
// limits. They are made by git's own plumbing.
#include <filesystem>

#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Trouble = SourceTrouble;

class GitRefusal : public GitSourceTest {
 protected:
  // Fetches the commit of this listing after a good one; what the good one returned stays, and nothing else.
  std::string refused(const std::string& listing, Trouble trouble) {
    return refused_tree(repository.tree(listing), trouble);
  }
  std::string refused_tree(const std::string& tree, Trouble trouble) {
    if (!git_) {
      (void)repository.commit_tree(repository.tree(file("good.yaml")));
      git_ = source(with);
      good_ = expect_revision(git_->fetch(within(kPatience)));
    }
    (void)repository.commit_tree(tree);
    const std::string text = expect_trouble(git_->fetch(within(kPatience)), trouble);
    EXPECT_TRUE(good_ && files_in(with.cache).size() == 1 &&
                files_in(good_->folder->path()).contains("good.yaml"))
        << text;
    return text;
  }
  std::string file(const std::string& name, const std::string& text = "x") const {
    return "100644 blob " + repository.blob(text) + "\t" + name + "\n";
  }

  GitSettings with = settings();

 private:
  std::unique_ptr<Source> git_;
  std::optional<Revision> good_;
};

TEST_F(GitRefusal, SymbolicLinks) {
  for (const std::string target : {"/etc", "good.yaml"}) {
    const std::string link = "120000 blob " + repository.blob(target) + "\tspecs\n";
    const std::string text = refused(link, Trouble::not_allowed);
    EXPECT_NE(text.find("specs: is a symbolic link"), text.npos) << text;
  }
}

TEST_F(GitRefusal, AFolderOfSpecsThatIsALinkOrASubmodule) {
  with.path = "specs";
  const std::string good = repository.tree(file("good.yaml"));
  const auto refused_folder = [&](const std::string& entry) {
    (void)repository.commit_tree(repository.tree("040000 tree " + good + "\tspecs\n"));
    const auto git = source(with);
    EXPECT_TRUE(expect_revision(git->fetch(within(kPatience))));
    (void)repository.commit_tree(repository.tree(entry));
    return expect_trouble(git->fetch(within(kPatience)), Trouble::not_allowed);
  };
  EXPECT_NE(refused_folder("120000 blob " + repository.blob("/etc") + "\tspecs\n").find("symbolic link"),
            std::string::npos);
  EXPECT_NE(refused_folder("160000 commit " + std::string(40, '1') + "\tspecs\n").find("submodule"),
            std::string::npos);
}

TEST_F(GitRefusal, Submodules) {
  const std::string text =
      refused("160000 commit " + std::string(40, '1') + "\tvendor\n" +
                  file(".gitmodules", "[submodule \"v\"]\n\tpath = vendor\n\turl = /x\n"),
              Trouble::not_allowed);
  EXPECT_NE(text.find("vendor: is a submodule"), text.npos) << text;
}

TEST_F(GitRefusal, LinksAndSubmodulesBesideTheSpecsAreNoMatter) {
  with.path = "specs";
  (void)repository.commit_tree(repository.tree(
      "120000 blob " + repository.blob("/etc") + "\tetc\n" + "160000 commit " + std::string(40, '1') +
      "\tvendor\n" + "040000 tree " + repository.tree(file("a.yaml")) + "\tspecs\n"));
  EXPECT_EQ(files_in(expect_revision(fetched(with))->folder->path()),
            (std::map<std::string, std::string>{{"a.yaml", "x"}}));
}

// By fsck before anything is read; git_tree.cpp would refuse them as well.
TEST_F(GitRefusal, PathsThatLeaveTheirFolder) {
  const std::string blob = repository.blob("x");
  const std::string inner = repository.tree(file("config"));
  for (const std::string name : {"..", "../x", ".git"}) {
    const std::string text = refused_tree(repository.raw_tree({{"100644", name}}, blob), Trouble::broken);
    EXPECT_NE(text.find("invalid objects"), text.npos) << name << ": " << text;
  }
  for (const std::string name : {".GIT", "git~1"})
    (void)refused_tree(repository.raw_tree({{"40000", name}}, inner), Trouble::broken);
}

TEST_F(GitRefusal, InvalidObjects) {
  const std::string blob = repository.blob("x");
  (void)refused_tree(repository.raw_tree({{"100644", "b"}, {"100644", "a"}}, blob), Trouble::broken);
  (void)refused_tree(repository.raw_tree({{"100644", "a"}, {"100644", "a"}}, blob), Trouble::broken);
  (void)refused_tree(repository.raw_tree({{"100644", "a"}, {"40000", "a"}}, blob), Trouble::broken);
  (void)refused_tree(repository.raw_tree({{"100644", ""}}, blob), Trouble::broken);
}

TEST_F(GitRefusal, ConflictMarkers) {
  const std::string text = refused(file("a.yaml", "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n"),
                                   Trouble::not_allowed);
  EXPECT_NE(text.find("a.yaml:2: has conflict markers"), text.npos) << text;
}

TEST_F(GitRefusal, NamesAreShownSafely) {
  const std::string text =
      refused("120000 blob " + repository.blob("/etc") + "\ta\x1b[2J\n", Trouble::not_allowed);
  EXPECT_NE(text.find("a\\x1b[2J: is a symbolic link"), text.npos) << text;
}

TEST_F(GitRefusal, MoreFilesThanTheLimit) {
  const std::string blob = repository.blob("x");
  std::string listing;
  for (int i = 0; i < 100'000; ++i)
    listing += "100644 blob " + blob + "\tfile-" + std::to_string(i) + ".yaml\n";
  const std::string tree = repository.tree(listing);
  const std::string text = refused_tree(tree, Trouble::too_large);
  EXPECT_NE(text.find("more than 20000 files"), text.npos) << text;
}

// 10 levels of ten names for one tree: 10^10 files, of eleven objects.
TEST_F(GitRefusal, ATreeThatNamesItselfWithoutEnd) {
  std::string kind = "100644 blob " + repository.blob("x");
  for (int level = 0; level < 10; ++level) {
    std::string listing;
    for (int i = 0; i < 10; ++i) listing += kind + "\t" + std::to_string(i) + "\n";
    kind = "040000 tree " + repository.tree(listing);
  }
  const std::string text = refused_tree(kind.substr(kind.rfind(' ') + 1), Trouble::too_large);
  EXPECT_NE(text.find("more than 20000 files"), text.npos) << text;
}

TEST_F(GitRefusal, DeepFolders) {
  std::string path;
  for (int level = 0; level < 64; ++level) path += "d/";
  (void)repository.git(
      {"update-index", "--add", "--cacheinfo", "100644," + repository.blob("x") + "," + path + "a.yaml"});
  const std::string text = refused_tree(repository.git({"write-tree"}), Trouble::too_large);
  EXPECT_NE(text.find("64 folders deep"), text.npos) << text;
}

TEST_F(GitRefusal, AHugeFileThatIsSmallOnTheWire) {
  (void)done({"truncate", "-s", "100M", repository.path() + "/huge.yaml"});
  const std::string id = repository.commit({});
  const std::string text = refused_tree(id + "^{tree}", Trouble::too_large);
  EXPECT_NE(text.find("huge.yaml: has 100 MiB, and a file may have at most 8 MiB"), text.npos) << text;
}

TEST_F(GitRefusal, MoreThanMayBeReceived) {
  with.max_bytes = 2 << 20;
  const std::string random = done({"head", "-c", "12000000", "/dev/urandom"});
  const std::string id = repository.commit({{"outside/random.bin", random}, {"specs/a.yaml", "a"}});
  with.path = "";
  const std::string text = refused_tree(id + "^{tree}", Trouble::too_large);
  EXPECT_NE(text.find("more would be received"), text.npos) << text;
  with.max_bytes = 64 << 20;
  with.path = "specs";
  EXPECT_EQ(files_in(expect_revision(fetched(with))->folder->path()).size(), 1U);
}

TEST_F(GitRefusal, MoreThanTheFilesTogetherMayHave) {
  std::map<std::string, std::string> files;
  for (int i = 0; i < 5; ++i)
    files["zeros-" + std::to_string(i)] = std::string(1 << 20, '0' + static_cast<char>(i));
  (void)repository.commit(files);
  with.max_bytes = 4 << 20;
  EXPECT_NE(expect_trouble(fetched(with), Trouble::too_large).find("5 MiB"), std::string::npos);
  with.max_bytes = 5 << 20;
  EXPECT_TRUE(expect_revision(fetched(with)));
}

}  // namespace
}  // namespace lockstep
