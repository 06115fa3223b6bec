// What the tests of sources share: folders, git repositories made by the git command, processes in the
// background, and what can be observed of a fetch from outside: /proc and the cache's folder.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reconciler/source/folder_source.hpp"
#include "reconciler/source/git_source.hpp"

namespace lockstep {

class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Creates the folders above; 0600.
std::string write_text(const std::string& file, const std::string& text);

// The files beneath, by path; a link is "-> TARGET".
std::map<std::string, std::string> files_in(const std::string& folder);

// The command's output; it runs in an environment of its own and must succeed.
std::string done(const std::vector<std::string>& words, const std::string& input = "");

// A repository with a work tree, on branch main, whose commits are by Ada.
class TestRepository {
 public:
  explicit TestRepository(std::string path, const std::vector<std::string>& init = {});
  const std::string& path() const { return path_; }
  // Output without its last newline.
  std::string git(std::vector<std::string> words, const std::string& input = "") const;
  // The hash of a new commit of all files of the work tree.
  std::string commit(const std::map<std::string, std::string>& files, const std::string& message = "edit",
                     const std::vector<std::string>& options = {}) const;
  // The same without git's conversions of line ends and the like, and without the work tree.
  std::string commit_as_they_are(const std::map<std::string, std::string>& files,
                                 const std::string& message) const;
  // A commit of trees and blobs that the git command would not make itself: the text of git-mktree(1), or the
  // hash of a tree. Moves branch main.
  std::string commit_tree(const std::string& tree) const;
  std::string blob(const std::string& text) const;
  std::string tree(const std::string& listing) const;
  // A tree object of these bytes, without any check.
  std::string raw_tree(const std::vector<std::pair<std::string, std::string>>& mode_and_name,
                       const std::string& hash) const;

 private:
  std::string path_;
};

// A process of the test, killed with its object.
class Background {
 public:
  explicit Background(const std::vector<std::string>& words);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  pid_t pid() const { return pid_; }
  // The next line of its output; empty: it ended, or said nothing for ten seconds.
  std::string line();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// Polls, for at most ten seconds.
bool becomes_true(const std::function<bool()>& condition);

// Of every process that runs now, by "PID/cmdline" and "PID/environ": its text.
std::map<std::string, std::string> process_texts();
// The processes that name `text` in an argument or a variable.
std::vector<std::string> processes_with(const std::string& text);

Call within(std::chrono::milliseconds time);

using FetchOutcome = std::variant<Revision, SourceError>;
// None, with a failure of the test, if it is an error.
std::optional<Revision> expect_revision(const FetchOutcome& outcome);
// The message; a failure of the test if it is a revision or has another trouble.
std::string expect_trouble(const FetchOutcome& outcome, SourceTrouble trouble);

// The result of `check` in a process whose /etc has the files of this folder as well; none: the kernel mounts
// no overlay here. Needs root.
std::optional<bool> with_other_etc(const std::string& files, const std::function<bool()>& check);

// Sets environment variables for a test.
class Variables {
 public:
  ~Variables();
  void set(const std::string& name, const std::string& value);

 private:
  std::map<std::string, std::optional<std::string>> former_;
};

// A repository and a source that fetches it by its path.
class GitSourceTest : public ::testing::Test {
 protected:
  GitSettings settings() const { return {.address = repository.path(), .cache = folder / "cache"}; }
  static std::unique_ptr<Source> source(const GitSettings& settings);
  FetchOutcome fetched(const GitSettings& with) const { return source(with)->fetch(within(kPatience)); }
  FetchOutcome fetched() const { return fetched(settings()); }
  static constexpr std::chrono::seconds kPatience{20};

  TestFolder folder;
  TestRepository repository{folder / "fabric"};
};

}  // namespace lockstep
