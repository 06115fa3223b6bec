#include "reconciler/agent/calls.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "drivers/agent/wire_discovery.hpp"
#include "drivers/posix/machine_id.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep::agent {
namespace {

enum class Name : std::uint8_t { hello, observe, apply, settle, remedy, usage, discover, healthz };
struct NamedCall {
  std::string_view text;
  Name name;
  Calls::Kind kind;
};
constexpr std::array<NamedCall, 8> kCalls{{{"hello", Name::hello, Calls::Kind::reads},
                                           {"observe", Name::observe, Calls::Kind::reads},
                                           {"apply", Name::apply, Calls::Kind::writes},
                                           {"settle", Name::settle, Calls::Kind::writes},
                                           {"remedy", Name::remedy, Calls::Kind::writes},
                                           {"usage", Name::usage, Calls::Kind::reads},
                                           {"discover", Name::discover, Calls::Kind::reads},
                                           {"healthz", Name::healthz, Calls::Kind::reads}}};

const NamedCall* find_call(std::string_view name) {
  const auto* const found = std::ranges::find(kCalls, name, &NamedCall::text);
  return found == kCalls.end() ? nullptr : found;
}

// The answer of a call, encoded.
template <class T>
Result<std::string> encoded(const Result<T>& answer) {
  if (!answer) return answer.error();
  return wire::encode(*answer);
}

// The watches of all drivers as one: an epoll(7) descriptor is readable when one of those in it is.
class JoinedWatch final : public Watcher {
 public:
  explicit JoinedWatch(std::vector<std::shared_ptr<Watcher>> parts)
      : parts_(std::move(parts)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  Result<Done> open() {
    if (!epoll_) return no_descriptor();
    for (const auto& part : parts_) {
      epoll_event event{.events = EPOLLIN, .data = {}};
      if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, part->descriptor(), &event) != 0)
        return no_descriptor();
    }
    return Done{};
  }
  int descriptor() const override { return epoll_.number(); }
  Result<Woken> drain() override {
    Woken out;
    for (const auto& part : parts_) {
      TRY(const Woken one, part->drain());
      out.all = out.all || one.all;
      for (const std::string& device : one.devices)
        if (std::ranges::find(out.devices, device) == out.devices.end()) out.devices.push_back(device);
    }
    return out;
  }

 private:
  static Error no_descriptor() {
    return Error{ErrorKind::transient, std::string("epoll: ") + std::strerror(errno)};
  }
  const std::vector<std::shared_ptr<Watcher>> parts_;
  const Descriptor epoll_;
};

}  // namespace

DeviceCalls::DeviceCalls(Identity identity, std::shared_ptr<DeadMan> dead_man,
                         std::map<std::string, Attached*> drivers, Discover discover)
    : identity_(std::move(identity)),
      boot_id_(this_machine().boot_id),
      dead_man_(std::move(dead_man)),
      drivers_(std::move(drivers)),
      discover_(std::move(discover)) {}

Calls::Kind DeviceCalls::kind(std::string_view name) const {
  const NamedCall* const found = find_call(name);
  return found == nullptr ? Kind::unknown : found->kind;
}

Reply DeviceCalls::handle(std::string_view name, const std::string& body, PeerRole by, const Call& call) {
  Result<std::string> out = answer(name, body, by, call);
  return out ? Reply{.body = *std::move(out)} : error_reply(out.error());
}

Result<std::string> DeviceCalls::answer(std::string_view name, const std::string& body, PeerRole by,
                                        const Call& call) {
  const NamedCall* const found = find_call(name);
  if (found == nullptr)
    return Error{ErrorKind::unsupported, "this agent has no call '" + std::string(name) + "'"};
  switch (found->name) {
    case Name::hello: return hello(call);
    case Name::healthz: break;
    case Name::observe: {
      TRY(wire::ObserveRequest request, wire::decode_observe(body));
      // Only a controller leads: a reader's epoch would shut out every leader.
      if (by != PeerRole::controller) request.epoch = 0;
      return encoded(dead_man_->observe(request, call));
    }
    case Name::apply: {
      TRY(const wire::ApplyRequest request, wire::decode_apply(body));
      return encoded(dead_man_->apply(request, call));
    }
    case Name::settle: {
      TRY(const wire::SettleRequest request, wire::decode_settle(body));
      return encoded(dead_man_->settle(request, call));
    }
    case Name::remedy: {
      TRY(const wire::RemedyRequest request, wire::decode_remedy(body));
      return encoded(dead_man_->remedy(request, call));
    }
    case Name::usage: {
      TRY(const wire::UsageRequest request, wire::decode_usage(body));
      return encoded(dead_man_->usage(request, call));
    }
    case Name::discover:
      if (!discover_) return Error{ErrorKind::unsupported, "this agent can't discover its device"};
      return encoded(discover_(call));
  }
  return wire::encode(Done{});
}

Result<std::string> DeviceCalls::hello(const Call& call) const {
  wire::Hello out;
  out.version = identity_.version;
  out.cluster = identity_.cluster;
  out.device = identity_.device;
  out.boot_id = boot_id_;
  out.machine_id = identity_.machine_id.empty() ? machine_id() : identity_.machine_id;
  for (const auto& [name, attached] : drivers_) {
    TRY(Traits traits, attached->driver->traits(call));
    traits.driver = name;
    traits.undoes_itself = true;  // with the DeadMan
    out.drivers.push_back(std::move(traits));
  }
  dead_man_->describe(out);
  return wire::encode(out);
}

Result<std::shared_ptr<Watcher>> DeviceCalls::watch() {
  std::vector<std::shared_ptr<Watcher>> parts;
  for (const auto& [name, attached] : drivers_) {
    if (!attached->watch) continue;
    TRY(std::shared_ptr<Watcher> part, attached->watch());
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  }
  if (parts.empty()) return Error{ErrorKind::unsupported, "no driver of this agent can watch the device"};
  auto joined = std::make_shared<JoinedWatch>(std::move(parts));
  TRY_DONE(joined->open());
  return std::shared_ptr<Watcher>(std::move(joined));
}

}  // namespace lockstep::agent
