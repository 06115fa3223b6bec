// HostProfile: how a host must be set up: kernel, firmware, packages, services, GPUs, NUMA and IRQ affinity.
#pragma once

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
struct Gpu {
  Said<std::uint32_t> count;
  Said<bool> persistence;
  Said<bool> ecc;
  Said<VersionRule> driver;
  Said<NicAffinity> nic_affinity;
};

struct HostProfile : Object {
  Said<Selector> selector;
  Entries<Literal> sysctl;
  Said<Memlock> memlock;
  Said<Kernel> kernel;
  Said<Cpu> cpu;
  Said<Pcie> pcie;
  Entries<VersionRule> packages;
  Entries<VersionRule> firmware;
  Entries<ServiceState> services;
  Said<Gpu> gpu;
};

}  // namespace lockstep
