#include "tests/unit/sonic/redis_process.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "drivers/posix/program.hpp"
#include "drivers/posix/wait.hpp"

namespace lockstep::sonic {
namespace {

std::uint16_t free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

Result<Ended> redis_cli(std::vector<std::string> words) {
  return run(Program{.name = "redis-cli",
                     .package = "redis-tools",
                     .words = std::move(words),
                     .patience = std::chrono::seconds(30)});
}

}  // namespace

bool eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    (void)pause(std::chrono::milliseconds(5), {});
  }
  return true;
}

bool has_redis() {
  const auto there = [](const char* name) {
    const auto ended =
        run(Program{.name = name, .words = {"--version"}, .patience = std::chrono::seconds(20)});
    return ended && ended->well;
  };
  static const bool both = there("redis-server") && there("redis-cli");
  return both;
}

RedisProcess::RedisProcess(Options options) : options_(std::move(options)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-redis-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  if (options_.tcp) port_ = free_port();
  start();
}

RedisProcess::~RedisProcess() {
  stop();
  std::filesystem::remove_all(folder_);
}

void RedisProcess::start() {
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--unixsocket",
                                 socket_path(),
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--dir",
                                 folder_,
                                 "--logfile",
                                 folder_ + "/log",
                                 "--databases",
                                 "32",
                                 "--notify-keyspace-events",
                                 "KEA",
                                 "--slowlog-log-slower-than",
                                 "0",
                                 "--slowlog-max-len",
                                 "4096"};
  words.insert(words.end(), options_.more.begin(), options_.more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  process_ = ::fork();
  if (process_ < 0) throw std::runtime_error("fork");
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  const bool answers = eventually([this] {
    const auto ended = redis_cli({"-s", socket_path(), "PING"});
    return ended && (ended->out.starts_with("PONG") || ended->out.find("NOAUTH") != std::string::npos);
  });
  if (!answers) throw std::runtime_error("redis-server does not answer; see " + folder_ + "/log");
}

void RedisProcess::stop() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

void RedisProcess::restart() {
  stop();
  start();
}

void RedisProcess::signal(int number) const { ::kill(process_, number); }

std::string RedisProcess::cli(const std::vector<std::string>& words) const {
  std::vector<std::string> all{"-s", socket_path(), "-n", std::to_string(kConfigDatabase)};
  if (!options_.password.empty()) all.insert(all.end(), {"-a", options_.password, "--no-auth-warning"});
  all.insert(all.end(), words.begin(), words.end());
  const auto ended = redis_cli(std::move(all));
  if (!ended) {
    ADD_FAILURE() << ended.error().text();
    return {};
  }
  std::string out = ended->out;
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

// Each entry of the slow log is an id, a time, a duration, the words of the command, its client and its name.
std::vector<std::string> RedisProcess::commands() const {
  constexpr std::array kCounted{"HSET", "HDEL", "DEL", "HGETALL", "KEYS", "MULTI", "EXEC", "WATCH", "SET"};
  // Lua sees the words apart, which redis-cli prints one below the other.
  std::istringstream lines(
      cli({"EVAL",
           "local out = {} for _, one in ipairs(redis.call('SLOWLOG', 'GET', '4096')) do "
           "table.insert(out, 1, table.concat(one[4], ' ')) end return out",
           "0"}));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);)
    if (std::ranges::find(kCounted, line.substr(0, line.find(' '))) != kCounted.end()) found.push_back(line);
  cli({"SLOWLOG", "RESET"});
  return found;
}

}  // namespace lockstep::sonic
