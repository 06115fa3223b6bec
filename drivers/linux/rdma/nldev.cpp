#include "drivers/linux/rdma/nldev.hpp"

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <span>

namespace lockstep::rdma {
namespace {

using netlink::Bytes;
using netlink::Request;

using Table = netlink::AttributeTable<RDMA_NLDEV_ATTR_DEV_PROTOCOL + 1>;

constexpr std::string_view kStates[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
constexpr std::string_view kPhysicalStates[] = {"NOP",
                                                "SLEEP",
                                                "POLLING",
                                                "DISABLED",
                                                "PORT_CONFIGURATION_TRAINING",
                                                "LINK_UP",
                                                "LINK_ERROR_RECOVERY",
                                                "PHY_TEST"};

constexpr std::uint16_t message_type(unsigned command) {
  return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

std::string word(std::span<const std::string_view> words, std::uint8_t number) {
  return number < words.size() ? std::string(words[number]) : std::to_string(number);
}

Error incomplete(std::string_view what) {
  return Error{ErrorKind::transient, "RDMA netlink: a " + std::string(what) + " without number or name"};
}

Result<netlink::Socket> open_socket() {
  auto socket = netlink::Socket::open(NETLINK_RDMA);
  // EPROTONOSUPPORT: a kernel without RDMA, or whose module ib_core is unavailable.
  if (!socket) return wrap("RDMA", socket.error());
  return socket;
}

}  // namespace

Request devices_request() { return Request(message_type(RDMA_NLDEV_CMD_GET), NLM_F_DUMP); }

Request ports_request(std::uint32_t device) {
  Request out(message_type(RDMA_NLDEV_CMD_PORT_GET), NLM_F_DUMP);
  out.put_number(RDMA_NLDEV_ATTR_DEV_INDEX, device);
  return out;
}

Result<std::optional<Device>> decode_device(Bytes payload) {
  TRY(auto table, Table::parse(payload, "RDMA device"));
  const auto index = table.number<std::uint32_t>(RDMA_NLDEV_ATTR_DEV_INDEX);
  Device out;
  out.name = table.text(RDMA_NLDEV_ATTR_DEV_NAME);
  out.ports = table.number<std::uint32_t>(RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0);
  out.firmware = table.text(RDMA_NLDEV_ATTR_FW_VERSION);
  out.protocol = table.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL);
  out.node_guid = table.number<std::uint64_t>(RDMA_NLDEV_ATTR_NODE_GUID).value_or(0);
  TRY_DONE(table.sound("RDMA device"));
  if (!index || out.name.empty()) return incomplete("device");
  out.index = *index;
  return std::optional(std::move(out));
}

Result<std::optional<Port>> decode_port(Bytes payload) {
  TRY(auto table, Table::parse(payload, "RDMA port"));
  const auto number = table.number<std::uint32_t>(RDMA_NLDEV_ATTR_PORT_INDEX);
  Port out;
  out.device = table.text(RDMA_NLDEV_ATTR_DEV_NAME);
  out.state = table.number<std::uint8_t>(RDMA_NLDEV_ATTR_PORT_STATE).value_or(0);
  out.physical_state = table.number<std::uint8_t>(RDMA_NLDEV_ATTR_PORT_PHYS_STATE).value_or(0);
  out.netdev = table.text(RDMA_NLDEV_ATTR_NDEV_NAME);
  TRY_DONE(table.sound("RDMA port"));
  if (!number || out.device.empty()) return incomplete("port");
  out.number = *number;
  return std::optional(std::move(out));
}

// rdma/ib_verbs.h: enum ib_qp_type and enum ib_qp_state; RAW_PACKET is rdma/ib_user_ioctl_verbs.h's.
bool QueuePair::is_connected() const {
  constexpr std::uint8_t kSmi = 0;
  constexpr std::uint8_t kGsi = 1;
  constexpr std::uint8_t kRawPacket = IB_UVERBS_QPT_RAW_PACKET;
  constexpr std::uint8_t kReadyToReceive = 2;  // IBV_QPS_RTR
  constexpr std::uint8_t kSendError = 5;       // IBV_QPS_SQE, the last state before IBV_QPS_ERR
  return type != kSmi && type != kGsi && type != kRawPacket && state >= kReadyToReceive &&
         state <= kSendError;
}

Request queue_pairs_request(std::uint32_t device) {
  Request out(message_type(RDMA_NLDEV_CMD_RES_QP_GET), NLM_F_DUMP);
  out.put_number(RDMA_NLDEV_ATTR_DEV_INDEX, device);
  return out;
}

Result<Done> add_queue_pairs(Bytes payload, std::vector<QueuePair>& out) {
  TRY(const auto message, Table::parse(payload, "message of queue pairs"));
  netlink::AttributeWalk walk(message.bytes(RDMA_NLDEV_ATTR_RES_QP));
  for (netlink::Attribute one; walk.next(one);) {
    if (one.type != RDMA_NLDEV_ATTR_RES_QP_ENTRY) continue;
    TRY(auto entry, Table::parse(one.payload, "queue pair"));
    QueuePair found;
    found.port = entry.number<std::uint32_t>(RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0);
    const auto type = entry.number<std::uint8_t>(RDMA_NLDEV_ATTR_RES_TYPE);
    const auto state = entry.number<std::uint8_t>(RDMA_NLDEV_ATTR_RES_STATE);
    TRY_DONE(entry.sound("queue pair"));
    if (!type || !state) return Error{ErrorKind::transient, "RDMA netlink: a queue pair without its state"};
    found.type = *type;
    found.state = *state;
    out.push_back(found);
  }
  return walk.finish("message of queue pairs");
}

Result<std::size_t> connected_queue_pairs(std::uint32_t device, std::uint32_t port, const Call& call) {
  TRY(auto socket, open_socket());
  Request request = queue_pairs_request(device);
  std::vector<QueuePair> all;
  TRY_DONE(socket.dump(
      request, call, [&](const netlink::Message& message) { return add_queue_pairs(message.payload, all); },
      [&] { all.clear(); }));
  return static_cast<std::size_t>(std::ranges::count_if(all, [port](const QueuePair& one) {
    return one.is_connected() && (one.port == 0 || one.port == port);
  }));
}

std::string state_words(std::uint8_t state) { return word(kStates, state); }

std::string physical_state_words(std::uint8_t state) { return word(kPhysicalStates, state); }

Result<DevicesAndPorts> read_devices_and_ports(const Call& call) {
  TRY(auto socket, open_socket());
  DevicesAndPorts out;
  Request devices = devices_request();
  TRY_DONE(netlink::read_all(socket, devices, message_type(RDMA_NLDEV_CMD_GET), &decode_device, call,
                             out.devices));
  for (const Device& one : out.devices) {
    Request request = ports_request(one.index);
    TRY_DONE(netlink::read_all(socket, request, message_type(RDMA_NLDEV_CMD_PORT_GET), &decode_port, call,
                               out.ports));
  }
  return out;
}

}  // namespace lockstep::rdma
