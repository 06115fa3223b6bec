// A stand-in for a SONiC switch behind ssh: not SONiC. It is ssh(1) or the switch's sshd, which run what they
// are sent with a real shell, and it is sudo, config, sonic-cfggen, sonic-db-cli and sonic-db-dump there,
// over JSON files in place of Redis. What `config apply-patch` refuses, and its words, exit codes and order
// of checks, are those of sonic-utilities 691b1bbc (config/main.py, generic_config_updater/), for the ASIC
// spc4. What it does not have: YANG models (a test says what they find), the sorter (it shuts ports down
// first, and brings them up last), and the second that each change takes.
//
// The folder of a switch, which LOCKSTEP_STAND_IN names:
//   config.json, appl.json, state.json   CONFIG_DB as sonic-cfggen prints it, others as sonic-db-dump does
//   initialised                          CONFIG_DB_INITIALIZED
//   faults.json                          how it misbehaves, by command: faults_of() below
//   calls                                what ran, a line each
//   bin                                  links to this program by the names of the commands
//   checkpoints, home, tmp               of the switch
// Called as `ssh`, the folder is else the one above its link; called as `login FOLDER`, as sshd's forced
// command, it runs SSH_ORIGINAL_COMMAND.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/sonic_commands/apply_patch.hpp"

namespace lockstep::stand_in {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string folder;

std::string content(const std::string& name) {
  std::ifstream file(folder + "/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Json json_in(const std::string& name) {
  const std::string text = content(name);
  return text.empty() ? Json::object() : Json::parse(text);
}

// Nobody reads half of it.
void store(const std::string& name, const Json& json) {
  const std::string file = folder + "/" + name;
  std::ofstream(file + ".new") << json.dump(4) << "\n";
  fs::rename(file + ".new", file);
}

// {"ssh": {"what": "deny", "in": "apply-patch"}, "config": {"what": "refuse", "text": "..."}}; `in`: only of
// scripts, or words, that have this.
Json faults_of(const std::string& command, const std::string& text) {
  const Json faults = json_in("faults.json").value(command, Json::object());
  return text.find(faults.value("in", "")) == text.npos ? Json::object() : faults;
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

int shell(const std::string& script) {
  ::setenv("LOCKSTEP_STAND_IN", folder.c_str(), 1);
  ::setenv("PATH", (folder + "/bin:/usr/bin:/bin").c_str(), 1);
  ::setenv("HOME", (folder + "/home").c_str(), 1);
  ::setenv("TMPDIR", (folder + "/tmp").c_str(), 1);
  ::unsetenv("LOCKSTEP_STAND_IN_ROOT");
  ::execl("/bin/bash", "bash", "-c", script.c_str(), nullptr);
  return 127;
}

// As at the other end of a connection: what runs there does not end with this process.
int at_switch(const std::string& script, bool reply_is_lost) {
  int pipe[2] = {};
  if (::pipe(pipe) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::dup2(pipe[1], 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
    return shell(script);
  }
  ::close(pipe[1]);
  char block[4096];
  for (ssize_t got = 0; (got = ::read(pipe[0], block, sizeof block)) > 0;)
    if (!reply_is_lost) std::cout.write(block, got).flush();
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

// As ssh, with its words (OpenSSH 9.2).
int ssh(const Words& words) {
  std::string host;
  std::string script;
  for (std::size_t i = 0; i + 2 < words.size(); ++i)
    if (words[i] == "--") {
      host = words[i + 1];
      for (std::size_t at = i + 2; at < words.size(); ++at) script += (at == i + 2 ? "" : " ") + words[at];
      break;
    }
  const Json fault = faults_of("ssh", script);
  const std::string what = fault.value("what", "");
  if (what == "unreachable") {
    std::cerr << "ssh: connect to host " << host << " port 22: Connection refused\n";
    return 255;
  }
  if (what == "deny") {
    std::cerr << "admin@" << host << ": Permission denied (publickey,password).\n";
    return 255;
  }
  if (what == "hang") hang();
  if (what == "garbage") {
    std::cout << "\x1b[2J" << std::string(1000, '\xff') << " begin config\n{}";
    return 0;
  }
  if (what == "flood")
    for (const std::string block(1 << 16, 'x');;) std::cout << block;
  const int code = at_switch(script, what == "lose reply");
  if (what != "lose reply") return code;
  std::cerr << "Connection to " << host << " closed by remote host.\n";
  return 255;
}

int apply_patch(const Words& words) {
  const bool dry_run = words.size() > 1 && words[1] == "-d";
  const std::string file = words.back();
  const Json fault = faults_of("config", dry_run ? "apply-patch -d" : "apply-patch /");
  const std::string what = fault.value("what", "");
  if (dry_run) std::cout << "** DRY RUN EXECUTION **\n";
  try {
    std::ifstream in(file);
    if (!in) throw Refused("[Errno 2] No such file or directory: '" + file + "'");
    const Json patch = Json::parse(in, nullptr, false);
    if (what == "refuse") throw Refused(fault.value("text", ""));
    if (what == "say") std::cout << fault.value("text", "") << "\n";
    Json now = json_in("config.json");
    const std::vector<Json> changes = changes_of(patch, file, now, json_in("state.json"));
    std::size_t made = 0;
    for (const Json& state : changes) {
      // Python's print fails where nobody reads, and with it the command.
      if (!(std::cout << "Patch Applier:   * [...]\n").flush()) return 120;
      if (dry_run) continue;
      if (made++ == fault.value("after", std::size_t{0})) {
        std::cout.flush();
        if (what == "fail") throw Refused(fault.value("text", ""));
        if (what == "killed") (void)::kill(::getpid(), SIGKILL);
        if (what == "wait") std::ofstream(folder + "/waits") << made;
        if (what == "wait")
          while (!fs::exists(folder + "/go") && fs::exists(folder + "/bin")) (void)::poll(nullptr, 0, 2);
      }
      store("config.json", state);
    }
  } catch (const Refused& refused) {
    const std::string why = refused.text;
    std::cerr << "Failed to apply patch due to: " << why << "\n"
              << "Usage: config apply-patch [OPTIONS] PATCH_FILE_PATH\n"
              << "Try \"config apply-patch -h\" for help.\n\nError: " << why << "\n";
    return 2;
  }
  std::cout << "Patch applied successfully.\n";
  return 0;
}

int config(const Words& words) {
  if (std::getenv("LOCKSTEP_STAND_IN_ROOT") == nullptr) {
    std::cerr << "Root privileges are required for this operation\n";
    return 1;
  }
  if (words.size() >= 2 && words[0] == "apply-patch") return apply_patch(words);
  if (words.size() == 2 && words[0] == "checkpoint") {
    if (faults_of("config", "checkpoint").value("what", "") == "no space") {
      std::cerr
          << "Failed to create a config checkpoint\nUsage: config checkpoint [OPTIONS] CHECKPOINT_NAME\n"
             "Try \"config checkpoint -h\" for help.\n\nError: [Errno 28] No space left on device\n";
      return 2;
    }
    store("checkpoints/" + words[1] + ".cp.json", json_in("config.json"));
    std::cout << "Checkpoint created successfully.\n";
    return 0;
  }
  if (words.size() == 2 && words[0] == "delete-checkpoint")
    return fs::remove(folder + "/checkpoints/" + words[1] + ".cp.json") ? 0 : 2;
  if (words.size() == 4 && words[0] == "interface" && words[1] == "startup" && words[2] == "--") {
    Json now = json_in("config.json");
    if (!now["PORT"].contains(words[3])) {
      std::cerr << "Error: Interface name is invalid. Please enter a valid interface name!!\n";
      return 2;
    }
    now["PORT"][words[3]]["admin_status"] = "up";
    store("config.json", now);
    return 0;
  }
  std::cerr << "Error: No such command '" << (words.empty() ? "" : words[0]) << "'.\n";
  return 2;
}

// Redis' patterns: here only a prefix and a star.
int dump(const Words& words) {
  if (words.size() != 5 || words[0] != "-n" || words[2] != "-k" || words[4] != "-y") return 4;
  const Json all = json_in(words[1] == "APPL_DB" ? "appl.json" : "state.json");
  const std::string prefix = words[3].substr(0, words[3].size() - 1);
  Json out = Json::object();
  for (const auto& [key, value] : all.items())
    if (key.starts_with(prefix)) out[key] = value;
  const Json fault = faults_of("sonic-db-dump", words[3]);
  if (fault.value("what", "") == "print") {
    std::cout << fault.value("text", "");
    return fault.value("code", 0);
  }
  std::cout << out.dump(2) << "\n";
  return 0;
}

int cfggen(const Words& words) {
  if (words != Words{"-d", "--print-data"}) return 2;
  const Json fault = faults_of("sonic-cfggen", "");
  if (fault.value("what", "") == "print") {
    std::cout << fault.value("text", "");
    return fault.value("code", 0);
  }
  std::cout << content("config.json");
  return 0;
}

int sudo(const Words& words) {
  if (words.size() < 2 || words[0] != "-n") return 1;
  if (faults_of("sudo", "").value("what", "") == "password") {
    std::cerr << "sudo: a password is required\n";
    return 1;
  }
  ::setenv("LOCKSTEP_STAND_IN_ROOT", "1", 1);
  std::vector<char*> pointers;
  Words copy(words.begin() + 1, words.end());
  for (std::string& word : copy) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  std::cerr << "sudo: " << copy[0] << ": command not found\n";
  return 1;
}

int run(const std::string& name, const Words& words) {
  std::string line = name;
  for (const std::string& word : words) line += " " + word;
  std::ofstream(folder + "/calls", std::ios::app) << line.substr(0, line.find('\n')) << "\n";
  if (name == "ssh") return ssh(words);
  if (name == "sudo") return sudo(words);
  if (name == "config") return config(words);
  if (name == "sonic-cfggen") return cfggen(words);
  if (name == "sonic-db-dump") return dump(words);
  if (name == "sonic-db-cli") {
    if (words != Words{"CONFIG_DB", "GET", "CONFIG_DB_INITIALIZED"}) return 1;
    std::cout << content("initialised") << "\n";
    return 0;
  }
  return 127;
}

}  // namespace
}  // namespace lockstep::stand_in

int main(int argc, char** argv) {
  using namespace lockstep::stand_in;
  const std::filesystem::path self = argv[0];
  const Words words(argv + 1, argv + argc);
  const char* const named = std::getenv("LOCKSTEP_STAND_IN");
  if (named != nullptr)
    folder = named;
  else if (self.filename() == "ssh")
    folder = self.parent_path().parent_path();
  if (words.size() == 2 && words[0] == "login") {  // sshd's forced command
    folder = words[1];
    const char* const script = std::getenv("SSH_ORIGINAL_COMMAND");
    return script == nullptr ? 1 : shell(script);
  }
  return run(self.filename(), words);
}
