#include "tests/contract/spike/redis_subject.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <csignal>

#include "tests/contract/relay.hpp"
#include "tests/contract/spike/redis_driver.hpp"
#include "tests/contract/spike/redis_server.hpp"

namespace lockstep::contract {
namespace {

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
      relay_ = std::make_unique<Relay>(path, server_.socket(), kRedisWrite);
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

std::unique_ptr<Subject> make_redis_subject() { return std::make_unique<Redis>(); }

}  // namespace lockstep::contract
