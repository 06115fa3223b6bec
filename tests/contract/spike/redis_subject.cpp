#include "tests/contract/spike/redis_subject.hpp"

#include <hiredis/hiredis.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "drivers/posix/wait.hpp"
#include "tests/contract/relay.hpp"
#include "tests/contract/spike/redis_driver.hpp"

namespace lockstep::contract {
namespace {

constexpr const char* kServer = "/usr/bin/redis-server";
constexpr WriteCommands kWrite{'\n', "MULTI\r", "EXEC\r"};

Call within_seconds(int seconds) {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds), .stop = {}};
}

class RedisServer {
 public:
  RedisServer() {
    std::string name = std::filesystem::temp_directory_path() / "lscontract-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    // No TCP, nothing saved; keyspace events as SONiC has them on.
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
    const Call call = within_seconds(10);
    while (!RedisConnection::open(socket(), call))
      if (!pause(std::chrono::milliseconds(2), call)) throw std::runtime_error("redis-server does not start");
  }
  ~RedisServer() {
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  std::string folder() const { return folder_; }
  std::string socket() const { return folder_ + "/redis.sock"; }
  void signal(int number) const { ::kill(pid_, number); }
  // As another hand does it.
  RedisReply tell(const std::vector<std::string>& words) const {
    const Call call = within_seconds(10);
    auto redis = RedisConnection::open(socket(), call);
    if (!redis) throw std::runtime_error(redis.error().text());
    auto reply = redis->ask(words, call);
    if (!reply) throw std::runtime_error(reply.error().text());
    return *std::move(reply);
  }

 private:
  std::string folder_;
  pid_t pid_ = -1;
};

class Redis final : public Subject {
 public:
  Redis() {
    server_.tell({"HSET", "PORT|rail0", "lanes", "0,1,2,3", "alias", "eth0"});
    server_.tell({"HSET", "PORT|rail9", "lanes", "4,5,6,7", "mtu", "1400"});
    server_.tell({"HSET", "VLAN|Vlan99", "vlanid", "99"});
    server_.tell({"HSET", "DEVICE_METADATA|localhost", "hostname", "sw1"});
    attached = make_redis_driver("sw1", server_.socket());
    is_real = false;
  }
  std::string foreign() override {
    std::string out;
    for (const char* const key : {"PORT|rail9", "VLAN|Vlan99", "DEVICE_METADATA|localhost"}) {
      std::vector<std::string> fields;
      const RedisReply all = server_.tell({"HGETALL", key});
      for (std::size_t i = 0; i + 1 < all->elements; i += 2)
        fields.push_back(std::string(all->element[i]->str) + "=" + all->element[i + 1]->str);
      std::sort(fields.begin(), fields.end());
      for (const std::string& one : fields) out += std::string(key) + " " + one + "\n";
    }
    const RedisReply ours = server_.tell({"HMGET", "PORT|rail0", "lanes", "alias"});
    for (std::size_t i = 0; i < ours->elements; ++i)
      out += ours->element[i]->str == nullptr ? "gone" : ours->element[i]->str;
    return out;
  }
  void touch() override { server_.tell({"HSET", "PORT|rail8", "mtu", std::to_string(1400 + ++touches_)}); }
  bool lose_replies(bool on) override {
    if (!relay_) {
      const std::string path = server_.folder() + "/relay.sock";
      relay_ = std::make_unique<Relay>(path, server_.socket(), kWrite);
      attached = make_redis_driver("sw1", path);
    }
    relay_->lose(on);
    return true;
  }
  bool hang(bool on) override {
    server_.signal(on ? SIGSTOP : SIGCONT);
    return true;
  }

 private:
  RedisServer server_;
  std::unique_ptr<Relay> relay_;
  int touches_ = 0;
};

}  // namespace

std::string redis_impossible() {
  return ::access(kServer, X_OK) == 0 ? "" : "needs redis-server: apt-get install redis-server";
}

std::unique_ptr<Subject> make_redis_subject() { return std::make_unique<Redis>(); }

}  // namespace lockstep::contract
