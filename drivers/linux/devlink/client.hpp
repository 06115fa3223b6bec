// A devlink socket in the calling thread's network namespace, with reads and changes of its devices.
//
// Promises: reads are dumps of one kind each, only of the kinds requested; each change is acknowledged by the
// kernel before the function returns, and the caller reads it back. Refuses a kernel without devlink
// (unsupported), and what the kernel refuses, with the kernel's message.
#pragma once

#include "drivers/linux/devlink/messages.hpp"
#include "drivers/linux/netlink_socket.hpp"

namespace lockstep::devlink {

// A device's mode, or why it has none, in the kernel's words.
struct Eswitch {
  std::optional<std::uint16_t> mode;
  std::string why_none;
};

class Client {
 public:
  static Result<Client> open(const Call& call);

  Result<std::vector<Handle>> devices(const Call& call);
  Result<std::vector<Port>> ports(const Call& call);
  Result<std::vector<Info>> infos(const Call& call);
  Result<std::vector<Parameter>> parameters(const Call& call);
  Result<std::vector<Reporter>> reporters(const Call& call);
  Result<std::vector<Rate>> rates(const Call& call);
  Result<std::vector<SharedBuffer>> buffers(const Call& call);
  Result<std::vector<Pool>> pools(const Call& call);
  Result<std::vector<Binding>> bindings(const Call& call);
  Result<Eswitch> eswitch(const Handle& device, const Call& call);

  // A text that is not a value of the parameter's type is invalid_spec.
  Result<Done> set_parameter(const Parameter& parameter, std::uint8_t cmode, std::string_view text,
                             const Call& call);
  // Recreates the device's ports, applying driverinit values.
  Result<Done> reload(const Handle& device, const Call& call);
  Result<Done> set_eswitch(const Handle& device, std::uint16_t mode, const Call& call);
  Result<Done> set_rate(const Handle& device, std::uint32_t port, std::uint64_t bytes_per_second,
                        const Call& call);
  Result<Done> recover(const Reporter& reporter, const Call& call);

 private:
  Client(netlink::Socket socket, std::uint16_t family) : socket_(std::move(socket)), family_(family) {}
  template <class T>
  Result<std::vector<T>> all(std::uint8_t command, Result<std::optional<T>> (*decode)(netlink::Bytes),
                             const Call& call);
  Result<Done> done(netlink::Request& request, const std::string& what, const Call& call);

  netlink::Socket socket_;
  std::uint16_t family_;
};

}  // namespace lockstep::devlink
