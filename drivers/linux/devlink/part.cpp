#include "drivers/linux/devlink/part.hpp"

#include <algorithm>
#include <mutex>

#include "drivers/linux/devlink/device_change.hpp"
#include "drivers/linux/devlink/health_remedy.hpp"
#include "drivers/linux/devlink/stored_settings.hpp"

namespace lockstep {
namespace {

using devlink::Client;
using devlink::Handle;
using devlink::StoredSettings;
using devlink::VirtualFunctions;
using devlink_map::Answers;
using devlink_map::DeviceChange;
using devlink_map::Devices;
using devlink_map::kParameter;
using devlink_map::kSetting;
using devlink_map::kVirtualFunctions;

// Stored firmware settings of the ports' NICs; each NIC is queried at most once per call, when needed.
class Firmware {
 public:
  Firmware(const HostFiles& files, const Call& call) : files_(files), call_(call) {}
  const Result<StoredSettings>& of(const Link& port) {
    const auto known = asked_.find(port.parent_device);
    if (known != asked_.end()) return known->second;
    return asked_.emplace(port.parent_device, devlink::stored_settings(files_, port, call_)).first->second;
  }

 private:
  const HostFiles& files_;
  const Call& call_;
  std::map<std::string, Result<StoredSettings>> asked_;
};

class DevlinkPart final : public LinuxPart {
 public:
  explicit DevlinkPart(const LinuxTarget& target) : files_(target.root), remedy_(target.netns_path) {}

  std::vector<RowId> reads() const override {
    std::vector<RowId> out = devlink_map::devlink_rows();
    out.push_back(kVirtualFunctions);
    return out;
  }
  std::vector<RowId> writes() const override {
    std::vector<RowId> out = devlink_map::written_devlink_rows();
    out.push_back(kVirtualFunctions);
    return out;
  }
  std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>& links,
                                   const Call& call) override;
  void read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
            std::vector<Unread>& unread, const Call& call) override;
  Answers apply(const ChangeSet& changes, const std::vector<Link>& links, const Call& call) override;
  Remedy* remedy() override { return &remedy_; }
  std::string native(const Change& change) const override;

 private:
  // What the last reading found about the ports; native() may be called from another thread.
  struct Known {
    std::map<std::string, Handle, std::less<>> devices;  // by port
    std::vector<devlink::Parameter> parameters;
  };
  void remember(const Devices& devices, const std::vector<Link>& links);
  std::optional<Handle> remembered(std::string_view port) const;
  std::optional<VirtualFunctions> functions_of(const Link& link) const;
  std::string why_no_functions(const Devices& devices, const Link& link) const;
  void incapable_of(const Link& link, const Devices& devices, const std::vector<Path>& named,
                    Firmware& firmware, std::vector<Incapable>& out) const;
  void read_devlink(const Scope& scope, const std::vector<Link>& links, Devices& devices, TreeBuilder& tree,
                    std::vector<Unread>& unread, const Call& call);
  Result<Handle> device_of(std::string_view port, const std::vector<Link>& links, Client& client,
                           const Call& call) const;
  Result<Done> set_functions(const Change& change, const std::vector<Link>& links, const Call& call) const;
  Answers set(std::span<const Change> changes, const std::vector<Link>& links, const Call& call) const;

  const HostFiles files_;
  HealthRemedy remedy_;
  mutable std::mutex mutex_;
  Known known_;
};

Error no_interface(std::string_view port) {
  return Error{ErrorKind::refused, "no interface is called '" + std::string(port) + "' here"};
}

Result<std::vector<Link>> read_links_anew(const Call& call) {
  TRY(auto socket, netlink::Socket::open(NETLINK_ROUTE));
  return read_links(socket, call);
}

// Empty if the kernel has no devlink.
Result<Devices> read_ports(const Call& call) {
  Devices out;
  auto client = Client::open(call);
  if (!client && client.error().kind == ErrorKind::unsupported) return out;
  if (!client) return client.error();
  TRY(out.ports, client->ports(call));
  return out;
}

void DevlinkPart::remember(const Devices& devices, const std::vector<Link>& links) {
  const std::lock_guard lock(mutex_);
  for (const Link& link : links)
    if (const devlink::Port* const port = devlink_map::port_of(devices, link))
      known_.devices.insert_or_assign(link.name, port->device);
  if (!devices.parameters.empty()) known_.parameters = devices.parameters;
}

std::optional<Handle> DevlinkPart::remembered(std::string_view port) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.devices.find(port);
  return found == known_.devices.end() ? std::optional<Handle>() : found->second;
}

// None: its device does not support virtual functions.
std::optional<VirtualFunctions> DevlinkPart::functions_of(const Link& link) const {
  if (link.parent_device.empty()) return std::nullopt;
  VirtualFunctions out(files_, link.parent_bus, link.parent_device);
  return out.exist() ? std::optional(std::move(out)) : std::nullopt;
}

std::string DevlinkPart::why_no_functions(const Devices& devices, const Link& link) const {
  const bool has_port =
      std::ranges::find(devices.ports, link.index, &devlink::Port::netdev) != devices.ports.end();
  if (has_port && devlink_map::port_of(devices, link) == nullptr)
    return devlink_map::why_no_device(devices, link);
  return functions_of(link) ? "" : "its device has no virtual functions (SR-IOV)";
}

// Why a firmware setting can't be set here; nothing: devlink has it.
std::optional<Incapable> why_by_hand(const Link& link, const Devices& devices, std::string_view name,
                                     Firmware& firmware) {
  const devlink::Port* const port = devlink_map::port_of(devices, link);
  std::string why = port == nullptr ? devlink_map::why_no_device(devices, link)
                                    : devlink_map::why_no_setting(devices, port->device, name);
  if (why.empty()) return std::nullopt;
  const Result<StoredSettings>& stored = firmware.of(link);
  const bool is_there = stored && stored->contains(name);
  if (is_there)
    why += ": it is set manually, and in force from the next reset or boot on";
  else
    why += stored ? ", and its firmware has no such setting" : "; " + stored.error().what;
  return Incapable{kSetting, {link.name, std::string(name)}, std::move(why), is_there};
}

// Reads the desired firmware settings that devlink does not have.
void read_stored(const Scope& scope, const std::vector<Link>& links, const Devices& devices,
                 Firmware& firmware, TreeBuilder& tree, std::vector<Unread>& unread) {
  for (const Path& one : scope.named) {
    if (one.row() != kSetting || one.key_count() < 2) continue;
    const auto link = std::ranges::find(links, one.key(0), &Link::name);
    if (link == links.end() || !why_by_hand(*link, devices, one.key(1), firmware)) continue;
    const Result<StoredSettings>& stored = firmware.of(*link);
    if (!stored && stored.error().kind != ErrorKind::unsupported)
      unread.push_back({kSetting, {link->name, std::string(one.key(1))}, stored.error()});
    if (!stored) continue;
    const auto value = stored->find(one.key(1));
    if (value != stored->end()) tree.add(one, Value::text(value->second));
  }
}

void DevlinkPart::incapable_of(const Link& link, const Devices& devices, const std::vector<Path>& named,
                               Firmware& firmware, std::vector<Incapable>& out) const {
  if (std::string why = why_no_functions(devices, link); !why.empty())
    out.push_back({kVirtualFunctions, {link.name}, std::move(why)});
  const devlink::Port* const port = devlink_map::port_of(devices, link);
  for (const RowId row : devlink_map::devlink_rows()) {
    if (row == kSetting) continue;  // by name, below
    std::string why = port == nullptr ? devlink_map::why_no_device(devices, link)
                                      : devlink_map::lacking(row, devices, *port);
    if (!why.empty()) out.push_back({row, {link.name}, std::move(why)});
  }
  const bool has_parameters = port != nullptr && devlink_map::lacking(kParameter, devices, *port).empty();
  for (const Path& one : named) {
    if (one.key_count() < 2 || one.key(0) != link.name) continue;
    if (one.row() == kSetting)
      if (auto why = why_by_hand(link, devices, one.key(1), firmware)) out.push_back(*std::move(why));
    if (one.row() != kParameter || !has_parameters) continue;
    std::string why = devlink_map::why_no_parameter(devices, port->device, one.key(1));
    if (!why.empty()) out.push_back({kParameter, {link.name, std::string(one.key(1))}, std::move(why)});
  }
}

std::vector<Incapable> DevlinkPart::incapable(const Scope& scope, const std::vector<Link>& links,
                                              const Call& call) {
  std::vector<Incapable> out;
  Devices devices;
  auto client = Client::open(call);
  const auto ports = client ? client->ports(call) : client.error();
  if (ports) devices.ports = *ports;
  const std::set<RowId> unread = devlink_map::unreadable(
      [&](RowId row) { return ports ? devlink_map::read_row(row, *client, devices, call) : ports.error(); },
      out);
  // A kernel without devlink does not make settings unsupported as a whole: NVIDIA's tool may have them, so
  // each is reported separately.
  const bool has_no_settings =
      std::erase_if(out, [](const Incapable& one) { return one.row == kSetting; }) != 0;
  remember(devices, links);
  std::vector<Incapable> by_port;
  Firmware firmware(files_, call);
  for (const Link& link : links) incapable_of(link, devices, scope.named, firmware, by_port);
  for (Incapable& one : by_port)
    if (!unread.contains(one.row) || (one.row == kSetting && has_no_settings)) out.push_back(std::move(one));
  return out;
}

void DevlinkPart::read_devlink(const Scope& scope, const std::vector<Link>& links, Devices& devices,
                               TreeBuilder& tree, std::vector<Unread>& unread, const Call& call) {
  auto client = Client::open(call);
  for (const RowId row : devlink_map::devlink_rows()) {
    if (!scope.wants(row)) continue;
    auto got = client ? devlink_map::read_row(row, *client, devices, call) : client.error();
    if (!got) {
      // incapable() reports rows that the kernel does not support.
      if (got.error().kind != ErrorKind::unsupported) unread.push_back({row, {}, std::move(got.error())});
      continue;
    }
    for (const Link& link : links)
      if (const devlink::Port* const port = devlink_map::port_of(devices, link))
        for (const Entry& entry : devlink_map::entries(row, link.name, devices, *port))
          tree.add(entry.path, entry.value);
  }
}

void DevlinkPart::read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
                       std::vector<Unread>& unread, const Call& call) {
  const std::vector<RowId> rows = reads();
  if (std::ranges::none_of(rows, [&](RowId row) { return scope.wants(row); })) return;
  auto devices = read_ports(call);
  if (!devices) {
    for (const RowId row : rows)
      if (scope.wants(row)) unread.push_back({row, {}, devices.error()});
    return;
  }
  if (!devices->ports.empty()) read_devlink(scope, links, *devices, tree, unread, call);
  const auto is_whole_row = [](const Unread& one) { return one.row == kSetting && one.keys.empty(); };
  if (scope.wants(kSetting) && std::ranges::none_of(unread, is_whole_row)) {
    Firmware firmware(files_, call);
    read_stored(scope, links, *devices, firmware, tree, unread);
  }
  remember(*devices, links);
  if (!scope.wants(kVirtualFunctions)) return;
  for (const Link& link : links) {
    if (!why_no_functions(*devices, link).empty()) continue;
    auto count = functions_of(link)->count();
    if (count)
      tree.add(Path(kVirtualFunctions, {link.name}), Value::integer(*count));
    else
      unread.push_back({kVirtualFunctions, {link.name}, std::move(count.error())});
  }
}

Result<Handle> DevlinkPart::device_of(std::string_view port, const std::vector<Link>& links, Client& client,
                                      const Call& call) const {
  const auto link = std::ranges::find(links, port, &Link::name);
  if (link == links.end()) {
    if (auto known = remembered(port)) return *std::move(known);
    return no_interface(port);
  }
  Devices devices;
  TRY(devices.ports, client.ports(call));
  if (const devlink::Port* const found = devlink_map::port_of(devices, *link)) return found->device;
  return Error{ErrorKind::unsupported, std::string(port) + ": " + devlink_map::why_no_device(devices, *link)};
}

Result<Done> DevlinkPart::set_functions(const Change& change, const std::vector<Link>& links,
                                        const Call& call) const {
  const auto link = std::ranges::find(links, change.path.key(0), &Link::name);
  if (link == links.end()) return no_interface(change.path.key(0));
  TRY(const Devices devices, read_ports(call));
  if (std::string why = why_no_functions(devices, *link); !why.empty())
    return Error{ErrorKind::unsupported, change.path.text() + ": " + why};
  const std::int64_t count = change.want.kind() == Value::Kind::integer ? change.want.as_integer() : -1;
  if (count < 0 || count > UINT16_MAX)  // u16 in drivers/pci/iov.c
    return Error{ErrorKind::invalid_spec,
                 change.path.text() + " takes a count, not " + change.want.to_string()};
  const devlink::Port* const port = devlink_map::port_of(devices, *link);
  if (port == nullptr) return functions_of(*link)->set(static_cast<std::uint32_t>(count));
  TRY(Client client, Client::open(call));
  return DeviceChange(client, files_, port->device, call)
      .set_virtual_functions(static_cast<std::uint32_t>(count));
}

// Changes of one row and port.
Answers DevlinkPart::set(std::span<const Change> changes, const std::vector<Link>& links,
                         const Call& call) const {
  if (changes.front().path.row() == kVirtualFunctions) {
    auto result = set_functions(changes.front(), links, call);
    return {result ? std::optional<Error>() : std::move(result.error())};
  }
  auto client = Client::open(call);
  if (!client) return Answers(changes.size(), client.error());
  auto device = device_of(changes.front().path.key(0), links, *client, call);
  if (!device) return Answers(changes.size(), device.error());
  DeviceChange to(*client, files_, *std::move(device), call);
  return devlink_map::write(to, changes);
}

Answers DevlinkPart::apply(const ChangeSet& changes, const std::vector<Link>& links, const Call& call) {
  Answers out;
  const std::span<const Change> all(changes);
  Result<std::vector<Link>> now = links;
  while (out.size() < all.size()) {
    const std::span<const Change> rest = all.subspan(out.size());
    // A change may have recreated ports, with other indices.
    if (!out.empty()) now = read_links_anew(call);
    if (now && call.must_end(std::chrono::steady_clock::now()))
      now = call.stop.stop_requested() ? Error{ErrorKind::cancelled, "not attempted: asked to stop"}
                                       : Error{ErrorKind::transient, "not attempted: the deadline passed"};
    if (!now) {
      out.resize(all.size(), now.error());
      break;
    }
    std::size_t run = 1;
    if (rest.front().path.row() == kParameter)  // one port: one reload
      while (run < rest.size() && rest[run].path.row() == kParameter &&
             rest[run].path.key(0) == rest.front().path.key(0))
        ++run;
    for (auto& answer : set(rest.first(run), *now, call)) out.push_back(std::move(answer));
  }
  return out;
}

std::string DevlinkPart::native(const Change& change) const {
  const std::optional<Handle> device = remembered(change.path.key(0));
  const std::lock_guard lock(mutex_);
  const devlink::Parameter* const parameter =
      device && change.path.row() == kParameter
          ? devlink_map::find(known_.parameters, *device, change.path.key(1))
          : nullptr;
  return devlink_map::native(change, device ? &*device : nullptr, parameter);
}

}  // namespace

std::unique_ptr<LinuxPart> make_devlink_part(const LinuxTarget& target) {
  return std::make_unique<DevlinkPart>(target);
}

}  // namespace lockstep
