#include "tests/contract/sonic_subject.hpp"

#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>

#include "drivers/sonic/driver.hpp"
#include "tests/unit/sonic/faulty_redis_proxy.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::contract {
namespace {

class Sonic final : public Subject {
 public:
  Sonic() {
    const auto set = [this](std::vector<std::string> words) {
      words.insert(words.begin(), "HSET");
      redis_.cli(words);
    };
    redis_.cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
    set({"PORT|rail0", "lanes", "0,1,2,3", "alias", "eth0", "speed", "25000"});
    set({"PORT|up0", "lanes", "8,9,10,11", "speed", "100000"});
    set({"PORT|rail9", "lanes", "4,5,6,7", "mtu", "1400", "speed", "100000"});
    set({"VLAN|Vlan99", "vlanid", "99"});
    set({"DEVICE_METADATA|localhost", "hostname", "sw1", "frr_mgmt_framework_config", "true"});
    set({"BUFFER_POOL|ingress_lossless_pool", "type", "ingress", "mode", "dynamic", "size", "30000000"});
    set({"SCHEDULER|scheduler.0", "type", "DWRR", "weight", "14"});
    attach(redis_.server());
    never_unset = {"switch-config/saved", "interface[*]/speed",  // SONiC's model of a port requires it
                                                                 // A profile has both, or none.
                   "interface[*]/class[*]/ecn-max", "interface[*]/class[*]/ecn-min",
                   "interface[*]/buffer[*]/size", "interface[*]/buffer[*]/xoff",
                   "pfc-watchdog/poll-interval"};  // orchagent crashes when its row goes
    keeps_a_default = {"interface[*]/class[*]/ecn-probability", "interface[*]/buffer[*]/dynamic-threshold"};
    follow = {"interface[*]/trust", "switch-config/saved"};
    const Change save{*Path::parse("switch-config/saved"), {}, Value::present(), 0};
    (void)attached.driver->apply({save}, {}, sonic::patient());
  }
  std::string foreign() override {
    std::string out;
    for (const char* const row : {"PORT|rail9", "VLAN|Vlan99", "DEVICE_METADATA|localhost",
                                  "BUFFER_POOL|ingress_lossless_pool", "SCHEDULER|scheduler.0"}) {
      // As JSON: its members are in an order of their own.
      out += row + nlohmann::json::parse(redis_.cli({"--json", "HGETALL", row})).dump() + "\n";
    }
    return out + redis_.cli({"HMGET", "PORT|rail0", "lanes", "alias"});
  }
  void touch() override { redis_.cli({"HSET", "PORT|rail9", "mtu", std::to_string(1400 + ++touches_)}); }
  bool lose_replies(bool on) override {
    if (!proxy_) {
      const sonic::RedisFaultPlan lost{.command = "EXEC",
                                       .applies = [this] { return losing_.load(); },
                                       .fault = sonic::RedisFault::cut_after};
      proxy_ =
          std::make_unique<sonic::FaultyRedisProxy>(redis_.folder() + "/proxy", redis_.socket_path(), lost);
      attach(proxy_->server());
    }
    losing_ = on;
    return true;
  }
  bool hang(bool on) override {
    redis_.signal(on ? SIGSTOP : SIGCONT);
    return true;
  }

 private:
  // The proxy serves one connection at a time.
  void attach(const sonic::RedisServer& config) {
    sonic::DatabaseConfig databases = usual_databases(redis_.server());
    databases.databases.at("CONFIG_DB").server = config;
    attached = make_sonic_driver({.device = "sw1",
                                  .databases = std::move(databases),
                                  .saved_file = redis_.folder() + "/config_db.json",
                                  .checkpoints = redis_.folder() + "/checkpoints"});
  }

  sonic::RedisProcess redis_;
  std::atomic<bool> losing_ = false;
  std::unique_ptr<sonic::FaultyRedisProxy> proxy_;
  int touches_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_sonic_subject() { return std::make_unique<Sonic>(); }

std::string sonic_impossible() { return sonic::has_redis() ? "" : "needs redis-server and redis-cli"; }

}  // namespace lockstep::contract
