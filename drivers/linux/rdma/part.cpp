#include "drivers/linux/rdma/part.hpp"

#include <algorithm>

#include "drivers/linux/rdma/inventory.hpp"
#include "drivers/linux/rdma/map.hpp"

namespace lockstep {
namespace {

using rdma::RocePort;
using rdma_map::MapRow;

class RdmaPart final : public LinuxPart {
 public:
  explicit RdmaPart(const LinuxTarget& target) : files_(target.root) {
    if (!target.netns_path.empty() && target.root == "/")
      elsewhere_ = "host-wide: a network namespace shares its machine's RDMA settings";
  }

  std::vector<RowId> reads() const override { return rows_of(rdma_map::kRows); }
  std::vector<RowId> writes() const override { return written_rows_of(rdma_map::kRows); }
  std::string native(const Change& change) const override {
    return find_row(rdma_map::kRows, change.path.row())->native(change);
  }
  std::vector<Incapable> incapable(const Scope& scope, const std::vector<Link>& links,
                                   const Call& call) override;
  void read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
            std::vector<Unread>& unread, const Call& call) override;
  std::vector<std::optional<Error>> apply(const ChangeSet& changes, const std::vector<Link>& links,
                                          const Call& call) override;

 private:
  Result<std::vector<RocePort>> ports(const Call& call) const;
  Result<Done> set(const Change& change, const Call& call) const;

  HostFiles files_;
  std::string elsewhere_;  // why this target has none of these rows; empty: it has them
};

const RocePort* find(const std::vector<RocePort>& ports, std::string_view netdev) {
  const auto found = std::ranges::find(ports, netdev, &RocePort::netdev);
  return found == ports.end() ? nullptr : &*found;
}

// Empty if the kernel has no RDMA.
Result<std::vector<RocePort>> RdmaPart::ports(const Call& call) const {
  TRY(const auto devices, rdma::read_rdma(files_, call));
  std::vector<RocePort> out;
  for (const rdma::DeviceFacts& device : devices)
    for (const rdma::PortFacts& port : device.ports)
      if (!port.netdev.empty())
        out.push_back({port.netdev, device.name, device.driver, device.pci, port.link_layer, port.number});
  return out;
}

std::vector<Incapable> RdmaPart::incapable(const Scope&, const std::vector<Link>& links, const Call& call) {
  std::vector<Incapable> out;
  const auto all = [&](const std::vector<std::string>& keys, const std::string& why) {
    for (const MapRow& one : rdma_map::kRows) out.push_back({one.row, keys, why});
  };
  if (!elsewhere_.empty()) {
    all({}, elsewhere_);
    return out;
  }
  const auto known = ports(call);
  if (!known) {
    if (known.error().kind == ErrorKind::unsupported) all({}, known.error().text());
    return out;
  }
  for (const Link& link : links) {
    const RocePort* const port = find(*known, link.name);
    if (port == nullptr) {
      all({link.name}, "no RDMA device has this port");
      continue;
    }
    for (const MapRow& one : rdma_map::kRows)
      if (std::string why = rdma_map::lacking(one, files_, *port); !why.empty())
        out.push_back({one.row, {link.name}, std::move(why)});
  }
  return out;
}

void RdmaPart::read(const Scope& scope, const std::vector<Link>& links, TreeBuilder& tree,
                    std::vector<Unread>& unread, const Call& call) {
  if (!wants_any(scope, rdma_map::kRows) || !elsewhere_.empty()) return;
  const auto known = ports(call);
  if (!known) {
    if (known.error().kind == ErrorKind::unsupported) return;  // incapable() reports it
    for (const MapRow& one : rdma_map::kRows)
      if (scope.wants(one.row)) unread.push_back({one.row, {}, known.error()});
    return;
  }
  for (const RocePort& port : *known) {
    if (std::ranges::find(links, port.netdev, &Link::name) == links.end()) continue;
    for (const MapRow& one : rdma_map::kRows) {
      if (!scope.wants(one.row) || !rdma_map::lacking(one, files_, port).empty()) continue;
      auto value = one.read(files_, port);
      if (value)
        tree.add(Path(one.row, {port.netdev}), *value);
      else
        unread.push_back({one.row, {port.netdev}, std::move(value.error())});
    }
  }
}

Result<Done> RdmaPart::set(const Change& change, const Call& call) const {
  const std::string entry = change.path.text();
  if (!elsewhere_.empty()) return Error{ErrorKind::unsupported, entry + ": " + elsewhere_};
  if (call.must_end(std::chrono::steady_clock::now())) {
    const bool stopped = call.stop.stop_requested();
    return Error{stopped ? ErrorKind::cancelled : ErrorKind::transient,
                 stopped ? "not attempted: asked to stop" : "not attempted: the deadline passed"};
  }
  TRY(const auto known, ports(call));
  const RocePort* const port = find(known, change.path.key(0));
  const MapRow& one = *find_row(rdma_map::kRows, change.path.row());
  const std::string why =
      port == nullptr ? "no RDMA device has this port" : rdma_map::lacking(one, files_, *port);
  if (!why.empty()) return Error{ErrorKind::unsupported, entry + ": " + why};
  return one.write(change, files_, *port);
}

std::vector<std::optional<Error>> RdmaPart::apply(const ChangeSet& changes, const std::vector<Link>&,
                                                  const Call& call) {
  std::vector<std::optional<Error>> out;
  for (const Change& change : changes) {
    auto result = set(change, call);
    out.push_back(result ? std::optional<Error>() : std::move(result.error()));
  }
  return out;
}

}  // namespace

std::unique_ptr<LinuxPart> make_rdma_part(const LinuxTarget& target) {
  return std::make_unique<RdmaPart>(target);
}

}  // namespace lockstep
