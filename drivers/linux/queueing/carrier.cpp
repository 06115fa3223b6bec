#include "drivers/linux/queueing/carrier.hpp"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <functional>
#include <mutex>
#include <optional>

#include "drivers/linux/dcb/port_state.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

using netlink::Answer;
using netlink::Request;
using netlink::Socket;

constexpr std::uint32_t kLoopback = 1;  // in every namespace: LOOPBACK_IFINDEX (net/net_namespace.h)
constexpr std::uint8_t kAnyDscp = 26;

// One question about the kernel, repeated until there is an answer, which is then cached for the process.
class Question {
 public:
  explicit Question(std::vector<Request> (*requests)(), int harmless = 0)
      : requests_(requests), harmless_(harmless) {}

  // Empty: the kernel supports it.
  Result<std::string> why_not(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (known_) return *known_;
    std::optional<Result<std::string>> answer;
    TRY_DONE(in_throwaway_namespace([&] { answer.emplace(ask(call)); }));
    if (!*answer) {
      // The attempted objects disappeared with their namespace.
      if (answer->error().kind == ErrorKind::unknown_outcome) answer->error().kind = ErrorKind::transient;
      return answer->error();
    }
    known_ = **answer;
    return *known_;
  }

 private:
  Result<std::string> ask(const Call& call) const {
    TRY(Socket socket, Socket::open(NETLINK_ROUTE));
    std::vector<Request> requests = requests_();
    std::vector<Answer> answers;
    TRY_DONE(socket.change_all(requests, call, answers));
    for (const Answer& one : answers) {
      if (one.code == 0 || one.code == harmless_) continue;
      Error error = to_error(one, "qdisc");
      if (error.kind == ErrorKind::transient) return error;
      return std::move(error.what);
    }
    return std::string();
  }

  std::vector<Request> (*requests_)();
  int harmless_;  // an errno that does not mean "not supported"
  std::mutex mutex_;
  std::optional<std::string> known_;
};

std::vector<Request> red_requests() {
  std::vector<Request> out;
  out.push_back(red_request(kLoopback, kOwnMajor << 16, TC_H_ROOT, red_for(ClassEcn{})));
  return out;
}

std::vector<Request> ets_requests() {
  PortScheduler all;
  all.rate = 1'000'000'000;
  all.classes[0].share = kWholeLink;
  all.classes[3].dscp = {kAnyDscp};
  all.classes[3].strict = true;
  all.classes[3].max_rate = 1'000'000;
  return requests_for({.index = kLoopback, .carrier = Carrier::ets}, {}, all);
}

std::vector<Request> mqprio_requests() {
  PortScheduler all;
  all.classes[0];
  all.classes[3].dscp = {kAnyDscp};
  return requests_for({.index = kLoopback, .carrier = Carrier::mqprio, .tx_queues = 2}, {}, all);
}

// A queue that is in use has a folder (net-sysfs.c: netdev_queue_update_kobjects).
unsigned tx_queues(const std::filesystem::path& root, const std::string& port) {
  std::error_code none;
  unsigned out = 0;
  for (const auto& one : std::filesystem::directory_iterator(root / "sys/class/net" / port / "queues", none))
    if (one.path().filename().string().starts_with("tx-")) ++out;
  return out;
}

}  // namespace

Result<Carrier> software_carrier(const Call& call) {
  static Question ets(&ets_requests);
  TRY(const std::string why_not, ets.why_not(call));
  return why_not.empty() ? Carrier::ets : Carrier::htb;
}

Result<std::string> why_no_red(const Call& call) {
  static Question red(&red_requests);
  return red.why_not(call);
}

MqprioPorts mqprio_ports(const std::vector<Link>& ports, const std::filesystem::path& root,
                         const Call& call) {
  MqprioPorts out;
  for (const Link& port : ports)
    if (const unsigned queues = tx_queues(root, port.name); !port.loopback && queues > 1)
      out.emplace(port.index, queues);
  if (out.empty()) return out;
  // Loopback has one queue, which the kernel reports only if it has mqprio.
  static Question mqprio(&mqprio_requests, EOPNOTSUPP);
  const auto why_not = mqprio.why_not(call);
  if (why_not && !why_not->empty()) return {};
  auto dcb = dcb::Ports::open(call);
  for (const Link& port : ports) {
    const auto found = out.find(port.index);
    if (found == out.end()) continue;
    const auto state = dcb ? dcb->read(port, call) : Result<dcb::PortState>(dcb.error());
    if (!state)
      found->second = state.error();
    else if (state->no_dcb.empty())
      out.erase(found);
    else if (!why_not)
      found->second = why_not.error();
  }
  return out;
}

}  // namespace lockstep
