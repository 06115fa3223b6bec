#include "specs/fabric/allocation.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>

#include "specs/fabric/codes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// A leaf's block has room for this many host links if the pool allows it: a leaf of 64 host ports and 64
// uplinks is half a 128-port switch, so a full leaf never needs another block.
constexpr std::uint64_t kLinksPerBlock = 64;

// Numbers of one pool: locked ones first, then each name's preferred number, then the lowest free one.
class Numbers {
 public:
  Numbers(const AllocationLock* locked, std::map<std::string, std::uint64_t>& kept, const std::string& pool)
      : kept_(kept) {
    if (locked == nullptr) return;
    const auto found = locked->pools.find(pool);
    if (found == locked->pools.end()) return;
    kept_ = found->second;  // removed names keep their numbers, for a device that returns
    std::map<std::uint64_t, std::string_view> names;
    for (const auto& [name, number] : kept_) {
      taken_.insert(number);
      const auto [first, fresh] = names.try_emplace(number, name);
      if (!fresh && twice_.empty())
        twice_ = std::to_string(number) + " to " + std::string(first->second) + " and to " + name;
    }
  }
  std::uint64_t of(const std::string& name, std::uint64_t preferred, std::uint64_t lowest) {
    if (const auto found = kept_.find(name); found != kept_.end()) return found->second;
    std::uint64_t number = preferred;
    if (taken_.contains(number))
      for (number = lowest; taken_.contains(number);) ++number;
    taken_.insert(number);
    kept_.emplace(name, number);
    return number;
  }
  // "7 to leaf1 and to leaf2": a duplicate in the lock; empty: none.
  const std::string& twice() const { return twice_; }

 private:
  std::map<std::string, std::uint64_t>& kept_;
  std::set<std::uint64_t> taken_;
  std::string twice_;
};

class Allocator {
 public:
  Allocator(const Catalog& catalog, const Topology& topology, const AllocateOptions& options,
            Diagnostics& diagnostics)
      : catalog_(catalog), topology_(topology), diagnostics_(diagnostics) {
    if (options.lock && !options.renumber) locked_ = &*options.lock;
    if (options.lock && options.renumber) out_.lock = AllocationLock{};
    out_.port.resize(topology.ports.size());
    out_.loopback.resize(topology.devices.size());
    out_.asn.resize(topology.devices.size());
    out_.block.assign(topology.fabrics.size(), {topology.devices.size(), std::nullopt});
    out_.router_id.resize(topology.devices.size());
    out_.asn_by.resize(topology.devices.size(), kNone);
    out_.loopback_by.resize(topology.devices.size(), kNone);
    std::uint64_t next = 0;
    for (std::uint32_t set = 0; set < catalog.device_sets.size(); ++set) first_ordinal_.push_back(0);
    for (unsigned tier = 0; tier <= 3; ++tier) {
      next = 0;
      for (std::uint32_t set = 0; set < catalog.device_sets.size(); ++set) {
        if (static_cast<unsigned>(*catalog.device_sets[set].role) != tier) continue;
        first_ordinal_[set] = next;
        next += set_size(set);
      }
      devices_of_tier_[tier] = next;
    }
  }

  Allocation run() {
    for (FabricIndex fabric = 0; fabric < topology_.fabrics.size(); ++fabric) {
      index_ = fabric;
      said_ = &catalog_.fabrics[fabric];
      graph_ = &topology_.fabrics[fabric];
      if (graph_->links.empty()) continue;
      if (said_->addressing.said) {
        give_loopbacks();
        give_blocks();
      }
      if (*said_->routing->protocol == Protocol::bgp_unnumbered && said_->routing.said) give_asns();
    }
    check_sharing();
    check_overlaps();
    return std::move(out_);
  }

 private:
  void give_loopbacks();
  std::map<std::uint32_t, std::uint64_t> leaves_before() const;
  std::vector<std::uint64_t> places_in_blocks();
  void give_blocks();
  void give_asns();
  void set_asn(DeviceIndex device, std::uint32_t asn, const Said<AsnRange>& range);
  // A device of that tier or above with ports of both fabrics; kNone: none.
  DeviceIndex shared(FabricIndex a, FabricIndex b, unsigned from_tier) const;
  void give_asns_of(unsigned tier, const Said<AsnRange>& range, std::string_view word);
  void check_sharing();
  void check_overlaps();
  std::uint8_t link_length(const Said<IpPrefix>& pool) const { return pool->address.v6 ? 127 : 31; }
  std::uint64_t block_links(std::uint64_t ports_max);
  Numbers numbers(const std::string& what) {
    const std::string pool = "Fabric/" + *said_->metadata.name + " " + what;
    Numbers out(locked_, out_.lock.pools[pool], pool);
    if (!out.twice().empty())
      report(fabric_code::lock_conflict, said_->metadata.name.at,
             "allocations.lock gives a number of '" + pool + "' twice: " + out.twice(),
             "delete the line of the one that is not in use yet: it is given another number");
    return out;
  }
  std::uint64_t ordinal(DeviceIndex device) const {
    return first_ordinal_[topology_.devices[device].set] + topology_.devices[device].ordinal;
  }
  void report(std::string_view code, Position at, std::string message, std::string hint,
              std::vector<Related> related = {}) {
    diagnostics_.push_back(Diagnostic{.code = std::string(code),
                                      .at = at,
                                      .message = std::move(message),
                                      .hint = std::move(hint),
                                      .related = std::move(related)});
  }
  bool usable(const Said<IpPrefix>& pool);
  std::uint64_t set_size(std::uint32_t set) const {
    const Result<std::size_t> count = count_hostlist(*catalog_.device_sets[set].names);
    return count ? *count : 0;
  }
  // "Fabric/backend and Fabric/storage": those with switches of these tiers.
  std::string fabrics_with(unsigned first_tier, unsigned last_tier) const;
  // Why a pool has no such number for a device: without a lock, numbers end before `end`, and `takers` of
  // them are needed; a lock may keep a higher one.
  std::string demand(DeviceIndex device, std::uint64_t number, std::uint64_t end, std::uint64_t takers,
                     const std::string& who) const;

  const Catalog& catalog_;
  const Topology& topology_;
  Diagnostics& diagnostics_;
  const AllocationLock* locked_ = nullptr;
  Allocation out_;
  std::vector<std::uint64_t> first_ordinal_;  // by set: number of devices of its tier in the sets before it
  std::uint64_t devices_of_tier_[4] = {};
  FabricIndex index_ = 0;
  const Fabric* said_ = nullptr;
  const FabricGraph* graph_ = nullptr;
  std::set<std::pair<FabricIndex, FabricIndex>> told_;
};

bool Allocator::usable(const Said<IpPrefix>& pool) {
  const Said<Family>& family = said_->addressing->family;
  if (!family.said || (*family == Family::ipv6) == pool->address.v6) return true;
  report(fabric_code::wrong_family, pool.at,
         "the pool " + pool->text() + " is not of the family " + std::string(to_string(*family)),
         "change the pool or the family", {{family.at, "the family is set here"}});
  return false;
}

std::string Allocator::fabrics_with(unsigned first_tier, unsigned last_tier) const {
  std::vector<std::string> names;
  for (FabricIndex fabric = 0; fabric < topology_.fabrics.size(); ++fabric)
    for (unsigned tier = first_tier; tier <= last_tier; ++tier) {
      if (topology_.fabrics[fabric].tier(tier).empty()) continue;
      names.push_back("Fabric/" + *catalog_.fabrics[fabric].metadata.name);
      break;
    }
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

std::string Allocator::demand(DeviceIndex device, std::uint64_t number, std::uint64_t end,
                              std::uint64_t takers, const std::string& who) const {
  return number < end ? ", and " + std::to_string(takers) + " " + who + " need one each"
                      : ", and " + topology_.devices[device].name + " has number " + std::to_string(number) +
                            " in allocations.lock";
}

void Allocator::give_loopbacks() {
  const Said<IpPrefix>& pool = said_->addressing->loopbacks;
  Numbers given = numbers("loopback");
  bool reported = !pool.said || !usable(pool);
  std::uint64_t before = 1;  // number 0 is the pool's own address, which looks like a network
  for (unsigned tier = 1; tier <= 3; ++tier) {
    for (const DeviceIndex device : graph_->tier(tier)) {
      const std::uint64_t number = given.of(topology_.devices[device].name, before + ordinal(device), 1);
      // A switch shared by fabrics has one loopback, from the first fabric that has a pool.
      if (out_.loopback[device] || (out_.loopback_by[device] != kNone && !pool.said)) continue;
      out_.loopback_by[device] = index_;
      if (number <= 0xFFFF'FFFF)
        out_.router_id[device] = IpAddress::v4(static_cast<std::uint32_t>(number)).text();
      if (!pool.said) continue;
      const std::optional<IpAddress> address = pool->nth_address(number);
      if (address) {
        out_.loopback[device] = IpPrefix{*address, static_cast<std::uint8_t>(address->width())};
        if (!address->v6) out_.router_id[device] = address->text();
      } else if (!std::exchange(reported, true)) {
        const std::uint64_t takers = devices_of_tier_[1] + devices_of_tier_[2] + devices_of_tier_[3];
        report(fabric_code::pool_too_small, pool.at,
               "the loopbacks' pool " + pool->text() + " has " +
                   std::to_string(pool->subnets(pool->address.v6 ? 128 : 32)) +
                   " addresses, of which the first is not used" +
                   demand(device, number, takers + 1, takers, "switches of " + fabrics_with(1, 3)),
               "use a shorter prefix");
      }
    }
    before += devices_of_tier_[tier];
  }
}

// How many host links a block holds: from the lock, else a full leaf's worth, else just enough.
std::uint64_t Allocator::block_links(std::uint64_t ports_max) {
  const Said<IpPrefix>& pool = said_->addressing->hosts;
  const std::uint64_t needed = std::bit_ceil(std::max<std::uint64_t>(ports_max, 1));
  const std::uint64_t links = pool->subnets(link_length(pool));
  const std::uint64_t roomy = std::max(needed, kLinksPerBlock);
  const std::uint64_t preferred =
      roomy <= links / std::max<std::uint64_t>(graph_->leaves.size(), 1) ? roomy : needed;
  Numbers given = numbers("block");
  const std::uint64_t locked = given.of("links", preferred, preferred);
  if (locked >= ports_max && std::has_single_bit(locked)) return locked;
  report(fabric_code::lock_conflict, pool.at,
         "a leaf has " + std::to_string(ports_max) + " host ports, and allocations.lock keeps blocks of " +
             std::to_string(locked) + " links",
         "larger blocks move addresses: `--renumber` does that");
  return 0;
}

// By set with leaves in this fabric: the number of leaves in the sets before it. Other fabrics' leaves use no
// room in this one's pool.
std::map<std::uint32_t, std::uint64_t> Allocator::leaves_before() const {
  std::map<std::uint32_t, std::uint64_t> out;
  for (const DeviceIndex leaf : graph_->leaves) out.try_emplace(topology_.devices[leaf].set, 0);
  std::uint64_t next = 0;
  for (auto& [set, before] : out) {
    before = next;
    next += set_size(set);
  }
  return out;
}

// For each endpoint the index of its leaf port within the leaf.
std::vector<std::uint64_t> Allocator::places_in_blocks() {
  // It follows from the port's name: one small map per set, not one entry per port.
  std::map<std::uint32_t, Numbers> places;
  std::vector<std::uint64_t> place(graph_->endpoints.size());
  // In the order of the laws, so that the n-th port of the hostlist has number n.
  std::vector<std::uint32_t> order(graph_->endpoints.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return graph_->endpoints[a].link < graph_->endpoints[b].link;
  });
  std::unordered_map<std::uint64_t, std::uint64_t> known;  // (set, name id) -> place
  for (const std::uint32_t i : order) {
    const Endpoint& endpoint = graph_->endpoints[i];
    const std::uint32_t set = topology_.devices[endpoint.leaf].set;
    const TopologyPort& port = topology_.ports[endpoint.leaf_port];
    const auto [at, fresh] = known.try_emplace(std::uint64_t{set} << 32 | port.name_id, 0);
    if (fresh) {
      auto numbering = places.find(set);
      if (numbering == places.end())
        numbering = places.emplace(set, numbers("port/" + *catalog_.device_sets[set].metadata.name)).first;
      at->second = numbering->second.of(std::string(port.name), 0, 0);
    }
    place[i] = at->second;
  }
  return place;
}

void Allocator::give_blocks() {
  const Said<IpPrefix>& pool = said_->addressing->hosts;
  if (graph_->endpoints.empty()) return;
  if (!pool.said)
    return report(fabric_code::nothing_said, said_->addressing.at,
                  "no line says which addresses the host links have",
                  "add `hosts: 10.64.0.0/16` to addressing");
  if (!usable(pool)) return;
  const std::vector<std::uint64_t> place = places_in_blocks();
  const std::uint64_t ports_max = *std::max_element(place.begin(), place.end()) + 1;
  const std::uint64_t links = block_links(ports_max);
  if (links == 0) return;
  const std::uint8_t length = link_length(pool);
  const auto block_length = static_cast<std::uint8_t>(length - std::countr_zero(links));
  if (std::countr_zero(links) > length - pool->length)
    return report(fabric_code::pool_too_small, pool.at,
                  "the hosts' pool " + pool->text() + " is smaller than one leaf's block of " +
                      std::to_string(links) + " links",
                  "use a shorter prefix");
  Numbers blocks = numbers("leaf");
  const std::map<std::uint32_t, std::uint64_t> before = leaves_before();
  for (const DeviceIndex leaf : graph_->leaves) {
    const std::uint64_t number =
        blocks.of(topology_.devices[leaf].name,
                  before.at(topology_.devices[leaf].set) + topology_.devices[leaf].ordinal, 0);
    out_.block[index_][leaf] = pool->nth_subnet(block_length, number);
    if (out_.block[index_][leaf]) continue;
    const std::uint64_t takers = before.rbegin()->second + set_size(before.rbegin()->first);
    report(fabric_code::pool_too_small, pool.at,
           "the hosts' pool " + pool->text() + " has " + std::to_string(pool->subnets(block_length)) +
               " blocks of " + std::to_string(links) + " links" +
               demand(leaf, number, takers, takers,
                      "leaf switches in the DeviceSets of Fabric/" + *said_->metadata.name),
           "use a shorter prefix");
    break;
  }
  for (std::size_t i = 0; i < graph_->endpoints.size(); ++i) {
    const Endpoint& endpoint = graph_->endpoints[i];
    const auto& block = out_.block[index_][endpoint.leaf];
    if (!block) continue;
    const std::optional<IpPrefix> link = block->nth_subnet(length, place[i]);
    if (!link) continue;
    // RFC 3021 (and RFC 6164 for IPv6): both addresses of the pair are host addresses; the leaf has the even
    // one.
    out_.port[endpoint.leaf_port] = link;
    out_.port[endpoint.port] = IpPrefix{*link->nth_address(1), length};
  }
}

void Allocator::set_asn(DeviceIndex device, std::uint32_t asn, const Said<AsnRange>& range) {
  if (out_.asn_by[device] == kNone) {
    out_.asn[device] = asn;
    out_.asn_by[device] = index_;
    return;
  }
  if (out_.asn[device] == asn || !told_.insert({index_, out_.asn_by[device]}).second) return;
  const Fabric& first = catalog_.fabrics[out_.asn_by[device]];
  const Asns& asns = *first.routing->asn;
  const Said<AsnRange>* const ranges[] = {&asns.host, &asns.leaf, &asns.spine, &asns.superspine};
  report(fabric_code::two_asns, range.at,
         topology_.devices[device].name + " would have AS number " + std::to_string(asn) + " here, and has " +
             std::to_string(out_.asn[device]) + " in Fabric/" + *first.metadata.name,
         "a switch has one AS number: write the same ranges in all fabrics that share it",
         {{ranges[topology_.devices[device].tier()]->at, "the other range is here"}});
}

void Allocator::give_asns_of(unsigned tier, const Said<AsnRange>& range, std::string_view word) {
  const std::vector<DeviceIndex>& devices = graph_->tier(tier);
  if (devices.empty()) return;
  if (!range.said)
    return report(
        fabric_code::nothing_said, said_->routing->asn.said ? said_->routing->asn.at : said_->routing.at,
        "no line says which AS numbers the fabric's " + std::string(word) + " switches have",
        "add `" + std::string(word) + ": 4200000000-4200009999` to routing.asn (private use: RFC 6996)");
  if (range->first == range->last) {
    for (const DeviceIndex device : devices) set_asn(device, range->first, range);
    return;
  }
  Numbers given = numbers("asn/" + std::string(word));
  const std::uint64_t size = std::uint64_t{range->last} - range->first + 1;
  for (const DeviceIndex device : devices) {
    const std::uint64_t number = given.of(topology_.devices[device].name, ordinal(device), 0);
    if (number < size) {
      set_asn(device, static_cast<std::uint32_t>(range->first + number), range);
      continue;
    }
    return report(fabric_code::pool_too_small, range.at,
                  "the range " + format(*range) + " has " + std::to_string(size) + " AS numbers" +
                      demand(device, number, devices_of_tier_[tier], devices_of_tier_[tier],
                             std::string(word) + " switches of " + fabrics_with(tier, tier)),
                  "widen the range");
  }
}

void Allocator::give_asns() {
  const Asns& asn = *said_->routing->asn;
  give_asns_of(1, asn.leaf, "leaf");
  give_asns_of(2, asn.spine, "spine");
  give_asns_of(3, asn.superspine, "superspine");
  const Said<AsnRange>* const ranges[] = {&asn.host, &asn.leaf, &asn.spine, &asn.superspine};
  for (std::size_t i = 0; i < std::size(ranges); ++i)
    for (std::size_t j = i + 1; j < std::size(ranges); ++j)
      if (ranges[i]->said && ranges[j]->said && (*ranges[i])->first <= (*ranges[j])->last &&
          (*ranges[j])->first <= (*ranges[i])->last)
        report(fabric_code::pools_overlap, ranges[j]->at,
               "the AS numbers " + format(**ranges[j]) + " overlap with " + format(**ranges[i]),
               "tiers need AS numbers of their own", {{ranges[i]->at, "the other range is here"}});
}

DeviceIndex Allocator::shared(FabricIndex a, FabricIndex b, unsigned from_tier) const {
  for (unsigned tier = from_tier; tier <= 3; ++tier) {
    const std::vector<DeviceIndex>& one = topology_.fabrics[a].tier(tier);
    const std::vector<DeviceIndex>& other = topology_.fabrics[b].tier(tier);
    for (const DeviceIndex device : one)
      if (std::binary_search(other.begin(), other.end(), device)) return device;
  }
  return kNone;
}

// In one table the routes of both would be mixed: each would be reachable over the other's links.
void Allocator::check_sharing() {
  for (FabricIndex j = 0; j < catalog_.fabrics.size(); ++j) {
    for (FabricIndex i = 0; i < j; ++i) {
      const Fabric& one = catalog_.fabrics[i];
      const Fabric& other = catalog_.fabrics[j];
      const DeviceIndex both = *one.vrf == *other.vrf ? shared(i, j, 1) : kNone;
      if (both == kNone) continue;
      report(fabric_code::one_table, other.vrf.said ? other.vrf.at : other.metadata.name.at,
             topology_.devices[both].name + " is in Fabric/" + *one.metadata.name + " and in Fabric/" +
                 *other.metadata.name + ", which no VRFs separate",
             "add `vrf: NAME` to one of them, another in each",
             {{one.vrf.said ? one.vrf.at : one.metadata.name.at, "the other fabric is here"}});
    }
  }
}

// load() has already reported two pools in one fabric's addressing. In different VRFs pools may overlap if no
// device is in both: a device forwards by prefix.
void Allocator::check_overlaps() {
  struct Pool {
    const Said<IpPrefix>* prefix;
    FabricIndex fabric;
    bool vlan;
  };
  std::vector<Pool> pools;
  for (FabricIndex i = 0; i < catalog_.fabrics.size(); ++i) {
    const Fabric& fabric = catalog_.fabrics[i];
    for (const Said<IpPrefix>* pool : {&fabric.addressing->hosts, &fabric.addressing->loopbacks})
      if (pool->said) pools.push_back({pool, i, false});
    for (const Vlan& vlan : fabric.vlans)
      if (vlan.subnet.said) pools.push_back({&vlan.subnet, i, true});
  }
  for (std::size_t i = 0; i < pools.size(); ++i) {
    for (std::size_t j = i + 1; j < pools.size(); ++j) {
      const Pool& one = pools[i];
      const Pool& other = pools[j];
      const bool told = one.fabric == other.fabric && !one.vlan && !other.vlan;
      if (told || !(*one.prefix)->overlaps(**other.prefix)) continue;
      const bool vrfs = *catalog_.fabrics[one.fabric].vrf != *catalog_.fabrics[other.fabric].vrf;
      const DeviceIndex both = vrfs ? shared(one.fabric, other.fabric, 0) : kNone;
      if (vrfs && both == kNone) continue;
      report(fabric_code::pools_overlap, other.prefix->at,
             "the pool " + (*other.prefix)->text() + " overlaps with " + (*one.prefix)->text() +
                 (vrfs ? ", and " + topology_.devices[both].name + " is in both fabrics" : ""),
             vrfs ? "pools of fabrics that share a device have no address in common, whatever their VRFs"
                  : "pools of one VRF have no address in common",
             {{one.prefix->at, "the other pool is here"}});
    }
  }
}

}  // namespace

Allocation allocate(const Catalog& catalog, const Topology& topology, const AllocateOptions& options,
                    Diagnostics& diagnostics) {
  return Allocator(catalog, topology, options, diagnostics).run();
}

}  // namespace lockstep
