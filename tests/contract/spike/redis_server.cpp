#include "tests/contract/spike/redis_server.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "drivers/posix/wait.hpp"

namespace lockstep::contract {
namespace {

constexpr const char* kServer = "/usr/bin/redis-server";

Call within_seconds(int seconds) {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds), .stop = {}};
}

}  // namespace

std::string RedisServer::impossible() {
  return ::access(kServer, X_OK) == 0 ? "" : "needs redis-server: apt-get install redis-server";
}

RedisServer::RedisServer() {
  std::string name = std::filesystem::temp_directory_path() / "lscontract-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = name;
  // No TCP, no persistence; keyspace events enabled as in SONiC.
  std::vector<std::string> words{kServer,  "--port",       "0",     "--save",
                                 "",       "--appendonly", "no",    "--databases",
                                 "16",     "--dir",        folder_, "--unixsocket",
                                 socket(), "--logfile",    "log",   "--notify-keyspace-events",
                                 "AKE",    "--daemonize",  "no"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execv(argv.front(), argv.data());
    ::_exit(127);
  }
  if (pid_ < 0) throw std::runtime_error("fork");
  const Call call = within_seconds(30);
  while (!RedisConnection::open(socket(), call))
    if (!pause(std::chrono::milliseconds(2), call)) throw std::runtime_error("redis-server does not start");
}

RedisServer::~RedisServer() {
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  std::filesystem::remove_all(folder_);
}

void RedisServer::signal(int number) const { ::kill(pid_, number); }

RedisReply RedisServer::tell(const std::vector<std::string>& words) const {
  const Call call = within_seconds(10);
  auto redis = RedisConnection::open(socket(), call);
  if (!redis) throw std::runtime_error(redis.error().text());
  auto reply = redis->ask(words, call);
  if (!reply) throw std::runtime_error(reply.error().text());
  return *std::move(reply);
}

}  // namespace lockstep::contract
