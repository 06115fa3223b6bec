#include "drivers/linux/devlink/client.hpp"

#include <linux/devlink.h>

#include "drivers/linux/generic_netlink.hpp"

namespace lockstep::devlink {

using netlink::Answer;
using netlink::Request;

Result<Client> Client::open(const Call& call) {
  TRY(auto socket, netlink::Socket::open(NETLINK_GENERIC));
  TRY(const std::uint16_t family, netlink::resolve_family(socket, DEVLINK_GENL_NAME, call));
  return Client(std::move(socket), family);
}

template <class T>
Result<std::vector<T>> Client::all(std::uint8_t command, Result<std::optional<T>> (*decode)(netlink::Bytes),
                                   const Call& call) {
  std::vector<T> out;
  Request request = dump_request(family_, command);
  TRY_DONE(netlink::read_all(socket_, request, family_, decode, call, out));
  return out;
}

Result<std::vector<Handle>> Client::devices(const Call& call) {
  return all(DEVLINK_CMD_GET, &decode_device, call);
}
Result<std::vector<Port>> Client::ports(const Call& call) {
  return all(DEVLINK_CMD_PORT_GET, &decode_port, call);
}
Result<std::vector<Info>> Client::infos(const Call& call) {
  return all(DEVLINK_CMD_INFO_GET, &decode_info, call);
}
Result<std::vector<Parameter>> Client::parameters(const Call& call) {
  return all(DEVLINK_CMD_PARAM_GET, &decode_parameter, call);
}
Result<std::vector<Reporter>> Client::reporters(const Call& call) {
  return all(DEVLINK_CMD_HEALTH_REPORTER_GET, &decode_reporter, call);
}
Result<std::vector<Rate>> Client::rates(const Call& call) {
  return all(DEVLINK_CMD_RATE_GET, &decode_rate, call);
}
Result<std::vector<SharedBuffer>> Client::buffers(const Call& call) {
  return all(DEVLINK_CMD_SB_GET, &decode_buffer, call);
}
Result<std::vector<Pool>> Client::pools(const Call& call) {
  return all(DEVLINK_CMD_SB_POOL_GET, &decode_pool, call);
}
Result<std::vector<Binding>> Client::bindings(const Call& call) {
  return all(DEVLINK_CMD_SB_TC_POOL_BIND_GET, &decode_binding, call);
}

Result<Eswitch> Client::eswitch(const Handle& device, const Call& call) {
  Eswitch out;
  Request request = device_request(family_, DEVLINK_CMD_ESWITCH_GET, device);
  TRY(const Answer answer, socket_.ask(request, call, [&](const netlink::Message& message) -> Result<Done> {
    TRY(out.mode, decode_eswitch(message.payload));
    return Done{};
  }));
  const std::string what = "devlink dev eswitch show " + device.text();
  if (answer.code != 0) {
    // Devices without an eswitch report that in several ways (EOPNOTSUPP; EPERM for a virtual function).
    Error error = to_error(answer, what);
    if (error.kind == ErrorKind::transient) return error;
    out.why_none = std::move(error.what);
    return out;
  }
  if (!out.mode) out.why_none = what + ": the device names no mode";
  return out;
}

Result<Done> Client::done(Request& request, const std::string& what, const Call& call) {
  TRY(const Answer answer, socket_.change(request, call));
  if (answer.code != 0) return to_error(answer, "devlink " + what);
  return Done{};
}

Result<Done> Client::set_parameter(const Parameter& parameter, std::uint8_t cmode, std::string_view text,
                                   const Call& call) {
  TRY(Request request, parameter_request(family_, parameter, cmode, text));
  return done(
      request,
      "dev param set " + parameter.device.text() + " name " + parameter.name + " cmode " + cmode_words(cmode),
      call);
}

Result<Done> Client::reload(const Handle& device, const Call& call) {
  Request request = device_request(family_, DEVLINK_CMD_RELOAD, device);
  return done(request, "dev reload " + device.text(), call);
}

Result<Done> Client::set_eswitch(const Handle& device, std::uint16_t mode, const Call& call) {
  Request request = eswitch_request(family_, device, mode);
  return done(request, "dev eswitch set " + device.text() + " mode " + eswitch_words(mode), call);
}

Result<Done> Client::set_rate(const Handle& device, std::uint32_t port, std::uint64_t bytes_per_second,
                              const Call& call) {
  Request request = rate_request(family_, device, port, bytes_per_second);
  return done(request, "port function rate set " + device.text() + "/" + std::to_string(port), call);
}

Result<Done> Client::recover(const Reporter& reporter, const Call& call) {
  Request request = recover_request(family_, reporter);
  return done(request, "health recover " + reporter.device.text() + " reporter " + reporter.name, call);
}

}  // namespace lockstep::devlink
