#include "specs/compile/explain.hpp"

#include <algorithm>
#include <charconv>

#include "specs/compile/lossless_port.hpp"
#include "specs/compile/numbered_entries.hpp"
#include "specs/compile/rules.hpp"
#include "specs/fabric/roce_classes.hpp"
#include "specs/model/near_miss.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// Twelve digits: shows a product of two decimal constants without binary rounding errors.
std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 12);
  return error == std::errc() ? std::string(text, end) : "?";
}

class Explainer {
 public:
  Explainer(const Compiled& compiled, const Catalog& catalog, DeviceIndex device, Explanation& out)
      : compiled_(compiled), topology_(compiled.topology), catalog_(catalog), device_(device), out_(out) {
    if (out.path.key_count() > 0) port_ = topology_.find_port(device, out.path.key(0));
    if (port_ != kNone && topology_.ports[port_].link != kNone)
      link_ = &topology_.links[topology_.ports[port_].link];
    fabric_ = link_ != nullptr ? link_->fabric : first_fabric();
  }

  void run() {
    const std::string_view name = out_.origin.rule;
    if (name == rule::host_link_address) return address();
    if (name == rule::loopback || name == rule::router_id) return loopback();
    if (name == rule::asn) return asn();
    if (name == rule::aggregate) return aggregate();
    if (name == rule::twin_rate) return rate();
    if ((name == rule::max_rate || name == rule::link_speed) && link_ != nullptr) return link_speed();
    if (name == rule::headroom) return headroom();
    if (name == rule::shared_headroom) return shared_headroom();
    if (name == rule::dynamic_threshold) return threshold();
    if (name == rule::cable_length) return cable_length();
    if (name == rule::ecn_auto) return ecn();
    if (name == rule::ecn_software) return software_ecn();
    if (name == rule::ecmp_routes || name == rule::ecmp_paths) return ecmp();
    if (name == rule::lldp_peer || name == rule::cabling) return cable();
    if (name == rule::rail_table || name == rule::rail_rule || name == rule::rail_routes) return rails();
  }

 private:
  FabricIndex first_fabric() const {
    for (const TopologyPort& port : topology_.ports_of(device_))
      if (port.link != kNone) return topology_.links[port.link].fabric;
    return kNone;
  }
  const Fabric* said() const { return fabric_ == kNone ? nullptr : &catalog_.fabrics[fabric_]; }
  void term(std::string name, std::string value, std::string source = {}, Position at = {}) {
    out_.terms.push_back({std::move(name), std::move(value), std::move(source), at, {}, {}});
  }
  void quantity(std::string name, double number, std::string unit, std::string source = {},
                Position at = {}) {
    term(std::move(name), number_text(number) + (unit.empty() ? "" : " " + unit), std::move(source), at);
    out_.terms.back().number = number;
    out_.terms.back().unit = std::move(unit);
  }
  void constants(const std::vector<Constant>& all) {
    for (const Constant& one : all) quantity(one.name, one.value, one.unit, one.source);
  }
  // The number that the allocation gave to a name in a pool.
  void numbered(const std::string& pool, const std::string& name) {
    const auto found = compiled_.allocation.lock.pools.find("Fabric/" + *said()->metadata.name + " " + pool);
    if (found == compiled_.allocation.lock.pools.end()) return;
    if (const auto member = found->second.find(name); member != found->second.end())
      quantity("number of " + name, static_cast<double>(member->second), "",
               "its place in the hostlist, or " + std::string(kAllocationLockFile));
  }
  void block(DeviceIndex leaf);
  void aggregate();
  void address();
  void loopback();
  void asn();
  void rate();
  void link_speed();
  void headroom();
  void shared_headroom();
  void threshold();
  void cable_length();
  void ecn();
  void software_ecn();
  void ecmp();
  void cable();
  void rails();

  const Compiled& compiled_;
  const Topology& topology_;
  const Catalog& catalog_;
  DeviceIndex device_;
  Explanation& out_;
  PortIndex port_ = kNone;
  const TopologyLink* link_ = nullptr;
  FabricIndex fabric_ = kNone;
};

void Explainer::block(DeviceIndex leaf) {
  if (said() == nullptr) return;
  const Said<IpPrefix>& pool = said()->addressing->hosts;
  term("pool", pool->text(), "", pool.at);
  numbered("leaf", topology_.devices[leaf].name);
  if (const auto& own = compiled_.allocation.block[fabric_][leaf])
    term("block of " + topology_.devices[leaf].name, own->text());
}

void Explainer::address() {
  if (link_ == nullptr) return loopback();
  const PortIndex leaf_port =
      topology_.devices[topology_.ports[link_->a].device].is_switch() ? link_->a : link_->b;
  const DeviceIndex leaf = topology_.ports[leaf_port].device;
  block(leaf);
  const DeviceSet& set = catalog_.device_sets[topology_.devices[leaf].set];
  numbered("port/" + *set.metadata.name, std::string(topology_.ports[leaf_port].name));
  cable();
}

void Explainer::aggregate() {
  const auto& blocks = compiled_.allocation.block;
  for (fabric_ = 0; fabric_ < blocks.size(); ++fabric_)
    if (const auto& own = blocks[fabric_][device_]; own && own->text() == out_.path.key(0))
      return block(device_);
}

void Explainer::loopback() {
  fabric_ = compiled_.allocation.loopback_by[device_];
  if (said() == nullptr) return;
  const Said<IpPrefix>& pool = said()->addressing->loopbacks;
  if (pool.said) term("pool", pool->text(), "", pool.at);
  numbered("loopback", topology_.devices[device_].name);
}

void Explainer::asn() {
  fabric_ = compiled_.allocation.asn_by[device_];
  if (said() == nullptr) return;
  const Asns& asns = *said()->routing->asn;
  const Said<AsnRange>* const ranges[] = {&asns.host, &asns.leaf, &asns.spine, &asns.superspine};
  const TopologyDevice& self = topology_.devices[device_];
  const Said<AsnRange>& range = *ranges[self.tier()];
  term("range", format(*range), "", range.at);
  numbered("asn/" + std::string(to_string(self.role)), self.name);
}

void Explainer::rate() {
  std::uint64_t fastest = 0;
  std::uint64_t fastest_in_twin = 0;
  for (const TopologyLink& link : topology_.links) {
    fastest = std::max(fastest, link.speed);
    fastest_in_twin = std::max(fastest_in_twin, link.speed_in_twin);
  }
  link_speed();
  term("fastest link", format(BitRate{fastest}));
  term("fastest link in the twin", format(BitRate{fastest_in_twin}), "--link-rate");
}

void Explainer::link_speed() {
  if (link_ == nullptr) return;
  term("link speed", format(BitRate{link_->speed}), "", link_->speed_at);
  if (link_->speed_in_twin != 0) term("link speed in the twin", format(BitRate{link_->speed_in_twin}));
}

std::string_view rule_of(const Headroom& headroom) {
  switch (headroom.rule) {
    case HeadroomRule::sonic:
      return "xoff = frame + (frame + 2 (cable + gearbox) + MAC and PHY + peer) x cells; xon = pipeline";
    case HeadroomRule::table:
      return "the vendor's row for this speed (or the next) and the next longer cable";
    case HeadroomRule::mlx5:
      return "xoff = (fixed + cable) x Gbit/s + MTU; total: xoff, a largest frame and a cell";
  }
  return {};
}

void Explainer::headroom() {
  if (port_ == kNone) return;
  link_speed();
  const Result<Headroom> computed = headroom_of_port(catalog_, topology_, port_);
  if (!computed) return;
  term("platform", std::string(topology_.ports[port_].platform));
  constants(computed->constants);
  term("rule", std::string(rule_of(*computed)));
  quantity("xoff", static_cast<double>(computed->xoff), "B");
  if (computed->rule != HeadroomRule::mlx5) quantity("xon", static_cast<double>(computed->xon), "B");
  quantity("total", static_cast<double>(computed->size), "B");
  if (computed->reserved != computed->size) shared_headroom();
}

// For the whole switch.
void Explainer::shared_headroom() {
  const std::optional<BufferUse> use = buffer_of(catalog_, topology_, device_);
  if (!use || use->shared_headroom == 0) return;
  quantity("lossless ports", use->ports, "");
  if (use->fires) quantity("lossless priorities of each", use->fires->priorities, "");
  quantity("each may ask for at most",
           static_cast<double>(use->largest_headroom.size - use->largest_headroom.reserved), "B");
  quantity("all may ask for together", static_cast<double>(use->shared_asked), "B");
  quantity("shared headroom", static_cast<double>(use->shared_headroom), "B");
  quantity("oversubscription",
           static_cast<double>(use->shared_asked) / static_cast<double>(use->shared_headroom), "times",
           "what all may ask for, of the shared headroom");
}

void Explainer::threshold() {
  if (port_ == kNone) return;
  const Result<const Platform*> platform = find_platform(catalog_, topology_.ports[port_].platform);
  if (!platform) return;
  term("platform", (*platform)->name);
  if (!(*platform)->alpha_log2) return;
  const Figure& alpha = *(*platform)->alpha_log2;
  quantity("log2 of alpha", alpha.value, "", alpha.source);
  for (const OtherValue& one : alpha.differs) quantity("elsewhere", one.value, "", one.source);
}

void Explainer::cable_length() {
  if (link_ == nullptr) return;
  const Said<Length>& law = catalog_.fabrics[link_->fabric].cabling[link_->law].cable_length;
  if (law.said)
    term("cable", format(*law), "", law.at);
  else
    term("cable", format(Length{kAssumedCableMillimetres}), "assumed: its cabling rule sets none");
}

void Explainer::ecn() {
  if (link_ == nullptr) return;
  const Said<std::string>& name = catalog_.fabrics[link_->fabric].roce_profile;
  const RoceProfile* const profile = find(catalog_.roce_profiles, *name);
  if (profile == nullptr) return;
  const std::optional<BufferUse> use =
      compiled_.twin ? std::nullopt : buffer_of(catalog_, topology_, device_);
  for (const TrafficClass& one : profile->classes) {
    if (std::to_string(*one.tc) != out_.path.key(1)) continue;
    link_speed();
    const Said<Ecn>& said = ecn_on(one, topology_.devices[device_].role);
    const EcnThresholds computed = ecn_of_port(
        ecn_port(catalog_, topology_, port_, use ? use->fires : std::nullopt), *said, compiled_.twin);
    constants(computed.constants);
    if (computed.shrunk)
      term("shrunk", "yes", "so that marking begins before PFC fires, as far as the least Kmin lets it");
  }
}

void Explainer::software_ecn() {
  link_speed();
  if (link_ == nullptr) return;
  const Said<std::uint32_t>& mtu = mtu_of(catalog_, *link_);
  term("MTU", std::to_string(*mtu) + " B", "", mtu.at);
}

void Explainer::ecmp() {
  for (const auto& blocks : compiled_.allocation.block)
    for (DeviceIndex leaf = 0; leaf < blocks.size(); ++leaf)
      if (blocks[leaf] && blocks[leaf]->text() == out_.path.key(0))
        term("block of", topology_.devices[leaf].name);
  if (out_.value.kind() != Value::Kind::list) return;
  for (const std::string_view name : out_.value.as_list()) {
    const PortIndex port = topology_.find_port(device_, name);
    if (port == kNone || topology_.peer(port) == kNone) continue;
    term("over " + std::string(name), topology_.port_text(topology_.peer(port)), "",
         topology_.links[topology_.ports[port].link].at);
  }
}

void Explainer::cable() {
  if (link_ == nullptr) return;
  term("cable", topology_.port_text(link_->a) + " - " + topology_.port_text(link_->b), "", link_->at);
  if (link_->rail != kNone) quantity("rail", link_->rail, "");
}

void Explainer::rails() {
  for (FabricIndex fabric = 0; fabric < topology_.fabrics.size(); ++fabric) {
    std::uint32_t number = 0;
    for (const Endpoint& endpoint : topology_.fabrics[fabric].endpoints) {
      if (endpoint.device != device_) continue;
      const auto& own = compiled_.allocation.port[endpoint.port];
      const auto& leaf = compiled_.allocation.port[endpoint.leaf_port];
      term("rail " + std::to_string(endpoint.rail),
           std::string(topology_.ports[endpoint.port].name) + " " + (own ? own->text() : "(no address)") +
               " to " + topology_.port_text(endpoint.leaf_port) + " " +
               (leaf ? leaf->text() : "(no address)") + ", table " +
               std::to_string(rail_table_number(fabric, number)),
           "", topology_.links[endpoint.link].at);
      ++number;
    }
  }
}

}  // namespace

Result<DeviceIndex> device_called(const Compiled& compiled, std::string_view name) {
  if (const DeviceIndex index = compiled.topology.find_device(name); index != kNone) return index;
  std::vector<std::string_view> names;
  for (const TopologyDevice& one : compiled.topology.devices) names.push_back(one.name);
  std::string what = "the specs have no device called '" + std::string(name) + "'";
  if (const std::string_view near = nearest(name, names); !near.empty())
    what += "; did you mean '" + std::string(near) + "'?";
  return Error{ErrorKind::invalid_spec, std::move(what)};
}

Result<Explanation> explain(const Compiled& compiled, const Catalog& catalog, std::string_view device,
                            Path path) {
  TRY(const DeviceIndex index, device_called(compiled, device));
  const Intent& intent = compiled.intents[index];
  const Entry* const entry = intent.want.find(path);
  if (entry == nullptr)
    return Error{ErrorKind::invalid_spec,
                 "no spec says anything about " + path.text() + " on " + std::string(device)};
  Explanation out;
  out.device = device;
  out.path = path;
  out.value = entry->value;
  out.origin = compiled.origins[entry->origin];
  out.sentence = rule_sentence(out.origin.rule);
  out.doc = schema_row(path.row()).doc;
  out.unit = schema_row(path.row()).unit;
  for (const Overruled& one : intent.overruled)
    if (one.path == path) out.overruled.push_back(one);
  Explainer(compiled, catalog, index, out).run();
  return out;
}

}  // namespace lockstep
