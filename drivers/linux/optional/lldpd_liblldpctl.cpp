#include <dlfcn.h>
#include <lldpctl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "drivers/linux/lldp.hpp"
#include "drivers/posix/wait.hpp"

namespace lockstep {
namespace {

using Agent = LldpdAnswer::Agent;

// lldpd answers within a few milliseconds; one that has not answered in this time is reported as silent.
// Arbitrary: on a loaded machine, one that hangs must not cost the answers of the others.
constexpr std::chrono::milliseconds kPatience{2000};

// The strings that neighbours announce have at most this length (802.1AB, 8.5). The library accepts no
// message of more than 512 KiB (lldpd 1.0.16, ctl.h, HMSG_MAX_SIZE).
constexpr std::size_t kTextMax = 255;

// The functions of liblldpctl, which is loaded when an lldpd is first asked: it comes with lldpd, so that a
// machine without lldpd has none, and lockstep-agent must start there all the same.
struct Library {
  std::string missing;  // why it can't be used; empty: it can
  decltype(&::lldpctl_new_name) new_name = nullptr;
  decltype(&::lldpctl_release) release = nullptr;
  decltype(&::lldpctl_last_error) last_error = nullptr;
  decltype(&::lldpctl_strerror) error_text = nullptr;
  decltype(&::lldpctl_get_interfaces) get_interfaces = nullptr;
  decltype(&::lldpctl_get_port) get_port = nullptr;
  decltype(&::lldpctl_atom_dec_ref) atom_dec_ref = nullptr;
  decltype(&::lldpctl_atom_get) atom_get = nullptr;
  decltype(&::lldpctl_atom_get_str) atom_get_str = nullptr;
  decltype(&::lldpctl_atom_get_int) atom_get_int = nullptr;
  decltype(&::lldpctl_atom_iter) atom_iter = nullptr;
  decltype(&::lldpctl_atom_iter_next) atom_iter_next = nullptr;
  decltype(&::lldpctl_atom_iter_value) atom_iter_value = nullptr;

  Library() {
    constexpr const char* kName = "liblldpctl.so.4";  // of lldpd 0.7 to 1.0
    void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const why = ::dlerror();
      missing = why != nullptr ? why : kName;
      return;
    }
    const auto find = [&]<class Function>(Function& function, const char* symbol) {
      function = reinterpret_cast<Function>(::dlsym(handle, symbol));
      if (function == nullptr) missing = std::string(kName) + " has no " + symbol;
    };
    find(new_name, "lldpctl_new_name");
    find(release, "lldpctl_release");
    find(last_error, "lldpctl_last_error");
    find(error_text, "lldpctl_strerror");
    find(get_interfaces, "lldpctl_get_interfaces");
    find(get_port, "lldpctl_get_port");
    find(atom_dec_ref, "lldpctl_atom_dec_ref");
    find(atom_get, "lldpctl_atom_get");
    find(atom_get_str, "lldpctl_atom_get_str");
    find(atom_get_int, "lldpctl_atom_get_int");
    find(atom_iter, "lldpctl_atom_iter");
    find(atom_iter_next, "lldpctl_atom_iter_next");
    find(atom_iter_value, "lldpctl_atom_iter_value");
  }
};
const Library& lldpctl() {
  static const Library one;
  return one;
}

// The state of the library's callbacks: our own connected socket and the caller's deadline.
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

// The library declares the buffer const although it is to be filled (lldpctl.h, lldpctl_recv_callback).
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
  // Non-blocking: the full backlog of a hanging lldpd must not block the caller.
  Descriptor out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out || ::connect(out.number(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
    return Error{errno == EAGAIN ? ErrorKind::transient : ErrorKind::refused,
                 "lldpd: " + path + ": " + std::strerror(errno)};
  return out;
}

// An atom that is released at the end of its scope.
class Atom {
 public:
  explicit Atom(lldpctl_atom_t* atom) : atom_(atom) {}
  Atom(const Atom&) = delete;
  Atom& operator=(const Atom&) = delete;
  ~Atom() {
    if (atom_ != nullptr) lldpctl().atom_dec_ref(atom_);
  }
  lldpctl_atom_t* get() const { return atom_; }
  std::string text(lldpctl_key_t key) const {
    const char* out = atom_ != nullptr ? lldpctl().atom_get_str(atom_, key) : nullptr;
    return out != nullptr ? std::string(out, ::strnlen(out, kTextMax)) : "";
  }
  long number(lldpctl_key_t key) const { return lldpctl().atom_get_int(atom_, key); }

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
  const Atom chassis(lldpctl().atom_get(remote.get(), lldpctl_k_port_chassis));
  out.chassis = chassis.text(lldpctl_k_chassis_id);
  out.system_name = chassis.text(lldpctl_k_chassis_name);
  return out;
}

// A cable that was swapped and came up again at once has two neighbours: lldpd keeps the old one until its
// time to live is over (lldpd.c, lldpd_cleanup: it is removed at once only if the link is down). New ones are
// appended (lldpd_decode), and repeated ones keep their place.
std::optional<LldpNeighbour> latest_of(lldpctl_atom_t* port) {
  const Atom remotes(lldpctl().atom_get(port, lldpctl_k_port_neighbors));
  std::optional<LldpNeighbour> latest;
  long since = 0;
  if (remotes.get() == nullptr) return latest;
  for (auto* at = lldpctl().atom_iter(remotes.get()); at != nullptr;
       at = lldpctl().atom_iter_next(remotes.get(), at)) {
    const Atom remote(lldpctl().atom_iter_value(remotes.get(), at));
    const long came = remote.number(lldpctl_k_port_age);  // in seconds since the epoch, despite its name
    if (latest && came < since) continue;
    since = came;
    latest = neighbour_of(remote);
  }
  return latest;
}

Result<std::map<std::string, LldpNeighbour>> ask_all(lldpctl_conn_t* connection, const Channel& channel) {
  const auto gone = [&] {
    return channel.failed ? wrap("lldpd: no answer", *channel.failed)
                          : failed(lldpctl().error_text(lldpctl().last_error(connection)));
  };
  const Atom ports(lldpctl().get_interfaces(connection));
  if (ports.get() == nullptr) return gone();
  std::map<std::string, LldpNeighbour> out;
  for (auto* at = lldpctl().atom_iter(ports.get()); at != nullptr;
       at = lldpctl().atom_iter_next(ports.get(), at)) {
    const Atom name(lldpctl().atom_iter_value(ports.get(), at));
    const Atom port(lldpctl().get_port(name.get()));
    if (port.get() == nullptr) return gone();
    if (auto latest = latest_of(port.get()))
      out.insert_or_assign(name.text(lldpctl_k_interface_name), *std::move(latest));
  }
  return out;
}

// Serializes callers; a waiting caller still reacts to its call's stop: a semaphore that can be polled
// (eventfd(2)).
class Turn {
 public:
  static Result<Turn> wait(const Call& call) {
    for (;;) {
      TRY_DONE(wait_for(semaphore(), POLLIN, call));
      std::uint64_t taken = 0;
      if (::read(semaphore(), &taken, sizeof(taken)) == sizeof(taken)) return Turn();
      if (errno != EAGAIN && errno != EINTR) return failed(std::string("eventfd: ") + std::strerror(errno));
    }
  }
  Turn(Turn&& other) noexcept : mine_(std::exchange(other.mine_, false)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    const std::uint64_t one = 1;
    if (!mine_) return;
    // Can only fail if the counter is full, which one write does not cause.
    [[maybe_unused]] const ssize_t put = ::write(semaphore(), &one, sizeof(one));
  }

 private:
  Turn() = default;
  static int semaphore() {
    static const Descriptor one(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
    return one.number();
  }
  bool mine_ = true;
};

}  // namespace

LldpdAnswer read_lldpd(const std::string& socket_path, const Call& call) {
  // liblldpctl sets up its tables of atoms at first use, without a lock (src/lib/atom.c): with two threads at
  // once, an "unknown atom type" and crashes were observed.
  const auto turn = Turn::wait(call);
  if (!turn) return {.why = wrap("lldpd: others are being asked", turn.error())};
  Call own = call;
  own.deadline = std::min(call.deadline, std::chrono::steady_clock::now() + kPatience);
  Channel channel;
  auto connected = connect_to(socket_path);
  if (!connected) {
    const bool silent = connected.error().kind == ErrorKind::transient;
    return {.agent = silent ? Agent::silent : Agent::absent, .why = std::move(connected.error())};
  }
  if (!lldpctl().missing.empty())
    return {.why = Error{ErrorKind::unsupported, "lldpd: its library can't be used: " + lldpctl().missing}};
  channel.socket = *std::move(connected);
  channel.call = &own;
  struct Release {
    void operator()(lldpctl_conn_t* one) const { lldpctl().release(one); }
  };
  const std::unique_ptr<lldpctl_conn_t, Release> connection(
      lldpctl().new_name(socket_path.c_str(), send_some, receive_some, &channel));
  if (!connection) return {.why = failed("no memory for a connection")};
  auto heard = ask_all(connection.get(), channel);
  if (heard) return {.agent = Agent::answers, .why = std::nullopt, .heard = *std::move(heard)};
  // Only an lldpd that had its full time counts as silent, not one that was queried late.
  const bool silent =
      channel.failed && channel.failed->kind == ErrorKind::transient && own.deadline < call.deadline;
  return {.agent = silent ? Agent::silent : Agent::unclear, .why = std::move(heard.error())};
}

}  // namespace lockstep
