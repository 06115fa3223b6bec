#include "drivers/linux/devlink/device_change.hpp"

#include <linux/devlink.h>

#include <algorithm>
#include <charconv>

#include "drivers/linux/bit_rate.hpp"
#include "drivers/linux/devlink/attempts.hpp"
#include "drivers/posix/wait.hpp"

namespace lockstep::devlink_map {
namespace {

using devlink::Parameter;
using devlink::Port;
using devlink::Rate;

// Arbitrary: udev names a new port within milliseconds; a NIC's firmware starts in seconds.
constexpr std::chrono::seconds kBack{20};
constexpr std::chrono::milliseconds kPoll{20};

Error differs(const Change& change, const std::string& now) {
  return Error{ErrorKind::refused,
               change.path.text() + ": the device took " + change.want.to_string() + " and has " + now};
}

}  // namespace

Result<std::vector<Port>> DeviceChange::ports() {
  TRY(auto out, client_.ports(call_));
  std::erase_if(out, [&](const Port& one) { return one.device != device_; });
  return out;
}

Result<std::vector<Parameter>> DeviceChange::parameters() {
  TRY(auto out, client_.parameters(call_));
  std::erase_if(out, [&](const Parameter& one) { return one.device != device_; });
  return out;
}

Result<std::map<std::uint16_t, std::uint64_t>> DeviceChange::rates() {
  std::map<std::uint16_t, std::uint64_t> out;
  const auto all = client_.rates(call_);
  if (!all && all.error().kind == ErrorKind::unsupported) return out;  // no rates before 5.14
  if (!all) return all.error();
  TRY(const auto known, ports());
  for (const Rate& rate : *all) {
    if (rate.device != device_ || !rate.port || rate.max == 0) continue;
    for (const Port& port : known)
      if (port.index == *rate.port && port.virtual_function) out.emplace(*port.virtual_function, rate.max);
  }
  return out;
}

Result<DeviceChange::Kept> DeviceChange::keep() {
  Kept out;
  if (functions_.exist()) {
    TRY(out.functions, functions_.count());
  }
  TRY(out.eswitch, client_.eswitch(device_, call_));
  TRY(out.rates, rates());
  TRY(const auto known, ports());
  std::vector<std::string> netdevs;
  for (const Port& port : known) {
    if (port.virtual_function || port.netdev_name.empty()) continue;
    out.ports.push_back(port);
    netdevs.push_back(port.netdev_name);
  }
  TRY(out.network, PortNetwork::of(netdevs, call_));
  return out;
}

Result<bool> DeviceChange::await(const std::vector<Port>& before) {
  const Time until = std::min(call_.deadline, std::chrono::steady_clock::now() + kBack);
  for (;;) {
    TRY(const auto known, ports());
    bool anew = false;
    std::string missing;
    for (const Port& port : before) {
      const auto now = std::ranges::find(known, port.netdev_name, &Port::netdev_name);
      if (now == known.end())
        missing += (missing.empty() ? "" : ", ") + port.netdev_name;
      else
        anew = anew || now->netdev != port.netdev;
    }
    if (missing.empty()) return anew;
    if (std::chrono::steady_clock::now() >= until || !pause(kPoll, call_))
      return Error{ErrorKind::refused,
                   device_.text() + " made its ports anew, and not all are back by name: " + missing};
  }
}

Result<Done> DeviceChange::put_back_mode(const devlink::Eswitch& kept) {
  TRY(const auto now, client_.eswitch(device_, call_));
  if (!kept.mode || now.mode == kept.mode) return Done{};
  return client_.set_eswitch(device_, *kept.mode, call_);
}

Result<Done> DeviceChange::put_back_rates(const std::map<std::uint16_t, std::uint64_t>& kept) {
  TRY(const auto known, ports());
  Attempts all;
  for (const Port& port : known) {
    const auto rate = port.virtual_function ? kept.find(*port.virtual_function) : kept.end();
    if (rate != kept.end()) all.add(client_.set_rate(device_, port.index, rate->second, call_));
  }
  return all.outcome();
}

Result<Done> DeviceChange::put_back(const Kept& kept) {
  Attempts all;
  const auto anew = await(kept.ports);
  all.add(anew);
  if (!anew || *anew) all.add(kept.network.put_back(call_));
  if (kept.functions) all.add(functions_.set(*kept.functions));
  all.add(put_back_mode(kept.eswitch));
  all.add(put_back_rates(kept.rates));
  return all.outcome();
}

Value DeviceChange::value_in(const std::vector<Parameter>& all, const Change& change) const {
  const Parameter* const found = find(all, device_, change.path.key(1));
  return found == nullptr || found->values.empty() ? Value{}
                                                   : Value::text(found->values.at(cmode_of(*found)));
}

// Returns the mode in which it was set.
Result<std::uint8_t> DeviceChange::set_parameter(const Change& change, const std::vector<Parameter>& all) {
  const std::string_view name = change.path.key(1);
  Devices devices;
  devices.parameters = all;
  if (std::string why = why_no_parameter(devices, device_, name); !why.empty())
    return Error{ErrorKind::unsupported, change.path.text() + ": " + why};
  if (change.want.kind() != Value::Kind::text)
    return Error{ErrorKind::invalid_spec, change.path.text() + ": a device has its parameters for good"};
  const Parameter& parameter = *find(all, device_, name);
  const std::uint8_t cmode = cmode_of(parameter);
  TRY_DONE(client_.set_parameter(parameter, cmode, change.want.as_text(), call_));
  return cmode;
}

// `pending`: indices of the changes that take effect at the reload.
void DeviceChange::reload(std::span<const Change> changes, const std::vector<std::size_t>& pending,
                          const std::vector<Parameter>& before, Answers& out) {
  const auto fail = [&](const Error& why) {
    for (const std::size_t at : pending) out[at] = why;
  };
  const auto kept = keep();
  const auto reloaded = kept ? client_.reload(device_, call_) : kept.error();
  if (reloaded) {
    if (const auto back = put_back(*kept); !back) fail(back.error());
    return;
  }
  fail(reloaded.error());
  for (const std::size_t at : pending) {
    const Parameter& was = *find(before, device_, changes[at].path.key(1));
    const auto back = client_.set_parameter(was, cmode_of(was), was.values.at(cmode_of(was)), call_);
    if (!back) out[at]->what += "; and " + back.error().what;
  }
}

Answers DeviceChange::set_parameters(std::span<const Change> changes) {
  const auto before = parameters();
  if (!before) return Answers(changes.size(), before.error());
  const auto known = ports();
  if (!known) return Answers(changes.size(), known.error());
  Answers out(changes.size());
  std::vector<std::size_t> pending;
  for (std::size_t at = 0; at < changes.size(); ++at) {
    // Already set through another port of the device. If a device has no ports, a reload failed halfway and
    // it needs another one.
    const Value have = value_in(*before, changes[at]);
    if (!known->empty() && have != Value{} && have == changes[at].want) continue;
    auto cmode = set_parameter(changes[at], *before);
    if (!cmode)
      out[at] = std::move(cmode.error());
    else if (*cmode == DEVLINK_PARAM_CMODE_DRIVERINIT)
      pending.push_back(at);
  }
  if (!pending.empty()) reload(changes, pending, *before, out);
  const auto after = parameters();
  for (std::size_t at = 0; at < changes.size(); ++at) {
    if (out[at]) continue;
    if (!after) {
      out[at] = after.error();
      continue;
    }
    const Value have = value_in(*after, changes[at]);
    if (have != changes[at].want) out[at] = differs(changes[at], have.to_string());
  }
  return out;
}

Result<Done> DeviceChange::set_eswitch(const Change& change) {
  const auto mode = change.want.kind() == Value::Kind::text ? devlink::eswitch_of(change.want.as_text())
                                                            : std::optional<std::uint16_t>();
  if (!mode)
    return Error{ErrorKind::invalid_spec,
                 change.path.text() + " takes legacy or switchdev, not " + change.want.to_string()};
  TRY(Kept kept, keep());
  auto set = client_.set_eswitch(device_, *mode, call_);
  if (set) kept.eswitch.mode = mode;
  auto back = put_back(kept);
  if (!set) return set;
  if (!back) return back;
  TRY(const auto now, client_.eswitch(device_, call_));
  if (now.mode == mode) return Done{};
  return differs(change, now.mode ? devlink::eswitch_words(*now.mode) : now.why_none);
}

Result<Done> DeviceChange::set_rate(std::uint16_t function, std::uint64_t bytes_per_second) {
  TRY(const auto known, ports());
  const auto port = std::ranges::find(known, std::optional(function), &Port::virtual_function);
  if (port != known.end()) return client_.set_rate(device_, port->index, bytes_per_second, call_);
  TRY(const auto eswitch, client_.eswitch(device_, call_));
  return Error{ErrorKind::unsupported,
               device_.text() + " has no port of virtual function " + std::to_string(function) +
                   (eswitch.mode ? ", in eswitch mode " + devlink::eswitch_words(*eswitch.mode) : "")};
}

Result<Done> DeviceChange::set_max_rate(const Change& change) {
  const std::string_view key = change.path.key(1);
  std::uint16_t function = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), function);
  if (code != std::errc() || end != key.data() + key.size())
    return Error{ErrorKind::invalid_spec, change.path.text() + ": no number of a virtual function"};
  const bool none = change.want == Value{};
  const bool whole = none || (change.want.kind() == Value::Kind::integer && change.want.as_integer() >= 0);
  const std::uint64_t bits = none || !whole ? 0 : static_cast<std::uint64_t>(change.want.as_integer());
  if (!whole || bits % kBitsPerByte != 0)
    return Error{ErrorKind::invalid_spec, change.path.text() + ": devlink has whole bytes a second, and " +
                                              change.want.to_string() + " bit/s is none"};
  const std::uint64_t wanted = bits / kBitsPerByte;
  TRY_DONE(set_rate(function, wanted));
  TRY(const auto now, rates());
  const auto found = now.find(function);
  const std::uint64_t have = found == now.end() ? 0 : found->second;
  if (have == wanted) return Done{};
  return differs(change, std::to_string(bit_rate(have, kBitsPerByte)));
}

Result<Done> DeviceChange::set_virtual_functions(std::uint32_t count) {
  TRY(Kept kept, keep());
  const auto set = functions_.set(count);
  if (set) kept.functions = count;
  const auto back = put_back(kept);
  return set ? back : set;
}

}  // namespace lockstep::devlink_map
