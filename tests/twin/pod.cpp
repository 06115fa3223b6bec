#include "tests/twin/pod.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>

extern char** environ;

namespace lockstep::twin_test {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

Running::Running(const std::vector<std::string>& argv, seconds patience)
    : until_(steady_clock::now() + patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int failed = ::posix_spawn(&pid_, words.front(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ends[0];
  if (failed != 0) throw std::runtime_error("spawn " + argv.front());
}

Running::~Running() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(output_);
}

// Returns false if the command has ended or its time is up.
bool Running::read_some() {
  const auto left = std::chrono::ceil<milliseconds>(until_ - steady_clock::now());
  pollfd more{output_, POLLIN, 0};
  if (left.count() <= 0 || ::poll(&more, 1, static_cast<int>(left.count())) <= 0) return false;
  std::array<char, 65536> piece;
  const ssize_t got = ::read(output_, piece.data(), piece.size());
  if (got > 0) out_.append(piece.data(), static_cast<std::size_t>(got));
  return got > 0;
}

bool Running::says(const std::string& text) {
  while (out_.find(text) == std::string::npos)
    if (!read_some()) return false;
  return true;
}

Said Running::end() {
  while (read_some()) {
  }
  if (steady_clock::now() >= until_) {
    ADD_FAILURE() << "it hangs; so far it said: " << out_;
    ::kill(pid_, SIGKILL);
  }
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out_};
}

std::string Pod::impossible() {
  if (::geteuid() != 0) return "a twin needs root";
  if (!fs::exists("/usr/lib/frr/bgpd") || !fs::exists("/usr/sbin/lldpd")) return "needs FRR and lldpd";
  return std::getenv("LOCKSTEP_BINARY") == nullptr ? "LOCKSTEP_BINARY must name the program under test" : "";
}

Pod::Pod() {
  folder_ = "/tmp/lockstep-pod-XXXXXX";
  if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  specs_ = folder_ + "/rail-pod";
  fs::copy(LOCKSTEP_SOURCE_DIR "/examples/rail-pod", specs_);
  ::setenv("LOCKSTEP_STATE_DIR", (folder_ + "/state").c_str(), 1);
  // A link rate that two cores can sustain beside other load.
  if (const Said said = run({"twin", "up", "--link-rate", "400Mbps", specs_}); said.code != 0)
    ADD_FAILURE() << "twin up: " << said.out;
  if (const Said said = apply(); said.code != 0) ADD_FAILURE() << "apply: " << said.out;
}

Pod::~Pod() {
  if (const Said gone = run({"twin", "down", "--force", specs_}); gone.code != 0) ADD_FAILURE() << gone.out;
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Pod::state() const {
  for (const auto& one : fs::directory_iterator(folder_ + "/state")) return one.path();
  return "";
}

std::vector<std::string> Pod::argv(const std::vector<std::string>& words) const {
  std::vector<std::string> out{std::getenv("LOCKSTEP_BINARY")};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

// An apply observes, settles for 20 s, runs remedies and settles again; ten times as long is a hang.
Said Pod::run(const std::vector<std::string>& words) const {
  return Running(argv(words), seconds(400)).end();
}

Said Pod::break_it(const std::string& fault, const std::vector<std::string>& words) const {
  std::vector<std::string> all{"twin", "break", specs_, fault};
  all.insert(all.end(), words.begin(), words.end());
  return run(all);
}

bool eventually(const std::function<bool()>& holds, seconds patience) {
  const auto until = steady_clock::now() + patience;
  while (!holds()) {
    if (steady_clock::now() >= until) return false;
    (void)::poll(nullptr, 0, 100);  // between two checks
  }
  return true;
}

}  // namespace lockstep::twin_test
