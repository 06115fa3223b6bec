#include "drivers/linux/host/host_part.hpp"

#include <algorithm>

#include "drivers/linux/host/settings.hpp"

namespace lockstep {
namespace {

std::vector<OneSetting> settings_of(const LinuxTarget& target, const SharedPci& pci) {
  const HostFiles files(target.root);
  std::vector<OneSetting> out;
  out.push_back(governor_setting(files));
  out.push_back(irq_affinity_setting(files, pci));
  out.push_back(pcie_setting(files, pci));
  out.push_back(memlock_setting(files));
  out.push_back(nccl_setting(files));
  out.push_back(kernel_setting(files));
  out.push_back(packages_setting(files));
  out.push_back(services_setting(files));
  out.push_back(firmware_setting(files, pci));
  out.push_back(gpu_setting(target, pci));
  return out;
}

bool is_wanted(const HostSetting& setting, const Scope& scope) {
  const std::vector<RowId> rows = setting.rows();
  return std::any_of(rows.begin(), rows.end(), [&](RowId row) { return scope.wants(row); });
}

class HostPart final : public LinuxPart {
 public:
  explicit HostPart(const LinuxTarget& target)
      : pci_(std::make_shared<PciScan>(HostFiles(target.root))), settings_(settings_of(target, pci_)) {
    if (!target.netns_path.empty() && target.root == "/")
      elsewhere_ = "host-wide: a network namespace shares its machine's";
  }

  std::vector<RowId> reads() const override {
    std::vector<RowId> out;
    for (const OneSetting& one : settings_)
      for (const RowId row : one->rows()) out.push_back(row);
    return out;
  }

  std::vector<RowId> writes() const override {
    std::vector<RowId> out;
    for (const OneSetting& one : settings_)
      for (const RowId row : one->written()) out.push_back(row);
    return out;
  }

  std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>&, const Call& call) override {
    std::vector<Incapable> out;
    if (!elsewhere_.empty()) {
      for (const RowId row : reads()) out.push_back({row, {}, elsewhere_});
      return out;
    }
    pci_->forget();
    for (const OneSetting& one : settings_)
      if (is_wanted(*one, scope))
        for (Incapable& lacks : one->incapable(scope, call)) out.push_back(std::move(lacks));
    return out;
  }

  void read(const Scope& scope, const std::vector<Link>&, TreeBuilder& tree, std::vector<Unread>& unread,
            const Call& call) override {
    if (!elsewhere_.empty()) return;
    pci_->forget();
    HostReading out{scope, tree, unread};
    for (const OneSetting& one : settings_) {
      if (!is_wanted(*one, scope)) continue;
      if (!call.must_end(std::chrono::steady_clock::now())) {
        one->read(out, call);
        continue;
      }
      for (const RowId row : one->rows())
        out.fails(row, {ErrorKind::transient, "not read: the deadline passed"});
    }
  }

  std::vector<std::optional<Error>> apply(const ChangeSet& changes, const std::vector<Link>&,
                                          const Call& call) override {
    pci_->forget();
    std::vector<std::optional<Error>> out;
    for (const Change& change : changes) {
      auto result = set(change, call);
      out.push_back(result ? std::optional<Error>() : std::move(result.error()));
    }
    return out;
  }

  std::string native(const Change& change) const override {
    const HostSetting* const one = carrier(change.path.row());
    return one == nullptr ? std::string() : one->native(change);
  }

 private:
  HostSetting* carrier(RowId row) const {
    for (const OneSetting& one : settings_) {
      const std::vector<RowId> rows = one->rows();
      if (std::find(rows.begin(), rows.end(), row) != rows.end()) return one.get();
    }
    return nullptr;
  }

  Result<Done> set(const Change& change, const Call& call) {
    const std::string entry = change.path.text();
    if (!elsewhere_.empty()) return Error{ErrorKind::unsupported, elsewhere_};
    if (call.must_end(std::chrono::steady_clock::now())) {
      const bool stopped = call.stop.stop_requested();
      return Error{stopped ? ErrorKind::cancelled : ErrorKind::transient,
                   stopped ? "not attempted: asked to stop" : "not attempted: the deadline passed"};
    }
    HostSetting* const one = carrier(change.path.row());
    if (one == nullptr) return Error{ErrorKind::unsupported, "no setting of a host is " + entry};
    const std::vector<Incapable> lacks = one->incapable(Scope{{change.path.row()}, {change.path}}, call);
    if (const Incapable* const why = incapable_of(lacks, change.path))
      return Error{ErrorKind::unsupported, why->reason};
    const std::vector<RowId> written = one->written();
    if (std::find(written.begin(), written.end(), change.path.row()) == written.end())
      return Error{ErrorKind::unsupported, entry + " is read here, and not written"};
    return one->set(change, call);
  }

  SharedPci pci_;
  std::vector<OneSetting> settings_;
  std::string elsewhere_;  // why none of it is this target's; empty: all is
};

}  // namespace

std::unique_ptr<LinuxPart> host_part(const LinuxTarget& target) { return std::make_unique<HostPart>(target); }

}  // namespace lockstep
