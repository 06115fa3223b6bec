#include "drivers/linux/host/host_part.hpp"

#include <algorithm>

#include "drivers/linux/host/map.hpp"

namespace lockstep {
namespace {

using host_map::kRows;
using host_map::MapRow;

// A setting, and its lines of the table.
struct Carrier {
  OneSetting setting;
  std::vector<const MapRow*> lines;
};

bool serves(const Carrier& one, const MapRow& line) { return one.lines.front()->setting == line.setting; }

std::vector<Carrier> carriers_for(const LinuxTarget& target, const SharedPci& pci) {
  std::vector<Carrier> out;
  for (const MapRow& line : kRows) {
    const auto made =
        std::find_if(out.begin(), out.end(), [&](const Carrier& one) { return serves(one, line); });
    if (made == out.end())
      out.push_back({line.setting(target, pci), {&line}});
    else
      made->lines.push_back(&line);
  }
  return out;
}

bool is_wanted(const Carrier& one, const Scope& scope) {
  return std::any_of(one.lines.begin(), one.lines.end(),
                     [&](const MapRow* line) { return scope.wants(line->row); });
}

class HostPart final : public LinuxPart {
 public:
  explicit HostPart(const LinuxTarget& target)
      : pci_(std::make_shared<PciScan>(HostFiles(target.root))), carriers_(carriers_for(target, pci_)) {
    if (!target.netns_path.empty() && target.root == "/")
      elsewhere_ = "host-wide: a network namespace shares its machine's";
  }

  std::vector<RowId> reads() const override { return rows_of(kRows); }

  std::vector<RowId> writes() const override { return written_rows_of(kRows); }

  std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>&, const Call& call) override {
    std::vector<Incapable> out;
    if (!elsewhere_.empty()) {
      for (const RowId row : reads()) out.push_back({row, {}, elsewhere_});
      return out;
    }
    pci_->forget();
    for (const Carrier& one : carriers_)
      if (is_wanted(one, scope))
        for (Incapable& lacks : one.setting->incapable(scope, call)) out.push_back(std::move(lacks));
    return out;
  }

  void read(const Scope& scope, const std::vector<Link>&, TreeBuilder& tree, std::vector<Unread>& unread,
            const Call& call) override {
    if (!elsewhere_.empty()) return;
    pci_->forget();
    HostReading out{scope, tree, unread};
    for (const Carrier& one : carriers_) {
      if (!is_wanted(one, scope)) continue;
      if (!call.must_end(std::chrono::steady_clock::now())) {
        one.setting->read(out, call);
        continue;
      }
      for (const MapRow* const line : one.lines)
        out.fails(line->row, {ErrorKind::transient, "not read: the deadline passed"});
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
    const MapRow* const line = find_row(kRows, change.path.row());
    return line == nullptr || line->native == nullptr ? std::string() : line->native(change);
  }

 private:
  HostSetting& carrier(const MapRow& line) const {
    const auto one = std::find_if(carriers_.begin(), carriers_.end(),
                                  [&](const Carrier& carrier) { return serves(carrier, line); });
    return *one->setting;
  }

  Result<Done> set(const Change& change, const Call& call) {
    const std::string entry = change.path.text();
    if (!elsewhere_.empty()) return Error{ErrorKind::unsupported, elsewhere_};
    if (call.must_end(std::chrono::steady_clock::now())) {
      const bool stopped = call.stop.stop_requested();
      return Error{stopped ? ErrorKind::cancelled : ErrorKind::transient,
                   stopped ? "not attempted: asked to stop" : "not attempted: the deadline passed"};
    }
    const MapRow* const line = find_row(kRows, change.path.row());
    if (line == nullptr) return Error{ErrorKind::unsupported, "no setting of a host is " + entry};
    HostSetting& one = carrier(*line);
    const std::vector<Incapable> lacks = one.incapable(Scope{{change.path.row()}, {change.path}}, call);
    if (const Incapable* const why = incapable_of(lacks, change.path))
      return Error{ErrorKind::unsupported, why->reason};
    if (!line->write) return not_written(change);
    return one.set(change, call);
  }

  SharedPci pci_;
  std::vector<Carrier> carriers_;  // in the table's order
  std::string elsewhere_;          // why this target has none of these rows; empty: it has them
};

}  // namespace

std::unique_ptr<LinuxPart> host_part(const LinuxTarget& target) { return std::make_unique<HostPart>(target); }

}  // namespace lockstep
