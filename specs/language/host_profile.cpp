// The field tables of HostProfile, and the rules between its fields.
#include "specs/language/host_profile.hpp"

#include "specs/language/codes.hpp"
#include "specs/language/kind_rows.hpp"

namespace lockstep {
namespace {

constexpr Field kernel_fields[] = {
    field<&Kernel::version>("version", "the kernel's version, such as >=6.1"),
    field<&Kernel::parameters>("parameters", "of the kernel command line; they take effect at the next boot"),
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
};
constexpr Field fields[] = {
    field<&HostProfile::selector>("selector", "the hosts; {} is all", {.required = true}),
    field<&HostProfile::sysctl>("sysctl",
                                "kernel parameters; what several rails need follows from the Fabric"),
    field<&HostProfile::memlock>("memlock", "memory that a process may lock"),
    field<&HostProfile::kernel>("kernel", "the kernel, its parameters and modules"),
    field<&HostProfile::cpu>("cpu", "frequency and interrupts"),
    field<&HostProfile::pcie>("pcie", "PCI Express settings"),
    field<&HostProfile::packages>("packages", "packages and their versions, such as \">=44\""),
    field<&HostProfile::firmware>("firmware", "firmware versions by platform"),
    field<&HostProfile::services>(
        "services", "services: running (and started at boot), stopped (until the next boot) or disabled"),
    field<&HostProfile::gpu>("gpu", "GPU settings"),
};

void check_pcie(const Pcie& pcie, Span, Reporter& reporter) {
  if (!pcie.max_read_request.said) return;
  const std::uint32_t bytes = *pcie.max_read_request;
  if ((bytes & (bytes - 1)) != 0)
    reporter.error(code::out_of_range, {pcie.max_read_request.at, 1},
                   "'" + std::to_string(bytes) + "' is not a power of two",
                   "128, 256, 512, 1024, 2048 or 4096");
}

void check_profile(const HostProfile& profile, Span, Reporter& reporter) {
  for (const auto& one : profile.sysctl) {
    const Literal& value = *one.value;
    if (value.shape == Literal::Shape::list || value.shape == Literal::Shape::map ||
        value.shape == Literal::Shape::null)
      reporter.error(code::wrong_type, {one.value.at, 1},
                     "sysctl " + in_quotes(*one.key) + " needs one number or text");
  }
}

}  // namespace

template <>
const Type& struct_type<Kernel>() {
  static constexpr Type type = object_type<Kernel>("kernel", kernel_fields);
  return type;
}
template <>
const Type& struct_type<Cpu>() {
  static constexpr Type type = object_type<Cpu>("cpu", cpu_fields);
  return type;
}
template <>
const Type& struct_type<Pcie>() {
  static constexpr Type type = object_type<Pcie>("pcie", pcie_fields, checked<Pcie, check_pcie>);
  return type;
}
template <>
const Type& struct_type<Gpu>() {
  static constexpr Type type = object_type<Gpu>("gpu", gpu_fields);
  return type;
}
template <>
const Type& struct_type<HostProfile>() {
  static constexpr Type type =
      object_type<HostProfile>("a HostProfile", fields, checked<HostProfile, check_profile>);
  return type;
}

}  // namespace lockstep
