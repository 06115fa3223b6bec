#include "tests/unit/source/lab.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "drivers/posix/program.hpp"
#include "drivers/posix/wait.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> plain_environment() {
  const char* const path = std::getenv("PATH");
  return {"PATH=" + std::string(path == nullptr ? "/usr/bin:/bin" : path),
          "HOME=/nonexistent",
          "LC_ALL=C",
          "GIT_CONFIG_NOSYSTEM=1",
          "GIT_AUTHOR_NAME=Ada",
          "GIT_AUTHOR_EMAIL=ada@example.org",
          "GIT_COMMITTER_NAME=Ada",
          "GIT_COMMITTER_EMAIL=ada@example.org"};
}

}  // namespace

TestFolder::TestFolder() {
  path_ = (fs::temp_directory_path() / "lockstep-source-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}
TestFolder::~TestFolder() {
  std::error_code none;
  fs::remove_all(path_, none);
}

std::string write_text(const std::string& file, const std::string& text) {
  fs::create_directories(fs::path(file).parent_path());
  std::ofstream(file, std::ios::trunc | std::ios::binary) << text;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  return file;
}

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (entry.is_symlink())
      out[name] = "-> " + fs::read_symlink(entry.path()).string();
    else if (!entry.is_directory())
      out[name] = text_of(entry.path());
  }
  return out;
}

std::string done(const std::vector<std::string>& words, const std::string& input) {
  Program program{.name = words.at(0),
                  .package = {},
                  .words = {words.begin() + 1, words.end()},
                  .patience = std::chrono::seconds(60),
                  .environment = plain_environment()};
  program.largest_output = std::size_t{64} << 20;
  const auto ended = run(program, input);
  if (!ended) throw std::runtime_error(ended.error().text());
  if (!ended->well) throw std::runtime_error(words[0] + " " + words.back() + ": " + ended->complaint());
  return ended->out;
}

TestRepository::TestRepository(std::string path, const std::vector<std::string>& init)
    : path_(std::move(path)) {
  std::vector<std::string> words{"git", "-c", "init.defaultBranch=main", "init", "--quiet", "--template="};
  words.insert(words.end(), init.begin(), init.end());
  words.push_back(path_);
  (void)done(words);
}

std::string TestRepository::git(std::vector<std::string> words, const std::string& input) const {
  words.insert(words.begin(), {"git", "-C", path_, "-c", "gc.auto=0", "-c", "core.fsync=none"});
  std::string out = done(words, input);
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string TestRepository::commit(const std::map<std::string, std::string>& files,
                                   const std::string& message,
                                   const std::vector<std::string>& options) const {
  for (const auto& [name, text] : files) write_text(path_ + "/" + name, text);
  (void)git({"add", "--all"});
  std::vector<std::string> words;
  for (const std::string& option : options)
    if (option.starts_with("-c")) words.insert(words.end(), {"-c", option.substr(2)});
  words.insert(words.end(), {"commit", "--quiet", "--allow-empty", "-m", message});
  for (const std::string& option : options)
    if (!option.starts_with("-c")) words.push_back(option);
  (void)git(words);
  return git({"rev-parse", "HEAD"});
}

std::string TestRepository::commit_as_they_are(const std::map<std::string, std::string>& files,
                                               const std::string& message) const {
  for (const auto& [name, text] : files)
    (void)git({"update-index", "--add", "--cacheinfo", "100644," + blob(text) + "," + name});
  (void)git({"commit", "--quiet", "-m", message});
  return git({"rev-parse", "HEAD"});
}

std::string TestRepository::commit_tree(const std::string& tree) const {
  const std::string out = git({"commit-tree", "-m", "a tree", tree});
  (void)git({"update-ref", "refs/heads/main", out});
  return out;
}
std::string TestRepository::blob(const std::string& text) const {
  return git({"hash-object", "-w", "--stdin"}, text);
}
std::string TestRepository::tree(const std::string& listing) const {
  return git({"mktree", "--missing"}, listing);
}

std::string TestRepository::raw_tree(const std::vector<std::pair<std::string, std::string>>& mode_and_name,
                                     const std::string& hash) const {
  std::string bytes;
  for (std::size_t i = 0; i < hash.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hash.substr(i, 2), nullptr, 16));
  std::string text;
  for (const auto& [mode, name] : mode_and_name) text += mode + " " + name + std::string(1, '\0') + bytes;
  return git({"hash-object", "-w", "-t", "tree", "--literally", "--stdin"}, text);
}

Background::Background(const std::vector<std::string>& words) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  output_ = ends[0];
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  std::vector<std::string> texts = words;
  std::vector<std::string> environment = plain_environment();
  std::vector<char*> argv;
  std::vector<char*> variables;
  for (std::string& text : texts) argv.push_back(text.data());
  for (std::string& text : environment) variables.push_back(text.data());
  argv.push_back(nullptr);
  variables.push_back(nullptr);
  const int failed = ::posix_spawnp(&pid_, argv[0], &files, nullptr, argv.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (failed != 0) throw std::runtime_error("can't start " + words[0]);
}
Background::~Background() {
  (void)::kill(pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
  ::close(output_);
}

std::string Background::line() {
  std::string out;
  for (char c = 0;
       wait_for(output_, POLLIN, within(std::chrono::seconds(10))) && ::read(output_, &c, 1) == 1;) {
    if (c == '\n') return out;
    out += c;
  }
  return "";
}

bool becomes_true(const std::function<bool()>& condition) {
  const Call call = within(std::chrono::seconds(10));
  while (!condition())
    if (!pause(std::chrono::milliseconds(5), call)) return condition();
  return true;
}

std::map<std::string, std::string> process_texts() {
  std::map<std::string, std::string> out;
  std::error_code none;
  for (fs::directory_iterator at("/proc", none), end; !none && at != end; at.increment(none)) {
    const std::string pid = at->path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos || pid == std::to_string(::getpid()))
      continue;
    for (const char* const file : {"cmdline", "environ"}) out[pid + "/" + file] = text_of(at->path() / file);
  }
  return out;
}

std::vector<std::string> processes_with(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& [name, said] : process_texts())
    if (said.find(text) != std::string::npos) out.push_back(name + ": " + said);
  return out;
}

Call within(std::chrono::milliseconds time) {
  return {.deadline = std::chrono::steady_clock::now() + time, .stop = {}, .wake_fd = -1};
}

std::optional<Revision> expect_revision(const FetchOutcome& outcome) {
  if (const auto* error = std::get_if<SourceError>(&outcome)) {
    ADD_FAILURE() << to_string(error->trouble) << ": " << error->error.text();
    return std::nullopt;
  }
  return std::get<Revision>(outcome);
}

std::string expect_trouble(const FetchOutcome& outcome, SourceTrouble trouble) {
  const auto* error = std::get_if<SourceError>(&outcome);
  if (error == nullptr) {
    ADD_FAILURE() << "a revision, not " << to_string(trouble);
    return "";
  }
  const std::string text = error->error.text();
  EXPECT_EQ(to_string(error->trouble), to_string(trouble)) << text;
  EXPECT_EQ(text.find_first_of("\n\r\x1b"), text.npos) << text;
  return text;
}

std::optional<bool> with_other_etc(const std::string& files, const std::function<bool()>& check) {
  constexpr int kNoMount = 2;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool mounted =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("overlay", "/etc", "overlay", MS_RDONLY, ("lowerdir=" + files + ":/etc").c_str()) == 0;
    if (!mounted) ::_exit(kNoMount);
    ::_exit(check() ? 0 : 1);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return false;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMount) return std::nullopt;
  return status == 0;
}

void Variables::set(const std::string& name, const std::string& value) {
  const char* const former = std::getenv(name.c_str());
  former_.try_emplace(name, former == nullptr ? std::nullopt : std::optional<std::string>(former));
  ::setenv(name.c_str(), value.c_str(), 1);
}
Variables::~Variables() {
  for (const auto& [name, value] : former_)
    value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
}

std::unique_ptr<Source> GitSourceTest::source(const GitSettings& settings) {
  auto made = make_git_source(settings);
  if (!made) throw std::runtime_error(made.error().text());
  return *std::move(made);
}

}  // namespace lockstep
