#include "specs/compile/compilation.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// ">=44", "==550.54": as drivers compare it.
std::string text_of(const VersionRule& wanted) {
  static constexpr std::string_view kWords[] = {"==", ">=", "<=", ">", "<"};
  return std::string(kWords[static_cast<std::size_t>(wanted.compare)]) + wanted.version;
}

// Adds leaves of one profile under its own name.
struct Profile {
  Compilation& c;
  ClaimantId who;
  ClassLeaves& out;

  template <class T, class V>
  void add(Path path, const Said<T>& field, V value, std::string_view rule) {
    if (field.said) out.list.add(path, value, c.origins.of(who, field, rule));
  }

  void add_kernel(const Kernel& kernel) {
    for (const Said<std::string>& module : kernel.modules)
      add(Path(row("kernel/module[*]"), {*module}), module, Value::present(), "kernel.modules");
    for (const Said<std::string>& parameter : kernel.parameters)
      add(Path(row("kernel/parameter[*]"), {*parameter}), parameter, Value::present(), "kernel.parameters");
    add(Path(row("kernel/version"), {}), kernel.version, std::string_view(text_of(*kernel.version)),
        "kernel.version");
  }

  void add_gpu(const Gpu& gpu) {
    add(Path(row("gpu/count"), {}), gpu.count, std::uint64_t{*gpu.count}, "gpu.count");
    add(Path(row("gpu/driver"), {}), gpu.driver, std::string_view(text_of(*gpu.driver)), "gpu.driver");
    add(Path(row("gpu/ecc"), {}), gpu.ecc, *gpu.ecc, "gpu.ecc");
    if (*gpu.nic_affinity != NicAffinity::none)  // asks for nothing
      add(Path(row("gpu/nic-affinity"), {}), gpu.nic_affinity, to_string(*gpu.nic_affinity),
          "gpu.nicAffinity");
    add(Path(row("gpu/persistence"), {}), gpu.persistence, *gpu.persistence, "gpu.persistence");
  }
};

}  // namespace

void add_host_leaves(Compilation& c, std::size_t index, ClassLeaves& out) {
  const HostProfile& said = c.catalog.host_profiles[index];
  Profile profile{c, c.host_profiles[index], out};
  profile.add(Path(row("cpu/governor"), {}), said.cpu->governor, to_string(*said.cpu->governor),
              "cpu.governor");
  profile.add(Path(row("cpu/irq-affinity"), {}), said.cpu->irq_affinity, to_string(*said.cpu->irq_affinity),
              "cpu.irqAffinity");
  for (const auto& [name, version] : said.firmware)
    profile.add(Path(row("firmware[*]"), {*name}), version, std::string_view(text_of(*version)), "firmware");
  profile.add_gpu(*said.gpu);
  profile.add_kernel(*said.kernel);
  profile.add(
      Path(row("memlock"), {}), said.memlock,
      std::string_view(said.memlock->unlimited ? "unlimited" : std::to_string(said.memlock->limit.bytes)),
      "memlock");
  for (const auto& [name, version] : said.packages)
    profile.add(Path(row("package[*]"), {*name}), version, std::string_view(text_of(*version)), "packages");
  profile.add(Path(row("pcie/acs"), {}), said.pcie->acs, *said.pcie->acs == OnOff::on, "pcie.acs");
  profile.add(Path(row("pcie/max-read-request"), {}), said.pcie->max_read_request,
              std::uint64_t{*said.pcie->max_read_request}, "pcie.maxReadRequest");
  for (const auto& [name, state] : said.services)
    profile.add(Path(row("service[*]"), {*name}), state, to_string(*state), "services");
  for (const auto& [name, value] : said.sysctl)
    profile.add(Path(row("sysctl[*]"), {*name}), value, std::string_view(value->text), "sysctl");
}

}  // namespace lockstep
