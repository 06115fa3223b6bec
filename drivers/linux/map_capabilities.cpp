#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "drivers/linux/capabilities.hpp"
#include "drivers/linux/ecn_marker.hpp"
#include "drivers/linux/in_namespace.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/port_scheduler.hpp"
#include "drivers/linux/sysctl.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

using netlink::Answer;
using netlink::Request;
using netlink::Socket;

// Rows behind one question to the kernel.
constexpr RowId kEcnRows[] = {row("interface[*]/class[*]/ecn-max"), row("interface[*]/class[*]/ecn-min"),
                              row("interface[*]/class[*]/ecn-probability")};
constexpr RowId kRate = row("interface[*]/rate");
constexpr RowId kEcnThreshold = row("interface[*]/ecn-threshold");
constexpr RowId kPriority = row("interface[*]/class[*]/priority");
constexpr std::uint32_t kLoopback = 1;  // in every namespace: LOOPBACK_IFINDEX (net/net_namespace.h)
constexpr std::string_view kOwnSchedulers =
    "this machine's ports have schedulers of their own; software ones are not used here";

// Tried for real, with all that a class's marker needs of RED (nodrop came with Linux 5.7).
Result<Answer> try_red_on_loopback(const Call& call) {
  TRY(Socket socket, Socket::open(NETLINK_ROUTE));
  Request request = red_request(kLoopback, kOwnMajor << 16, TC_H_ROOT, red_for(ClassEcn{}));
  return socket.change(request, call);
}

// In a namespace that is made for it and gone after: no device that exists is touched, and all that can stay
// behind is the kernel's module.
Result<Answer> try_red(const Call& call) {
  std::optional<Result<Answer>> answer;
  TRY_DONE(in_throwaway_namespace([&] { answer.emplace(try_red_on_loopback(call)); }));
  return *std::move(answer);
}

// Empty: it has RED. Asked until there is an answer, then known to the process.
std::string why_no_red(const Call& call) {
  static std::mutex mutex;
  static std::optional<std::string> known;
  const std::lock_guard lock(mutex);
  if (!known) {
    const auto answer = try_red(call);
    if (!answer) return answer.error().text();
    known = answer->code == 0 ? std::string() : to_error(*answer, "qdisc red").what;
  }
  return *known;
}

// A program is loaded once a process and let go: nothing is attached. Empty: it works.
const std::string& marker_reason() {
  static const std::string reason = [] {
    const auto program = load_ecn_marker(0);
    return program ? std::string() : program.error().text();
  }();
  return reason;
}

}  // namespace

std::string why_no_marking(RowId row, bool software_rate, const Call& call) {
  const bool by_class = std::find(std::begin(kEcnRows), std::end(kEcnRows), row) != std::end(kEcnRows);
  if (!by_class && row != kEcnThreshold) return {};
  if (by_class) return software_rate ? why_no_red(call) : std::string(kOwnSchedulers);
  if (software_rate && why_no_red(call).empty()) return "RED marks here, each class by its own thresholds";
  return marker_reason();
}

std::vector<Incapable> probe_capabilities(bool software_rate, const std::set<std::string>& sysctls,
                                          const Call& call) {
  std::vector<Incapable> out;
  if (software_rate)
    out.push_back(
        {kPriority, {}, "an untagged packet carries no 802.1p priority, and HTB has no use for one"});
  else
    out.push_back({kRate, {}, std::string(kOwnSchedulers)});
  for (const RowId one : {kEcnRows[0], kEcnRows[1], kEcnRows[2], kEcnThreshold})
    if (std::string why = why_no_marking(one, software_rate, call); !why.empty())
      out.push_back(Incapable{one, {}, std::move(why)});
  for (const std::string& name : sysctls) {
    auto value = read_sysctl(name);
    if (!value && value.error().kind == ErrorKind::unsupported)
      out.push_back(Incapable{row("sysctl[*]"), {name}, value.error().what});
  }
  return out;
}

}  // namespace lockstep
