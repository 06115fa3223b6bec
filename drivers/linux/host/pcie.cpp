// pcie/max-read-request and pcie/acs.
//
// MaxReadRequest is read from each NIC of the fabric (fabric_nics), as shown by `setpci CAP_EXP+08.w`; a
// virtual function has none of its own (PCI Express Base 9.3.5.4). ACS is read from every bridge between a
// fabric NIC or GPU and its root complex that has the capability, including the root port: it redirects
// peer-to-peer traffic to the root complex (PCI Express Base 6.12; NCCL's user guide, "PCI Access Control
// Services", sets it to 0 on all bridges). Both settings are lost at boot, and the kernel's IOMMU groups
// reflect the state at boot.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "drivers/linux/host/map.hpp"
#include "drivers/linux/host/pci.hpp"
#include "drivers/linux/host/pci_config.hpp"
#include "drivers/linux/host/shares.hpp"

namespace lockstep {
namespace {

using host_map::kAcs;
using host_map::kMaxReadRequest;

class Pcie final : public HostSetting {
 public:
  Pcie(HostFiles files, SharedPci pci) : files_(std::move(files)), pci_(std::move(pci)) {
    for (const RowId row : {kAcs, kMaxReadRequest}) mixed_[row];
  }

  std::vector<Incapable> incapable(const Scope&, const Call&) override {
    std::vector<Incapable> out;
    const auto functions = pci_->functions();
    const std::vector<PciFunction>& all = *functions;
    const auto requests = read_requests(fabric_nics(all));
    if (requests && requests->empty())
      out.push_back({kMaxReadRequest, {}, "no network controller here is a PCI Express device"});
    const auto bridges = redirecting_bridges(all);
    if (bridges && bridges->empty())
      out.push_back({kAcs, {}, "no bridge above a NIC or GPU has the ACS capability"});
    return out;
  }

  void read(HostReading& out, const Call&) override {
    const auto functions = pci_->functions();
    const std::vector<PciFunction>& all = *functions;
    if (out.scope.wants(kMaxReadRequest)) {
      const auto requests = read_requests(fabric_nics(all));
      if (requests)
        out.add(kMaxReadRequest, in_common(*requests));
      else
        out.fails(kMaxReadRequest, requests.error());
    }
    if (out.scope.wants(kAcs)) read_acs(out, all);
  }

  Result<Done> set(const Change& change, const Call&) override {
    const auto functions = pci_->functions();
    const std::vector<PciFunction>& all = *functions;
    if (auto back = mixed_.at(change.path.row()).put_back(change.want.to_string())) return *std::move(back);
    if (change.path.row() == kAcs) return set_acs(change, all);
    if (change.want.kind() != Value::Kind::integer || change.want.as_integer() < 0)
      return Error{ErrorKind::invalid_spec, change.path.text() + " takes a number, and can't be unset"};
    const auto wanted = static_cast<std::uint32_t>(
        std::min<std::int64_t>(change.want.as_integer(), std::numeric_limits<std::uint32_t>::max()));
    Shares shares;
    std::vector<Value> were;
    for (const PciFunction& nic : fabric_nics(all)) {
      TRY(const PciConfig config, PciConfig::open(files_, nic.address));
      TRY(const std::optional<std::uint32_t> was, config.max_read_request());
      if (!was) continue;
      were.push_back(Value::integer(*was));
      const auto set = [this, address = nic.address](std::uint32_t bytes) -> Result<Done> {
        TRY(PciConfig writable, PciConfig::open(files_, address, true));
        return writable.set_max_read_request(bytes);
      };
      shares.push_back(
          {nic.address, [set, wanted] { return set(wanted); }, [set, was] { return set(*was); }});
    }
    return write(kMaxReadRequest, std::move(shares), were);
  }

 private:
  // For NICs that are PCI Express devices.
  Result<std::vector<Value>> read_requests(const std::vector<PciFunction>& nics) const {
    std::vector<Value> out;
    for (const PciFunction& nic : nics) {
      TRY(const PciConfig config, PciConfig::open(files_, nic.address));
      TRY(const std::optional<std::uint32_t> bytes, config.max_read_request());
      if (bytes) out.push_back(Value::integer(*bytes));
    }
    return out;
  }

  void read_acs(HostReading& out, const std::vector<PciFunction>& all) {
    const auto bridges = redirecting_bridges(all);
    if (!bridges) return out.fails(kAcs, bridges.error());
    std::vector<Value> values;
    for (const auto& [address, control] : *bridges) values.push_back(Value::boolean(control != 0));
    // Without a bridge that has ACS, nothing redirects.
    out.add(kAcs, values.empty() ? Value::boolean(false) : in_common(values));
  }

  Result<Done> set_acs(const Change& change, const std::vector<PciFunction>& all) {
    TRY(const bool on, wanted_boolean(change));
    TRY(const auto bridges, redirecting_bridges(all));
    Shares shares;
    std::vector<Value> were;
    for (const auto& [address, control] : bridges) {
      were.push_back(Value::boolean(control != 0));
      shares.push_back({address,
                        [this, bridge = address, on]() -> Result<Done> {
                          TRY(PciConfig config, PciConfig::open(files_, bridge, true));
                          return config.set_access_control(on);
                        },
                        [this, bridge = address, was = control]() -> Result<Done> {
                          TRY(PciConfig config, PciConfig::open(files_, bridge, true));
                          return config.write_access_control(was);
                        }});
    }
    return write(kAcs, std::move(shares), were);
  }

  Result<Done> write(RowId row, Shares shares, const std::vector<Value>& were) {
    TRY_DONE(set_all(shares));
    if (const Value told = in_common(were); !were.empty() && told != were.front())
      mixed_.at(row).remember(told.to_string(), std::move(shares));
    return Done{};
  }

  // Bridges with the ACS capability, with the value of their control register.
  Result<std::vector<std::pair<std::string, std::uint16_t>>> redirecting_bridges(
      const std::vector<PciFunction>& all) const {
    std::set<std::string> above;
    for (const PciFunction& nic : fabric_nics(all)) above.insert(nic.upstream.begin(), nic.upstream.end());
    for (const PciFunction& one : all)
      if (is_gpu(one)) above.insert(one.upstream.begin(), one.upstream.end());
    std::vector<std::pair<std::string, std::uint16_t>> out;
    for (const std::string& address : above) {
      TRY(const PciConfig config, PciConfig::open(files_, address));
      TRY(const std::optional<std::uint16_t> control, config.access_control());
      if (control) out.emplace_back(address, *control);
    }
    return out;
  }

  HostFiles files_;
  SharedPci pci_;
  std::map<RowId, Mixed> mixed_;
};

}  // namespace

std::string acs_words(const Change& change) {
  return change.want == Value::boolean(true) ? "setpci -s BRIDGE ECAP_ACS+6.w=1d  # each, as it can"
                                             : "setpci -s BRIDGE ECAP_ACS+6.w=0  # each";
}

std::string max_read_request_words(const Change& change) {
  unsigned code = 0;
  while (code < 5 && std::int64_t{128} << code < change.want.as_integer()) ++code;
  return "setpci -s NIC CAP_EXP+8.w=" + std::to_string(code) + "000:7000  # each";
}

OneSetting pcie_setting(const LinuxTarget& target, const SharedPci& pci) {
  return std::make_unique<Pcie>(HostFiles(target.root), pci);
}

}  // namespace lockstep
