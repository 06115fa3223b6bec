#include <algorithm>

#include "specs/compile/compilation.hpp"
#include "specs/compile/firmware_settings.hpp"
#include "specs/fabric/codes.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Adds entries of one profile under its own name.
struct Profile {
  Compilation& c;
  ClaimantId who;
  ClassEntries& out;

  template <class T, class V>
  void add(Path path, const Said<T>& field, V value, std::string_view rule) {
    if (field.said) out.list.add(path, value, c.origins.of(who, field, rule));
  }

  void add_kernel(const Kernel& kernel) {
    for (const Said<std::string>& module : kernel.modules)
      add(Path(row("kernel/module[*]"), {*module}), module, Value::present(), "kernel.modules");
    for (const Said<std::string>& parameter : kernel.parameters)
      add(Path(row("kernel/parameter[*]"), {*parameter}), parameter, Value::present(), "kernel.parameters");
    add(Path(row("kernel/version"), {}), kernel.version, std::string_view(entry_text(*kernel.version)),
        "kernel.version");
  }

  void add_gpu(const Gpu& gpu) {
    add(Path(row("gpu/count"), {}), gpu.count, std::uint64_t{*gpu.count}, "gpu.count");
    add(Path(row("gpu/direct[*]"), {to_string(*gpu.direct)}), gpu.direct, "ready", "gpu.direct");
    add(Path(row("gpu/driver"), {}), gpu.driver, std::string_view(entry_text(*gpu.driver)), "gpu.driver");
    add(Path(row("gpu/ecc"), {}), gpu.ecc, *gpu.ecc, "gpu.ecc");
    if (*gpu.nic_affinity != NicAffinity::none)  // `none` requires nothing
      add(Path(row("gpu/nic-affinity"), {}), gpu.nic_affinity, to_string(*gpu.nic_affinity),
          "gpu.nicAffinity");
    add(Path(row("gpu/persistence"), {}), gpu.persistence, *gpu.persistence, "gpu.persistence");
  }

  void add_nics(const Nic& nic) {
    const auto named = expand_hostlist(*nic.ports);
    bool any = false;
    for (const TopologyPort& port : c.topology.ports_of(out.example)) {
      if (port.entry == kNone) continue;
      if (nic.ports.said && named && std::find(named->begin(), named->end(), port.name) == named->end())
        continue;
      any = true;
      add_nic(nic, port.name);
      check_firmware_settings(c, nic, port.platform);
    }
    if (any || !nic.ports.said) return;
    c.warn(fabric_code::selects_nothing, nic.ports.at,
           "no interface of " + c.topology.devices[out.example].name + " is one of " + *nic.ports,
           "name interfaces that its DeviceSet lists");
  }

  void add_nic(const Nic& nic, std::string_view port) {
    const auto number = [&](RowId one, std::string_view key, const Said<std::uint32_t>& field,
                            std::string_view rule) {
      add(Path(one, {port, key}), field, std::uint64_t{*field}, rule);
    };
    add(Path(row("interface[*]/autoneg"), {port}), nic.autoneg, *nic.autoneg, "nic.autoneg");
    add(Path(row("interface[*]/fec"), {port}), nic.fec, to_string(*nic.fec), "nic.fec");
    number(row("interface[*]/ring[*]"), "rx", nic.rings->rx, "nic.rings.rx");
    number(row("interface[*]/ring[*]"), "tx", nic.rings->tx, "nic.rings.tx");
    number(row("interface[*]/channels[*]"), "combined", nic.channels->combined, "nic.channels.combined");
    number(row("interface[*]/channels[*]"), "rx", nic.channels->rx, "nic.channels.rx");
    number(row("interface[*]/channels[*]"), "tx", nic.channels->tx, "nic.channels.tx");
    add_coalescing(*nic.coalescing, port);
    // In a twin the Fabric claims them: segmentation offload would hide an MTU fault there.
    if (!c.twin)
      for (const auto& [name, on] : nic.offloads)
        add(Path(row("interface[*]/offload[*]"), {port, *name}), on, *on, "nic.offloads");
    for (const auto& [name, value] : nic.parameters)
      add(Path(row("interface[*]/parameter[*]"), {port, *name}), value, std::string_view(value->text),
          "nic.parameters");
    for (const auto& [name, value] : nic.settings)
      add(Path(row("interface[*]/setting[*]"), {port, *name}), value, std::string_view(value->text),
          "nic.settings");
    if (*nic.health) add(Path(row("interface[*]/health"), {port}), nic.health, "healthy", "nic.health");
    add_virtual_functions(*nic.virtual_functions, port);
  }

  void add_coalescing(const NicCoalescing& said, std::string_view port) {
    const auto adaptive = [&](std::string_view key, const Said<bool>& field, std::string_view rule) {
      add(Path(row("interface[*]/coalescing/adaptive[*]"), {port, key}), field, *field, rule);
    };
    const auto time = [&](std::string_view key, const Said<Duration>& field, std::string_view rule) {
      const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(*field);
      add(Path(row("interface[*]/coalescing/time[*]"), {port, key}), field,
          static_cast<std::uint64_t>(whole.count()), rule);
    };
    const auto frames = [&](std::string_view key, const Said<std::uint32_t>& field, std::string_view rule) {
      add(Path(row("interface[*]/coalescing/frames[*]"), {port, key}), field, std::uint64_t{*field}, rule);
    };
    adaptive("rx", said.adaptive_rx, "nic.coalescing.adaptiveRx");
    adaptive("tx", said.adaptive_tx, "nic.coalescing.adaptiveTx");
    time("rx", said.rx_time, "nic.coalescing.rxTime");
    time("tx", said.tx_time, "nic.coalescing.txTime");
    frames("rx", said.rx_frames, "nic.coalescing.rxFrames");
    frames("tx", said.tx_frames, "nic.coalescing.txFrames");
  }

  void add_virtual_functions(const VirtualFunctions& said, std::string_view port) {
    add(Path(row("interface[*]/virtual-functions"), {port}), said.count, std::uint64_t{*said.count},
        "nic.virtualFunctions.count");
    add(Path(row("interface[*]/eswitch"), {port}), said.eswitch, to_string(*said.eswitch),
        "nic.virtualFunctions.eswitch");
    if (!said.max_rate.said) return;
    for (std::uint32_t i = 0; i < *said.count; ++i)
      add(Path(row("interface[*]/virtual-function[*]/max-rate"), {port, std::to_string(i)}), said.max_rate,
          said.max_rate->bits_per_second, "nic.virtualFunctions.maxRate");
  }
};

}  // namespace

void add_host_entries(Compilation& c, std::size_t index, ClassEntries& out) {
  const HostProfile& said = c.catalog.host_profiles[index];
  Profile profile{c, c.host_profiles[index], out};
  profile.add(Path(row("cpu/governor"), {}), said.cpu->governor, to_string(*said.cpu->governor),
              "cpu.governor");
  profile.add(Path(row("cpu/irq-affinity"), {}), said.cpu->irq_affinity, to_string(*said.cpu->irq_affinity),
              "cpu.irqAffinity");
  for (const auto& [name, version] : said.firmware)
    profile.add(Path(row("firmware[*]"), {*name}), version, std::string_view(entry_text(*version)),
                "firmware");
  profile.add_gpu(*said.gpu);
  profile.add_kernel(*said.kernel);
  profile.add_nics(*said.nic);
  profile.add(Path(row("memlock"), {}), said.memlock, std::string_view(entry_text(*said.memlock)), "memlock");
  for (const auto& [name, version] : said.packages)
    profile.add(Path(row("package[*]"), {*name}), version, std::string_view(entry_text(*version)),
                "packages");
  profile.add(Path(row("pcie/acs"), {}), said.pcie->acs, *said.pcie->acs == OnOff::on, "pcie.acs");
  profile.add(Path(row("pcie/max-read-request"), {}), said.pcie->max_read_request,
              std::uint64_t{*said.pcie->max_read_request}, "pcie.maxReadRequest");
  for (const auto& [name, state] : said.services)
    profile.add(Path(row("service[*]"), {*name}), state, to_string(*state), "services");
  for (const auto& [name, value] : said.sysctl)
    profile.add(Path(row("sysctl[*]"), {*name}), value, std::string_view(value->text), "sysctl");
}

std::uint32_t gpus_of(const Intent& intent) {
  const Entry* const count = intent.want.find(Path(row("gpu/count"), {}));
  return count == nullptr ? 0 : static_cast<std::uint32_t>(count->value.as_integer());
}

}  // namespace lockstep
