// The field tables of HostProfile, and the rules between its fields.
#include "specs/language/host_profile.hpp"

#include <map>

#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr Field kernel_fields[] = {
    field<&Kernel::version>("version", "the kernel's version, such as >=6.1"),
    field<&Kernel::parameters>("parameters", "of the kernel command line; they take effect at the next boot",
                               {.form = Form::kernel_parameter}),
    field<&Kernel::modules>("modules", "loaded at boot", {.form = Form::name}),
};
constexpr Field cpu_fields[] = {
    field<&Cpu::governor>("governor", "the frequency governor"),
    field<&Cpu::irq_affinity>("irqAffinity",
                              "CPUs that serve NICs' interrupts: of the NIC's own NUMA node, spread over "
                              "all, or none in particular"),
};
constexpr Field pcie_fields[] = {
    field<&Pcie::max_read_request>("maxReadRequest", "largest read request, bytes, a power of two",
                                   {.least = 128, .most = 4096, .why = "PCIe Base 7.5.3.4 (device control)"}),
    field<&Pcie::acs>("acs", "access control services: off lets peers talk past the root complex"),
};
constexpr Field gpu_fields[] = {
    field<&Gpu::count>("count", "GPUs in the host", {.least = 1, .most = 64, .why = "no host holds more"}),
    field<&Gpu::persistence>("persistence", "keep the driver loaded"),
    field<&Gpu::ecc>("ecc", "memory error correction"),
    field<&Gpu::driver>("driver", "the driver's version, such as >=550"),
    field<&Gpu::nic_affinity>("nicAffinity", "which NIC a GPU uses"),
    field<&Gpu::direct>("direct",
                        "how RDMA NICs reach GPUs' memory: dmabuf, peermem, or any of them is ready"),
};
constexpr Limits queue_limits{.least = 1, .most = 65535, .why = "no NIC has more queues or descriptors"};
constexpr Limits frame_limits{.least = 0, .most = 65535, .why = "what drivers take"};
constexpr Field nic_rings_fields[] = {
    field<&NicRings::rx>("rx", "descriptors of each receive queue", queue_limits),
    field<&NicRings::tx>("tx", "descriptors of each send queue", queue_limits),
};
constexpr Field nic_channels_fields[] = {
    field<&NicChannels::combined>("combined", "queues that receive and send", queue_limits),
    field<&NicChannels::rx>("rx", "queues that only receive", queue_limits),
    field<&NicChannels::tx>("tx", "queues that only send", queue_limits),
};
constexpr Field nic_coalescing_fields[] = {
    field<&NicCoalescing::adaptive_rx>("adaptiveRx", "the driver chooses for received frames"),
    field<&NicCoalescing::adaptive_tx>("adaptiveTx", "the driver chooses for sent frames"),
    field<&NicCoalescing::rx_time>("rxTime", "how long a received frame may wait for its interrupt"),
    field<&NicCoalescing::tx_time>("txTime", "how long a sent frame may wait for its interrupt"),
    field<&NicCoalescing::rx_frames>("rxFrames", "received frames that raise an interrupt", frame_limits),
    field<&NicCoalescing::tx_frames>("txFrames", "sent frames that raise an interrupt", frame_limits),
};
constexpr Field virtual_functions_fields[] = {
    field<&VirtualFunctions::count>(
        "count", "how many each port has (SR-IOV); 0: none",
        {.least = 0, .most = 65535, .why = "PCIe Base 9.3.3.6: NumVFs has 16 bits"}),
    field<&VirtualFunctions::eswitch>("eswitch", "what joins them to the port"),
    field<&VirtualFunctions::max_rate>("maxRate", "upper bound of each, in switchdev mode",
                                       {.least = 8,
                                        .range = "8bps or more",
                                        .why = "the kernel counts bytes, and 0 is no bound (devlink-rate(8))",
                                        .pattern = "^(?!0*[0-7]?([.][0-9]*)?bps$)"}),
};
constexpr Field nic_fields[] = {
    field<&Nic::ports>("ports", "the interfaces, a hostlist",
                       {.form = Form::hostlist, .otherwise = "every interface that the DeviceSet lists"}),
    field<&Nic::fec>("fec", "forward error correction"),
    field<&Nic::autoneg>("autoneg", "link autonegotiation"),
    field<&Nic::rings>("rings", "descriptors of queues"),
    field<&Nic::channels>("channels", "queues"),
    field<&Nic::coalescing>("coalescing", "when an interrupt is raised"),
    field<&Nic::offloads>("offloads", "offloads by ethtool's name, such as tso, gro, lro",
                          {.key = Form::word}),
    field<&Nic::virtual_functions>("virtualFunctions", "SR-IOV"),
    field<&Nic::parameters>("parameters", "devlink parameters by name, such as enable_roce",
                            {.form = Form::scalar, .key = Form::word}),
    field<&Nic::settings>(
        "settings",
        "settings of the firmware by the vendor's name, such as ROCE_ADAPTIVE_ROUTING_EN; in "
        "force from its next reset or boot on",
        {.form = Form::scalar, .key = Form::word}),
    field<&Nic::health>("health", "true: every devlink health reporter is to be healthy, and is recovered"),
};
constexpr Field fields[] = {
    field<&HostProfile::selector>("selector", "the hosts; {} is all", {.required = true}),
    field<&HostProfile::sysctl>("sysctl",
                                "kernel parameters; what several rails need follows from the Fabric",
                                {.key = Form::sysctl}),
    field<&HostProfile::memlock>("memlock", "memory that a process may lock"),
    field<&HostProfile::kernel>("kernel", "the kernel, its parameters and modules"),
    field<&HostProfile::cpu>("cpu", "frequency and interrupts"),
    field<&HostProfile::pcie>("pcie", "PCI Express settings"),
    field<&HostProfile::packages>("packages", "packages and their versions, such as \">=44\"",
                                  {.key = Form::word}),
    field<&HostProfile::firmware>("firmware", "firmware versions by platform", {.key = Form::word}),
    field<&HostProfile::services>(
        "services", "services: running (and started at boot), stopped (until the next boot) or disabled",
        {.key = Form::word}),
    field<&HostProfile::gpu>("gpu", "GPU settings"),
    field<&HostProfile::nic>("nic", "settings of its NICs"),
};

void check_pcie(const Pcie& pcie, Span, Reporter& reporter) {
  if (!pcie.max_read_request.said) return;
  const std::uint32_t bytes = *pcie.max_read_request;
  if ((bytes & (bytes - 1)) != 0)
    reporter.error(code::out_of_range, {pcie.max_read_request.at, 1},
                   "'" + std::to_string(bytes) + "' is not a power of two",
                   "128, 256, 512, 1024, 2048 or 4096");
}

// The kernel takes whole microseconds (ETHTOOL_A_COALESCE_RX_USECS).
void check_microseconds(const Said<Duration>& time, Reporter& reporter) {
  using std::chrono::microseconds;
  const auto whole = std::chrono::duration_cast<microseconds>(*time);
  if (!time.said || (whole == *time && whole.count() <= 65535)) return;
  reporter.error(code::out_of_range, {time.at, 1}, in_quotes(format(*time)) + " can't be set",
                 "whole microseconds, up to 65535us");
}

void check_coalescing(const NicCoalescing& coalescing, Span, Reporter& reporter) {
  check_microseconds(coalescing.rx_time, reporter);
  check_microseconds(coalescing.tx_time, reporter);
}

void check_virtual_functions(const VirtualFunctions& said, Span, Reporter& reporter) {
  if (!said.max_rate.said) return;
  if (said.max_rate->bits_per_second % 8 != 0)
    reporter.error(code::out_of_range, {said.max_rate.at, 1},
                   in_quotes(format(*said.max_rate)) + " can't be set",
                   "a multiple of 8bps: the kernel counts bytes");
  if (!said.count.said)
    reporter.error(code::missing_field, {said.max_rate.at, 1}, "maxRate without a count of virtual functions",
                   "count: how many");
  if (!said.eswitch.said || *said.eswitch != Eswitch::switchdev)
    reporter.error(code::missing_field, {said.max_rate.at, 1},
                   "maxRate needs eswitch: switchdev (devlink-rate(8) has no rates in legacy mode)",
                   "eswitch: switchdev");
}

// systemd.unit(5): a name without a suffix refers to a service.
std::string_view without_suffix(std::string_view unit) {
  constexpr std::string_view suffix = ".service";
  if (unit.ends_with(suffix)) unit.remove_suffix(suffix.size());
  return unit;
}

void check_profile(const HostProfile& profile, Span, Reporter& reporter) {
  std::map<std::string_view, Position> first;
  for (const auto& one : profile.services) {
    const auto [at, fresh] = first.emplace(without_suffix(*one.key), one.key.at);
    if (!fresh)
      reporter.error(code::written_twice, {one.key.at, static_cast<std::uint32_t>(one.key->size())},
                     "service " + in_quotes(at->first) + " is written twice", "",
                     {{at->second, "first written here"}});
  }
}

}  // namespace

template <>
const Type& struct_type<Kernel>() {
  static constexpr Type type = object_type<Kernel>("kernel", kernel_fields, nullptr, "unmanaged");
  return type;
}
template <>
const Type& struct_type<Cpu>() {
  static constexpr Type type = object_type<Cpu>("cpu", cpu_fields, nullptr, "unmanaged");
  return type;
}
template <>
const Type& struct_type<Pcie>() {
  static constexpr Type type = object_type<Pcie>("pcie", pcie_fields, checked<Pcie, check_pcie>, "unmanaged");
  return type;
}
template <>
const Type& struct_type<Gpu>() {
  static constexpr Type type = object_type<Gpu>("gpu", gpu_fields, nullptr, "unmanaged");
  return type;
}
template <>
const Type& struct_type<NicRings>() {
  static constexpr Type type = object_type<NicRings>("rings", nic_rings_fields, nullptr, "unmanaged");
  return type;
}
template <>
const Type& struct_type<NicChannels>() {
  static constexpr Type type =
      object_type<NicChannels>("channels", nic_channels_fields, nullptr, "unmanaged");
  return type;
}
template <>
const Type& struct_type<NicCoalescing>() {
  static constexpr Type type = object_type<NicCoalescing>(
      "coalescing", nic_coalescing_fields, checked<NicCoalescing, check_coalescing>, "unmanaged");
  return type;
}
template <>
const Type& struct_type<VirtualFunctions>() {
  static constexpr Type type =
      object_type<VirtualFunctions>("virtual functions", virtual_functions_fields,
                                    checked<VirtualFunctions, check_virtual_functions>, "unmanaged");
  return type;
}
template <>
const Type& struct_type<Nic>() {
  static constexpr Type type = object_type<Nic>("NIC settings", nic_fields, nullptr, "unmanaged");
  return type;
}
template <>
const Type& struct_type<HostProfile>() {
  static constexpr Type type =
      object_type<HostProfile>("a HostProfile", fields, checked<HostProfile, check_profile>, "unmanaged");
  return type;
}

}  // namespace lockstep
