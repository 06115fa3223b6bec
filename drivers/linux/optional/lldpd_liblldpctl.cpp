#include <lldpctl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>

#include <mutex>

#include "drivers/linux/lldp.hpp"
#include "drivers/linux/wait.hpp"

namespace lockstep {
namespace {

// What the library's callbacks work on: our own connected socket and the caller's patience.
struct Channel {
  Descriptor socket;
  const Call* call = nullptr;
  std::optional<Error> failed;

  bool ready(short events) {
    auto waited = wait_for(socket.number(), events, *call);
    if (!waited) failed = std::move(waited.error());
    return !failed;
  }
};

ssize_t send_some(lldpctl_conn_t*, const std::uint8_t* bytes, std::size_t size, void* user) {
  auto& channel = *static_cast<Channel*>(user);
  if (!channel.ready(POLLOUT)) return LLDPCTL_ERR_CALLBACK_FAILURE;
  const ssize_t sent = ::send(channel.socket.number(), bytes, size, MSG_NOSIGNAL);
  return sent < 0 ? static_cast<ssize_t>(LLDPCTL_ERR_CALLBACK_FAILURE) : sent;
}

// The library declares the buffer const and means it to be filled (lldpctl.h, lldpctl_recv_callback).
ssize_t receive_some(lldpctl_conn_t*, const std::uint8_t* room, std::size_t size, void* user) {
  auto& channel = *static_cast<Channel*>(user);
  if (!channel.ready(POLLIN)) return LLDPCTL_ERR_CALLBACK_FAILURE;
  const ssize_t got = ::recv(channel.socket.number(), const_cast<std::uint8_t*>(room), size, 0);
  if (got == 0) return LLDPCTL_ERR_EOF;
  return got < 0 ? static_cast<ssize_t>(LLDPCTL_ERR_CALLBACK_FAILURE) : got;
}

Error failed(const std::string& what) { return Error{ErrorKind::transient, "lldpd: " + what}; }

Result<Descriptor> connect_to(const std::string& path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof(to.sun_path))
    return Error{ErrorKind::invalid_spec, "lldpd: socket path too long"};
  path.copy(to.sun_path, path.size());
  Descriptor out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out || ::connect(out.number(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
    return failed(path + ": " + std::strerror(errno));
  return out;
}

// An atom that is released at the end of its scope.
class Atom {
 public:
  explicit Atom(lldpctl_atom_t* atom) : atom_(atom) {}
  Atom(const Atom&) = delete;
  Atom& operator=(const Atom&) = delete;
  ~Atom() {
    if (atom_ != nullptr) lldpctl_atom_dec_ref(atom_);
  }
  lldpctl_atom_t* get() const { return atom_; }
  std::string text(lldpctl_key_t key) const {
    const char* out = atom_ != nullptr ? lldpctl_atom_get_str(atom_, key) : nullptr;
    return out != nullptr ? out : "";
  }
  long number(lldpctl_key_t key) const { return lldpctl_atom_get_int(atom_, key); }

 private:
  lldpctl_atom_t* atom_;
};

LldpNeighbour neighbour_of(const Atom& remote) {
  constexpr long kInterfaceName = 5;  // IEEE 802.1AB-2016, table 8-3
  constexpr long kLocal = 7;
  LldpNeighbour out;
  out.port_id = remote.text(lldpctl_k_port_id);
  const long subtype = remote.number(lldpctl_k_port_id_subtype);
  out.port_is_name = subtype == kInterfaceName || subtype == kLocal;
  out.port_description = remote.text(lldpctl_k_port_descr);
  out.lifetime = std::chrono::seconds(std::max(0L, remote.number(lldpctl_k_port_ttl)));
  const Atom chassis(lldpctl_atom_get(remote.get(), lldpctl_k_port_chassis));
  out.chassis = chassis.text(lldpctl_k_chassis_id);
  out.system_name = chassis.text(lldpctl_k_chassis_name);
  return out;
}

}  // namespace

Result<std::map<std::string, LldpNeighbour>> ask_lldpd(const std::string& socket_path, const Call& call) {
  // liblldpctl sets up its tables of atoms at first use, without a lock (src/lib/atom.c): two threads in it at once
  // were seen to meet an "unknown atom type" and to crash. Each question is bounded by its call's deadline.
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  Channel channel;
  TRY(channel.socket, connect_to(socket_path));
  channel.call = &call;
  struct Release {
    void operator()(lldpctl_conn_t* one) const { lldpctl_release(one); }
  };
  const std::unique_ptr<lldpctl_conn_t, Release> connection(
      lldpctl_new_name(socket_path.c_str(), send_some, receive_some, &channel));
  if (!connection) return failed("no memory for a connection");
  const auto gone = [&] {
    return channel.failed ? *channel.failed : failed(lldpctl_last_strerror(connection.get()));
  };
  const Atom ports(lldpctl_get_interfaces(connection.get()));
  if (ports.get() == nullptr) return gone();
  std::map<std::string, LldpNeighbour> out;
  for (auto* at = lldpctl_atom_iter(ports.get()); at != nullptr;
       at = lldpctl_atom_iter_next(ports.get(), at)) {
    const Atom name(lldpctl_atom_iter_value(ports.get(), at));
    const Atom port(lldpctl_get_port(name.get()));
    if (port.get() == nullptr) return gone();
    const Atom remotes(lldpctl_atom_get(port.get(), lldpctl_k_port_neighbors));
    if (remotes.get() == nullptr) continue;
    if (auto* first = lldpctl_atom_iter(remotes.get()); first != nullptr) {
      const Atom remote(lldpctl_atom_iter_value(remotes.get(), first));
      out.insert_or_assign(name.text(lldpctl_k_interface_name), neighbour_of(remote));
    }
  }
  return out;
}

}  // namespace lockstep
