#include <linux/dcbnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>

#include "drivers/linux/capabilities.hpp"
#include "drivers/linux/ecn_marker.hpp"
#include "drivers/linux/ethtool.hpp"
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
constexpr RowId kDcbRows[] = {row("interface[*]/pfc"),
                              row("interface[*]/buffer[*]/size"),
                              row("interface[*]/buffer[*]/xoff"),
                              row("interface[*]/dcbx"),
                              row("interface[*]/trust"),
                              row("interface[*]/pfc-watchdog/action"),
                              row("interface[*]/pfc-watchdog/detection-time"),
                              row("interface[*]/pfc-watchdog/restoration-time")};
constexpr RowId kRdmaRows[] = {row("interface[*]/cnp-dscp"), row("interface[*]/roce-tos"),
                               row("interface[*]/congestion-control")};
constexpr RowId kRedRows[] = {row("interface[*]/class[*]/ecn-max"), row("interface[*]/class[*]/ecn-min"),
                              row("interface[*]/class[*]/ecn-probability")};
constexpr RowId kSchedulerRows[] = {row("interface[*]/rate"),           row("interface[*]/class[*]"),
                                    row("interface[*]/class[*]/dscp"),  row("interface[*]/class[*]/max-rate"),
                                    row("interface[*]/class[*]/share"), row("interface[*]/class[*]/strict")};
constexpr RowId kPriority = row("interface[*]/class[*]/priority");
constexpr std::string_view kNotYet = ": the port can, this version of the linux driver does not set it";

struct EthtoolQuestion {
  RowId row;
  std::uint8_t command;
  std::string_view name;
};
constexpr EthtoolQuestion kEthtoolQuestions[] = {
    {row("interface[*]/pause"), ETHTOOL_MSG_PAUSE_GET, "ethtool pause get"},
    {row("interface[*]/fec"), ETHTOOL_MSG_FEC_GET, "ethtool FEC get"},
    {row("interface[*]/autoneg"), ETHTOOL_MSG_LINKMODES_SET, "ethtool link modes set"},
    {row("interface[*]/speed"), ETHTOOL_MSG_LINKMODES_SET, "ethtool link modes set"},
};

std::string answer_text(const Link& port, std::string_view question, const Answer& answer) {
  const std::string what = (port.kind.empty() ? "port" : port.kind) + ": " + std::string(question);
  if (answer.code == 0) return what + std::string(kNotYet);
  return to_error(answer, what).what;
}

Result<Answer> ask_dcb(Socket& socket, const Link& port, const Call& call) {
  Request request(RTM_GETDCB, NLM_F_ACK);
  dcbmsg header{};
  header.cmd = DCB_CMD_IEEE_GET;
  request.header(header).put_text(DCB_ATTR_IFNAME, port.name);
  // A port with DCB answers with a message of its own and no acknowledgement besides the one asked for.
  return socket.ask(request, call, [](const netlink::Message&) -> Result<Done> { return Done{}; });
}

std::string rdma_reason() {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
  if (!socket) return std::string("RDMA netlink socket: ") + std::strerror(errno);
  return "RDMA device settings" + std::string(kNotYet);
}

// Tried for real, on the loopback of a namespace that is made for it and gone after; once a process.
const std::string& red_reason(const Call& call) {
  static const std::string reason = [&call] {
    std::string out = "RED as a class's queue" + std::string(kNotYet);
    const auto entered = in_throwaway_namespace([&] {
      auto socket = Socket::open(NETLINK_ROUTE);
      if (!socket) return;
      auto links = read_links(*socket, call);
      if (!links || links->empty()) return;
      Request request = bare_qdisc_request(links->front().index, kOwnMajor << 16, "red");
      auto answer = socket->change(request, call);
      // With RED there, the request is refused for its missing parameters (EINVAL); without, for its name.
      if (answer && answer->code == ENOENT) out = to_error(*answer, "qdisc red").what;
    });
    if (!entered) out = "qdisc red: " + entered.error().text();
    return out;
  }();
  return reason;
}

// A program is loaded once a process and let go: nothing is attached. Empty: it works.
const std::string& marker_reason() {
  static const std::string reason = [] {
    const auto program = load_ecn_marker(0);
    return program ? std::string() : program.error().text();
  }();
  return reason;
}

void add(std::vector<Incapable>& out, std::span<const RowId> rows, std::vector<std::string> keys,
         const std::string& reason) {
  for (const RowId one : rows) out.push_back(Incapable{one, keys, reason});
}

Result<Done> probe_ports(std::vector<Incapable>& out, const Call& call) {
  TRY(Socket socket, Socket::open(NETLINK_ROUTE));
  TRY(const auto links, read_links(socket, call));
  auto ethtool = Ethtool::open(call);
  for (const Link& port : links) {
    TRY(const Answer dcb, ask_dcb(socket, port, call));
    add(out, kDcbRows, {port.name}, answer_text(port, "dcbnl IEEE get", dcb));
    for (const EthtoolQuestion& question : kEthtoolQuestions) {
      std::string reason = ethtool ? std::string() : ethtool.error().text();
      if (ethtool) {
        TRY(const Answer answer, ethtool->probe(question.command, port.index, call));
        reason = answer_text(port, question.name, answer);
      }
      out.push_back(Incapable{question.row, {port.name}, std::move(reason)});
    }
  }
  return Done{};
}

}  // namespace

Result<std::vector<Incapable>> probe_capabilities(bool software_rate, const std::set<std::string>& sysctls,
                                                  const Call& call) {
  std::vector<Incapable> out;
  TRY_DONE(probe_ports(out, call));
  add(out, kRdmaRows, {}, rdma_reason());
  add(out, kRedRows, {}, red_reason(call));
  add(out, std::span(&kPriority, 1), {},
      "an untagged packet carries no 802.1p priority, and HTB has no use for one");
  const RowId ecn = row("interface[*]/ecn-threshold");
  if (!marker_reason().empty()) out.push_back(Incapable{ecn, {}, marker_reason()});
  if (!software_rate)
    add(out, kSchedulerRows, {},
        "this machine's ports have schedulers of their own; software ones are not used here");
  for (const std::string& name : sysctls) {
    auto value = read_sysctl(name);
    if (!value && value.error().kind == ErrorKind::unsupported)
      out.push_back(Incapable{row("sysctl[*]"), {name}, value.error().what});
  }
  return out;
}

}  // namespace lockstep
