// HostProfile: how a host must be set up: kernel, firmware, packages, services, GPUs, NUMA and IRQ affinity,
// and its NICs.
#pragma once

#include "specs/language/device_set.hpp"
#include "specs/language/object.hpp"

namespace lockstep {

enum class Governor : std::uint8_t { performance, powersave, schedutil, ondemand, conservative };
constexpr auto words(Governor) {
  return std::to_array<std::string_view>(
      {"performance", "powersave", "schedutil", "ondemand", "conservative"});
}

enum class IrqAffinity : std::uint8_t { numa_local, spread, none };
constexpr auto words(IrqAffinity) {
  return std::to_array<std::string_view>({"numa-local", "spread", "none"});
}

enum class OnOff : std::uint8_t { off, on };
constexpr auto words(OnOff) { return std::to_array<std::string_view>({"off", "on"}); }

enum class ServiceState : std::uint8_t { running, stopped, disabled };
constexpr auto words(ServiceState) {
  return std::to_array<std::string_view>({"running", "stopped", "disabled"});
}

enum class NicAffinity : std::uint8_t { nearest, none };
constexpr auto words(NicAffinity) { return std::to_array<std::string_view>({"nearest", "none"}); }

// `unlimited` or an amount.
struct Memlock {
  bool unlimited = false;
  ByteCount limit;
  auto operator<=>(const Memlock&) const = default;
};

// ">=44", "550.54", "1.2-3": an operator (== where none is written) and a version.
struct VersionRule {
  enum class Compare : std::uint8_t { equal, at_least, at_most, above, below };
  Compare compare = Compare::equal;
  std::string version;
  auto operator<=>(const VersionRule&) const = default;
};

// A kernel parameter's value as drivers compare it: words separated by one blank.
struct SysctlValue {
  std::string text;
  auto operator<=>(const SysctlValue&) const = default;
};

struct Kernel {
  Said<VersionRule> version;
  std::vector<Said<std::string>> parameters;  // of the kernel command line
  std::vector<Said<std::string>> modules;     // loaded at boot
};
struct Cpu {
  Said<Governor> governor;
  Said<IrqAffinity> irq_affinity;
};
struct Pcie {
  Said<std::uint32_t> max_read_request;  // bytes: 128 .. 4096, a power of two (PCIe Base 7.5.3.4)
  Said<OnOff> acs;
};
// How an RDMA NIC accesses a GPU's memory (GPUDirect RDMA).
enum class GpuDirect : std::uint8_t { dmabuf, peermem, any };
constexpr auto words(GpuDirect) { return std::to_array<std::string_view>({"dmabuf", "peermem", "any"}); }

struct Gpu {
  Said<std::uint32_t> count;
  Said<bool> persistence;
  Said<bool> ecc;
  Said<VersionRule> driver;
  Said<NicAffinity> nic_affinity;
  Said<GpuDirect> direct;
};

enum class Eswitch : std::uint8_t { legacy, switchdev };
constexpr auto words(Eswitch) { return std::to_array<std::string_view>({"legacy", "switchdev"}); }

// Descriptors in each queue of a NIC (ethtool -g).
struct NicRings {
  Said<std::uint32_t> rx;
  Said<std::uint32_t> tx;
};
// Queues; a combined one receives and sends (ethtool -l).
struct NicChannels {
  Said<std::uint32_t> combined;
  Said<std::uint32_t> rx;
  Said<std::uint32_t> tx;
};
// When an interrupt is raised: after this many frames or this long (ethtool -c).
struct NicCoalescing {
  Said<bool> adaptive_rx;
  Said<bool> adaptive_tx;
  Said<Duration> rx_time;
  Said<Duration> tx_time;
  Said<std::uint32_t> rx_frames;
  Said<std::uint32_t> tx_frames;
};
struct VirtualFunctions {
  Said<std::uint32_t> count;
  Said<Eswitch> eswitch;
  Said<BitRate> max_rate;  // of each
};
struct Nic {
  Said<std::string> ports;  // a hostlist; unset: every interface that the DeviceSet lists
  Said<Fec> fec;
  Said<bool> autoneg;
  Said<NicRings> rings;
  Said<NicChannels> channels;
  Said<NicCoalescing> coalescing;
  MapEntries<bool> offloads;  // by ethtool's name
  Said<VirtualFunctions> virtual_functions;
  MapEntries<Literal> parameters;  // of devlink, by name
  MapEntries<Literal> settings;    // of the firmware, by the vendor's name
  Said<bool> health;               // devlink's health reporters must be healthy
};

struct HostProfile : Object {
  Said<Selector> selector;
  MapEntries<SysctlValue> sysctl;
  Said<Memlock> memlock;
  Said<Kernel> kernel;
  Said<Cpu> cpu;
  Said<Pcie> pcie;
  MapEntries<VersionRule> packages;
  MapEntries<VersionRule> firmware;
  MapEntries<ServiceState> services;
  Said<Gpu> gpu;
  Said<Nic> nic;
};

// As stored in entries: "unlimited" or bytes; ">=44", "==550.54".
std::string entry_text(const Memlock& value);
std::string entry_text(const VersionRule& value);

}  // namespace lockstep
