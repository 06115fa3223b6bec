#include "reconciler/sonic_stand_in/stand_in.hpp"

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <optional>

#include "drivers/frr/state.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/linux/sysctl.hpp"
#include "drivers/sonic/keyspace_watch.hpp"
#include "reconciler/sonic_stand_in/carrying.hpp"
#include "reconciler/sonic_stand_in/switch_databases.hpp"
#include "reconciler/twin/management.hpp"
#include "reconciler/twin/sonic_device.hpp"

namespace lockstep {
namespace sonic {
namespace {

constexpr int kConfigEvents = 4;  // the database of CONFIG_DB
// Sessions and neighbors are asked for this often. SONiC's bgpmon does so every 15 s; a twin's convergence is
// waited for by people.
constexpr int kRoundMs = 1000;
constexpr std::chrono::seconds kRoundPatience{10};  // a round takes 10 ms; bgpd may hang for 3 s (state.cpp)

class StandIn {
 public:
  StandIn(std::string run_dir, SwitchIdentity identity)
      : run_dir_(std::move(run_dir)),
        server_{.socket_path = sonic_redis_socket(run_dir_)},
        databases_(server_, std::move(identity)),
        carrying_(run_dir_) {}

  [[noreturn]] void run() {
    for (;;) {
      std::vector<std::string> notes;
      const Call call{std::chrono::steady_clock::now() + kRoundPatience, {}, -1};
      Result<Done> done = round(notes, call);
      if (!done) notes.push_back(done.error().text());
      if (done && !is_ready_) done = say_ready();
      tell(notes);
      wait();
    }
  }

 private:
  Result<Done> round(std::vector<std::string>& notes, const Call& call);
  Result<NetworkState> network_here(const Call& call);
  void boot(const std::vector<std::string>& ports, std::vector<std::string>& notes);
  Result<Done> report(const Seen& seen, const NetworkState& network, const Call& call);
  void listen(std::vector<std::string>& notes, const Call& call);
  Result<Done> say_ready();
  void wait();
  void tell(const std::vector<std::string>& notes);

  std::string run_dir_;
  RedisServer server_;
  SwitchDatabases databases_;
  Carrying carrying_;
  std::optional<KeyspaceWatch> rows_changed_;
  std::optional<netlink::Socket> links_changed_;
  std::vector<std::string> booted_;  // ports that have SONiC's kernel parameters
  std::vector<std::string> told_;    // the last notes
  bool is_ready_ = false;
};

// The switch's ports, by the kernel's names.
std::vector<std::string> ports_among(const std::vector<Link>& links) {
  std::vector<std::string> out;
  for (const Link& one : links)
    if (one.kind == "veth" && one.name != kManagementPort) out.push_back(one.name);
  std::ranges::sort(out);
  return out;
}

Result<Done> StandIn::round(std::vector<std::string>& notes, const Call& call) {
  listen(notes, call);
  TRY(NetworkState network, network_here(call));
  const std::vector<std::string> ports = ports_among(network.links);
  boot(ports, notes);
  TRY(const ConfigDb rows, databases_.read(ports, notes, call));
  // After the rows, so that an order holds for each row that was written after it.
  TRY(const SonicOrders orders, read_orders(run_dir_));
  const auto routing_now = [&] {
    constexpr frr::Wanted kSessions{
        .bgp = true, .bfd = false, .effects = true, .daemons = false, .saved = false};
    return frr::read(run_dir_, kSessions, call);
  };
  frr::State routing = routing_now();
  Result<Done> carried = Done{};
  if (const Seen seen{rows, orders, network.links, routing}; carrying_.is_due(seen)) {
    carried = carrying_.carry(seen, notes, call);
    TRY(network, network_here(call));
    routing = routing_now();
  }
  TRY_DONE(report({rows, orders, network.links, routing}, network, call));
  return carried;
}

Result<NetworkState> StandIn::network_here(const Call& call) {
  TRY(netlink::Socket socket, netlink::Socket::open(NETLINK_ROUTE));
  return read_network(socket, {.addresses = true, .routes = false, .rules = false}, call);
}

void StandIn::boot(const std::vector<std::string>& ports, std::vector<std::string>& notes) {
  if (ports == booted_) return;
  booted_ = ports;
  for (const auto& [name, value] : boot_parameters(ports))
    if (const Result<Done> done = write_sysctl(name, value); !done) notes.push_back(done.error().text());
}

Result<Done> StandIn::report(const Seen& seen, const NetworkState& network, const Call& call) {
  ReportedRows appl = reported_ports(seen.rows, seen.links, seen.orders.reports_up);
  const LldpdAnswer lldpd = read_lldpd(run_dir_ + "/lldpd.sock", call);
  appl.merge(reported_addresses(seen.rows, network));
  appl.merge(reported_peers(seen.rows, lldpd.heard));
  TRY_DONE(databases_.report_appl(appl, call));
  // A bgpd that does not answer leaves the sessions as they were, as bgpmon does.
  if (!seen.routing.bgp) return Done{};
  return databases_.report_state(reported_sessions(seen.routing.bgp->sessions), call);
}

// Before the lists are read, so that nothing is missed between.
void StandIn::listen(std::vector<std::string>& notes, const Call& call) {
  if (rows_changed_)
    if (const auto drained = rows_changed_->drain(); !drained) rows_changed_.reset();
  if (!rows_changed_) {
    if (auto watch = KeyspaceWatch::open(server_, kConfigEvents, {}, call))
      rows_changed_.emplace(*std::move(watch));
    else
      notes.push_back(watch.error().text());
  }
  if (!links_changed_) {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    if (socket && socket->join(RTNLGRP_LINK)) links_changed_.emplace(*std::move(socket));
  }
  while (links_changed_) {
    const auto event = links_changed_->next_event();
    if (!event) links_changed_.reset();
    if (!event || (!event->overrun && event->bytes.empty())) break;
  }
}

Result<Done> StandIn::say_ready() {
  const std::string file = sonic_ready_file(run_dir_);
  const Descriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made) return errno_error("create " + file);
  is_ready_ = true;
  return Done{};
}

void StandIn::wait() {
  std::array<pollfd, 2> waits{{{rows_changed_ ? rows_changed_->descriptor() : -1, POLLIN, 0},
                               {links_changed_ ? links_changed_->descriptor() : -1, POLLIN, 0}}};
  (void)::poll(waits.data(), waits.size(), kRoundMs);
}

// Standard error is the daemon's log. What is so in every round is said once.
void StandIn::tell(const std::vector<std::string>& notes) {
  if (notes == told_) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const long long ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  for (const std::string& note : notes)
    if (std::ranges::find(told_, note) == told_.end()) (void)::dprintf(2, "%lld %s\n", ms, note.c_str());
  told_ = notes;
}

}  // namespace
}  // namespace sonic

int sonic_stand_in_main(int argc, char** argv) {
  constexpr int kWords = 4;
  std::array<char, 256> host{};
  if (argc != kWords || ::gethostname(host.data(), host.size() - 1) != 0) {
    (void)::dprintf(2, "%s is no command for people: a twin starts it for its SONiC switches\n",
                    kSonicStandIn);
    return 1;
  }
  ::prctl(PR_SET_NAME, kSonicStandIn);  // as ps(1) shows it: 14 of 15 characters
  std::signal(SIGPIPE, SIG_IGN);        // a Redis that goes away is an error of the next call
  sonic::StandIn(argv[2], {.hostname = host.data(), .type = argv[3]}).run();
}

}  // namespace lockstep
