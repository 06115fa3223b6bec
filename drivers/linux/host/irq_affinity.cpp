// cpu/irq-affinity: which CPUs serve the interrupts of the NICs.
//
// The interrupts of a function: /sys/bus/pci/devices/*/msi_irqs (Documentation/ABI/testing/sysfs-bus-pci);
// the CPUs that may serve each: /proc/irq/N/smp_affinity_list (Documentation/core-api/irq/irq-affinity.rst);
// the CPUs near the function: its local_cpulist. Read as
//   numa-local  each may only be served by CPUs of its NIC's own NUMA node,
//   none        each may be served anywhere: none was placed,
//   spread      each is on one CPU, and those of each NIC cover every NUMA node,
//   moved by irqbalance  if it runs and they are not all local at the moment,
// else as a text that counts those that are off their node. On a machine with one node all CPUs are local.
// Written: numa-local moves only interrupts that are off their node, and lets the kernel choose a CPU there.
// irqbalance moves interrupts on its own: if it runs it is reported, not counteracted. For interrupts that
// the kernel manages itself (EIO: Documentation/core-api/irq/managed_irq.rst in newer trees,
// kernel/irq/proc.c) the kernel's error is reported.
#include <algorithm>
#include <map>

#include "drivers/linux/host/cpu_list.hpp"
#include "drivers/linux/host/map.hpp"
#include "drivers/linux/host/pci.hpp"
#include "drivers/linux/host/shares.hpp"

namespace lockstep {
namespace {

using host_map::kIrqAffinity;

constexpr std::string_view kNodes = "/sys/devices/system/node";

struct Interrupt {
  std::string number;
  CpuSet allowed;
};

struct NicInterrupts {
  CpuSet local;
  std::vector<Interrupt> all;
};

struct Placement {
  std::vector<CpuSet> nodes;  // CPUs of each NUMA node that has some
  CpuSet online;
  std::vector<NicInterrupts> nics;
};

bool within(const CpuSet& inner, const CpuSet& outer) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

bool touch(const CpuSet& a, const CpuSet& b) {
  return std::any_of(a.begin(), a.end(), [&](unsigned cpu) { return b.contains(cpu); });
}

bool is_spread(const Placement& found, const NicInterrupts& nic) {
  CpuSet reached;
  for (const Interrupt& one : nic.all) {
    if (one.allowed.size() != 1) return false;
    reached.insert(*one.allowed.begin());
  }
  return std::all_of(found.nodes.begin(), found.nodes.end(),
                     [&](const CpuSet& node) { return touch(node, reached); });
}

bool is_word(std::string_view text) { return text == "numa-local" || text == "spread" || text == "none"; }

std::string word_for(const Placement& found) {
  std::size_t all = 0;
  std::size_t off = 0;
  bool anywhere = true;
  bool spread = true;
  for (const NicInterrupts& nic : found.nics) {
    spread = spread && is_spread(found, nic);
    for (const Interrupt& one : nic.all) {
      ++all;
      if (!within(one.allowed, nic.local)) ++off;
      anywhere = anywhere && within(found.online, one.allowed);
    }
  }
  if (off == 0) return "numa-local";
  if (anywhere) return "none";
  if (spread) return "spread";
  return std::to_string(off) + " of " + std::to_string(all) + " interrupts off their NIC's NUMA node";
}

class IrqAffinity final : public HostSetting {
 public:
  IrqAffinity(HostFiles files, SharedPci pci) : files_(std::move(files)), pci_(std::move(pci)) {}

  std::vector<Incapable> incapable(const Scope&, const Call&) override {
    for (const PciFunction& nic : nics())
      if (!files_.names(pci_path(nic.address) + "/msi_irqs").empty()) return {};
    return {{kIrqAffinity, {}, "no PCI network controller here has message-signalled interrupts (msi_irqs)"}};
  }

  void read(HostReading& out, const Call&) override {
    if (!incapable({}, {}).empty()) return;
    const auto found = placement();
    if (!found) return out.fails(kIrqAffinity, found.error());
    const std::string word = word_for(*found);
    // Moving interrupts get a constant text: else each reading would be another revision.
    const bool moves = word != "numa-local" && !irqbalance().empty();
    out.add(kIrqAffinity, Value::text(moves ? "moved by irqbalance" : word));
  }

  Result<Done> set(const Change& change, const Call&) override {
    TRY(const std::string wanted, wanted_text(change));
    if (const std::string process = irqbalance(); !process.empty())
      return Error{ErrorKind::refused, "irqbalance (process " + process +
                                           ") runs and moves interrupts as it likes: stop it for good, or "
                                           "have it leave the NICs' alone (irqbalance(1), --banirq)"};
    if (auto back = mixed_.put_back(wanted)) return *std::move(back);
    if (!is_word(wanted))
      return Error{ErrorKind::invalid_spec, "cpu/irq-affinity is numa-local, spread or none"};
    TRY(const Placement found, placement());
    if (found.nodes.size() < 2 && wanted != "numa-local")
      return Error{ErrorKind::refused, "one NUMA node: every CPU is local to every NIC"};
    Shares shares;
    for (const NicInterrupts& nic : found.nics) add_shares(found, nic, wanted, shares);
    shares.push_back(
        {"all",
         [this, wanted]() -> Result<Done> {
           TRY(const Placement now, placement());
           if (word_for(now) == wanted) return Done{};
           return Error{ErrorKind::refused, "placed " + wanted + ", and found after: " + word_for(now)};
         },
         []() -> Result<Done> { return Done{}; }});
    TRY_DONE(set_all(shares));
    shares.pop_back();
    if (const std::string told = word_for(found); !is_word(told)) mixed_.remember(told, std::move(shares));
    return Done{};
  }

 private:
  std::vector<PciFunction> nics() const {
    std::vector<PciFunction> out;
    const auto functions = pci_->functions();
    for (const PciFunction& one : *functions)
      if (is_nic(one)) out.push_back(one);
    return out;
  }

  static std::string affinity_file(const std::string& number) {
    return "/proc/irq/" + number + "/smp_affinity_list";
  }

  Result<CpuSet> cpus_in(const std::string& path) const {
    TRY(const std::string text, files_.line(path));
    auto cpus = parse_cpu_list(text);
    if (!cpus) return wrap(path, std::move(cpus.error()));
    return cpus;
  }

  Result<Placement> placement() const {
    Placement out;
    TRY(out.online, cpus_in("/sys/devices/system/cpu/online"));
    for (const std::string& name : files_.names(kNodes)) {
      if (!name.starts_with("node")) continue;
      TRY(CpuSet node, cpus_in(std::string(kNodes) + "/" + name + "/cpulist"));
      if (!node.empty()) out.nodes.push_back(std::move(node));
    }
    for (const PciFunction& nic : nics()) {
      NicInterrupts one;
      TRY(one.local, cpus_in(pci_path(nic.address) + "/local_cpulist"));
      for (const std::string& number : files_.names(pci_path(nic.address) + "/msi_irqs")) {
        // An allocated vector that no driver uses has no folder.
        if (!files_.exists(affinity_file(number))) continue;
        TRY(CpuSet allowed, cpus_in(affinity_file(number)));
        one.all.push_back({number, std::move(allowed)});
      }
      if (!one.all.empty()) out.nics.push_back(std::move(one));
    }
    return out;
  }

  void add_shares(const Placement& found, const NicInterrupts& nic, const std::string& wanted,
                  Shares& shares) const {
    const std::vector<unsigned> online(found.online.begin(), found.online.end());
    for (std::size_t i = 0; i < nic.all.size(); ++i) {
      CpuSet to = found.online;
      if (wanted == "numa-local") to = within(nic.all[i].allowed, nic.local) ? nic.all[i].allowed : nic.local;
      // Evenly over the CPUs' numbers, which are ordered by node.
      if (wanted == "spread") to = {online[i * online.size() / nic.all.size()]};
      if (to == nic.all[i].allowed) continue;
      const auto put = [this, file = affinity_file(nic.all[i].number)](const CpuSet& cpus) -> Result<Done> {
        TRY(const CpuSet now, cpus_in(file));
        return now == cpus ? Result<Done>(Done{}) : files_.write(file, cpu_list_text(cpus));
      };
      shares.push_back({"interrupt " + nic.all[i].number, [put, to] { return put(to); },
                        [put, was = nic.all[i].allowed] { return put(was); }});
    }
  }

  // The irqbalance process; empty: none runs.
  std::string irqbalance() const {
    for (const std::string& process : files_.names("/proc")) {
      if (process.find_first_not_of("0123456789") != std::string::npos) continue;
      const auto name = files_.line("/proc/" + process + "/comm");
      if (name && *name == "irqbalance") return process;
    }
    return {};
  }

  HostFiles files_;
  SharedPci pci_;
  Mixed mixed_;
};

}  // namespace

std::string irq_affinity_words(const Change& change) {
  const std::string which = change.want.to_string() == "numa-local" ? "CPUS_OF_THE_NICS_NODE" : "CPUS";
  return "echo " + which + " > /proc/irq/N/smp_affinity_list  # each interrupt of each NIC";
}

OneSetting irq_affinity_setting(const LinuxTarget& target, const SharedPci& pci) {
  return std::make_unique<IrqAffinity>(HostFiles(target.root), pci);
}

}  // namespace lockstep
