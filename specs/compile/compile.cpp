#include "specs/compile/compile.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "specs/compile/compilation.hpp"
#include "specs/compile/exceptions.hpp"
#include "specs/compile/numbered_entries.hpp"
#include "specs/compile/path_mtus.hpp"
#include "specs/compile/rollout.hpp"
#include "specs/compile/rules.hpp"
#include "specs/compile/session_timers.hpp"
#include "specs/compile/unset_rows.hpp"
#include "specs/fabric/codes.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// A completed class of devices: its entries by row, ready to be copied.
struct DeviceClass {
  std::vector<Entry> entries;
  // Number of entries before the n-th numbered row; the last element counts all.
  std::array<std::size_t, kNumberedRows.size() + 1> cut{};
  std::vector<Claim> claims;
  std::vector<Overruled> overruled;
  std::shared_ptr<const std::vector<Allowed>> allowed;
  Conduct conduct = Conduct::converge;
  bool apply_allowed = true;
};

class Compiler {
 public:
  Compiler(const Catalog& catalog, const CompileOptions& options, Compiled& out)
      : catalog_(catalog),
        out_(out),
        origins_(catalog),
        c_{.catalog = catalog,
           .options = options,
           .topology = out.topology,
           .allocation = out.allocation,
           .origins = origins_,
           .diagnostics = out.diagnostics,
           .by_hand = out.by_hand,
           .device_sets = {},
           .fabrics = {},
           .roce_profiles = {},
           .host_profiles = {},
           .routes = {},
           .twin = options.twin.has_value()} {}

  void run() {
    add_claimants();
    if (!select_hosts() || !place_vlans()) return no_intents();
    for (FabricIndex i = 0; i < catalog_.fabrics.size(); ++i) c_.routes.push_back(route(out_.topology, i));
    classify();
    const std::vector<FabricNumbers> numbers = prepare_numbers(c_);
    no_intents();
    if (!entries_fit()) return;
    make_intents(numbers);
    if (made_ > c_.options.max_entries) return refuse_numbered();
    Exceptions exceptions(c_, covered_);
    for (DeviceIndex i = 0; i < out_.intents.size(); ++i) {
      exceptions.apply(i, out_.intents[i]);
      want_in_force(i, out_.intents[i]);
    }
    if (exceptions.override_any(row("interface[*]/mtu"))) check_path_mtus(c_, out_.intents);
    if (exceptions.override_any(row("bgp/neighbor[*]/hold")) ||
        exceptions.override_any(row("bgp/neighbor[*]/keepalive")))
      settle_session_timers(out_.topology, out_.intents);
    out_.origins = origins_.take();
  }

 private:
  using Signature = std::vector<std::uint32_t>;

  void add_claimants();
  // False, with a report, if the limit is exceeded.
  bool select_hosts();
  bool place_vlans();
  void classify();
  Signature signature(DeviceIndex device) const;
  DeviceClass make_class(DeviceIndex example, std::vector<ClaimantId>& claimants);
  void tell_unset(const std::vector<Entry>& entries, std::span<const DriverName> drivers);
  std::vector<FabricIndex> fabrics_of(DeviceIndex device) const;
  // Sets one empty intent per device.
  void no_intents() { out_.intents = std::vector<Intent>(out_.topology.devices.size()); }
  bool entries_fit();
  void refuse_numbered();
  void make_intents(const std::vector<FabricNumbers>& numbers);
  void make_intent(DeviceIndex device, NumberedEntries& numbered);
  void want_in_force(DeviceIndex device, Intent& intent);

  const Catalog& catalog_;
  Compiled& out_;
  OriginTable origins_;
  Compilation c_;
  std::vector<std::size_t> profile_of_fabric_;             // index into roce_profiles; kNone: none
  std::vector<std::vector<std::uint32_t>> host_profiles_;  // by device: those that select it
  std::vector<std::vector<std::pair<FabricIndex, std::uint32_t>>> vlans_of_;  // by device
  std::vector<std::vector<DeviceIndex>> covered_;                             // by claimant
  std::vector<DeviceClass> classes_;
  std::vector<std::uint32_t> class_of_;
  std::atomic<std::size_t> made_ = 0;  // number of entries, counted by all threads
};

std::string grouped(std::size_t number) {
  std::string out = std::to_string(number);
  for (std::size_t i = out.size(); i > 3; i -= 3) out.insert(i - 3, ",");
  return out;
}

void Compiler::add_claimants() {
  for (const DeviceSet& one : catalog_.device_sets)
    c_.device_sets.push_back(origins_.add_claimant("DeviceSet", one));
  for (const Fabric& one : catalog_.fabrics) c_.fabrics.push_back(origins_.add_claimant("Fabric", one));
  for (const RoceProfile& one : catalog_.roce_profiles)
    c_.roce_profiles.push_back(origins_.add_claimant("RoceProfile", one));
  for (const HostProfile& one : catalog_.host_profiles)
    c_.host_profiles.push_back(origins_.add_claimant("HostProfile", one));
  covered_.resize(catalog_.device_sets.size() + catalog_.fabrics.size() + catalog_.roce_profiles.size() +
                  catalog_.host_profiles.size());
  for (const Fabric& fabric : catalog_.fabrics) {
    std::size_t& index = profile_of_fabric_.emplace_back(kNone);
    if (!fabric.roce_profile.said) continue;
    if (const RoceProfile* const found = find(catalog_.roce_profiles, *fabric.roce_profile))
      index = static_cast<std::size_t>(found - catalog_.roce_profiles.data());
    else
      c_.report(fabric_code::no_such_object, fabric.roce_profile.at,
                "there is no RoceProfile called " + *fabric.roce_profile, "write it, or correct the name");
  }
}

bool Compiler::select_hosts() {
  std::size_t pairs = 0;  // pairs of a profile and a host: each may set entries there
  host_profiles_.resize(out_.topology.devices.size());
  for (std::uint32_t profile = 0; profile < catalog_.host_profiles.size(); ++profile) {
    const HostProfile& said = catalog_.host_profiles[profile];
    bool any = false;
    bool any_switch = false;
    for (DeviceIndex i = 0; i < out_.topology.devices.size(); ++i) {
      const TopologyDevice& device = out_.topology.devices[i];
      if (!selects(*said.selector, catalog_.device_sets[device.set], device.ordinal, device.name)) continue;
      any_switch = any_switch || device.is_switch();
      if (device.is_switch()) continue;
      if (++pairs > c_.options.max_entries) {
        c_.report(
            fabric_code::too_large, said.at,
            "HostProfiles select hosts more than " + grouped(c_.options.max_entries) + " times together",
            "have fewer profiles select the same hosts");
        return false;
      }
      host_profiles_[i].push_back(profile);
      any = true;
    }
    if (any || !any_switch) continue;  // load() has reported a selector that matches no device
    c_.warn(fabric_code::selects_nothing, said.selector.said ? said.selector.at : said.at,
            "the selector of HostProfile/" + *said.metadata.name + " matches switches only",
            "a HostProfile is for hosts: select a DeviceSet of role host");
  }
  return true;
}

bool Compiler::place_vlans() {
  std::size_t pairs = 0;  // pairs of a VLAN and a device
  vlans_of_.resize(out_.topology.devices.size());
  for (FabricIndex fabric = 0; fabric < catalog_.fabrics.size(); ++fabric) {
    const std::vector<Vlan>& vlans = catalog_.fabrics[fabric].vlans;
    for (std::uint32_t vlan = 0; vlan < vlans.size(); ++vlan) {
      const Result<PortList> ports = split_port_list(*vlans[vlan].ports);
      const auto names = expand_hostlist(ports ? ports->devices : std::string());
      for (const std::string& name : names ? *names : std::vector<std::string>())
        if (const DeviceIndex device = out_.topology.find_device(name);
            device != kNone && ++pairs <= c_.options.max_entries)
          vlans_of_[device].emplace_back(fabric, vlan);
      if (pairs <= c_.options.max_entries) continue;
      c_.report(fabric_code::too_large, vlans[vlan].ports.at,
                "VLANs are on devices more than " + grouped(c_.options.max_entries) + " times together",
                "have fewer VLANs on the same devices");
      return false;
    }
  }
  return true;
}

std::vector<FabricIndex> Compiler::fabrics_of(DeviceIndex device) const {
  std::vector<FabricIndex> out;
  for (const TopologyPort& port : out_.topology.ports_of(device))
    if (port.link != kNone) out.push_back(out_.topology.links[port.link].fabric);
  for (const auto& [fabric, vlan] : vlans_of_[device]) out.push_back(fabric);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Everything that the entries of a class depend on: see ClassEntries.
Compiler::Signature Compiler::signature(DeviceIndex index) const {
  const Topology& topology = out_.topology;
  const TopologyDevice& device = topology.devices[index];
  Signature out{device.set, device.port_count, static_cast<std::uint32_t>(host_profiles_[index].size()),
                static_cast<std::uint32_t>(vlans_of_[index].size()),
                // Within a set only the devices of an inventory differ in platform.
                catalog_.device_sets[device.set].inventory.empty() ? 0 : intern(device.platform)};
  out.insert(out.end(), host_profiles_[index].begin(), host_profiles_[index].end());
  for (const auto& [fabric, vlan] : vlans_of_[index]) out.insert(out.end(), {fabric, vlan});
  for (const TopologyPort& port : topology.ports_of(index)) {
    out.push_back(port.name_id);
    if (port.link == kNone) continue;
    const TopologyLink& link = topology.links[port.link];
    const bool host_link = link.rail != kNone;
    out.insert(out.end(),
               {kNone, link.fabric, link.law, host_link ? 1U : 0U, static_cast<std::uint32_t>(link.speed),
                static_cast<std::uint32_t>(link.speed >> 32)});
  }
  return out;
}

DeviceClass Compiler::make_class(DeviceIndex example, std::vector<ClaimantId>& claimants) {
  struct Part {
    std::int32_t priority;
    ClaimantId claimant;
    FabricIndex fabric;
    std::size_t profile;
    enum class Kind : std::uint8_t { of_set, of_fabric, of_roce, of_host } kind;
  };
  std::vector<Part> parts;
  const ClaimantId set = c_.device_sets[out_.topology.devices[example].set];
  parts.push_back({origins_.claimant(set).priority, set, 0, 0, Part::Kind::of_set});
  for (const FabricIndex fabric : fabrics_of(example)) {
    const ClaimantId who = c_.fabrics[fabric];
    parts.push_back({origins_.claimant(who).priority, who, fabric, 0, Part::Kind::of_fabric});
    if (const std::size_t profile = profile_of_fabric_[fabric]; profile != kNone) {
      const ClaimantId roce = c_.roce_profiles[profile];
      parts.push_back({origins_.claimant(roce).priority, roce, fabric, profile, Part::Kind::of_roce});
    }
  }
  for (const std::uint32_t profile : host_profiles_[example]) {
    const ClaimantId who = c_.host_profiles[profile];
    parts.push_back({origins_.claimant(who).priority, who, 0, profile, Part::Kind::of_host});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.priority > b.priority; });
  ClassEntries collected;
  collected.example = example;
  DeviceClass out;
  for (const Part& part : parts) {
    switch (part.kind) {
      case Part::Kind::of_set: add_device_set_entries(c_, collected); break;
      case Part::Kind::of_fabric: add_fabric_entries(c_, part.fabric, collected); break;
      case Part::Kind::of_roce: add_roce_entries(c_, part.fabric, part.profile, collected); break;
      case Part::Kind::of_host: add_host_entries(c_, part.profile, collected); break;
    }
    claimants.push_back(part.claimant);
    const Claimant& who = origins_.claimant(part.claimant);
    if (who.conduct == Conduct::suspended ||
        (who.conduct == Conduct::observe && out.conduct == Conduct::converge))
      out.conduct = who.conduct;
    out.apply_allowed = out.apply_allowed && who.apply_allowed;
  }
  std::vector<Clash> clashes;
  out.entries = collected.list.sorted(clashes);
  tell_unset(out.entries, c_.topology.devices[example].drivers);
  out.claims = std::move(collected.claims);
  out.overruled = settle_clashes(c_, example, clashes);
  if (!collected.allowed.empty())
    out.allowed = std::make_shared<const std::vector<Allowed>>(std::move(collected.allowed));
  for (std::size_t i = 0; i < kNumberedRows.size(); ++i) {
    const auto at = std::partition_point(out.entries.begin(), out.entries.end(), [i](const Entry& entry) {
      return entry.path.row() < kNumberedRows[i];
    });
    out.cut[i] = static_cast<std::size_t>(at - out.entries.begin());
  }
  out.cut.back() = out.entries.size();
  return out;
}

// Reports entries of spec fields, once per line; entries that a rule derives are reported in plans.
void Compiler::tell_unset(const std::vector<Entry>& entries, std::span<const DriverName> drivers) {
  if (c_.twin) return;
  for (const Entry& entry : entries) {
    if (!is_set_by_no_driver(entry.path.row(), drivers)) continue;
    const Origin& origin = origins_.origins()[entry.origin];
    if (!rule_sentence(origin.rule).empty()) continue;
    const auto told = std::ranges::find_if(out_.by_hand, [&](const Diagnostic& one) {
      return one.code == code::no_effect && one.at.file == origin.at.file && one.at.line == origin.at.line;
    });
    if (told != out_.by_hand.end()) continue;
    Diagnostic one;
    one.code = code::no_effect;
    one.severity = Severity::warning;
    one.at = origin.at;
    one.message = "no driver sets " + std::string(schema_row(entry.path.row()).pattern) + " yet";
    one.hint = "checked and explained, but no driver writes it; plans list it as not supported";
    out_.by_hand.push_back(std::move(one));
  }
}

void Compiler::classify() {
  std::map<Signature, std::uint32_t> known;
  std::vector<std::vector<ClaimantId>> claimants;
  for (DeviceIndex i = 0; i < out_.topology.devices.size(); ++i) {
    const auto [at, fresh] = known.try_emplace(signature(i), static_cast<std::uint32_t>(classes_.size()));
    if (fresh) classes_.push_back(make_class(i, claimants.emplace_back()));
    class_of_.push_back(at->second);
    for (const ClaimantId who : claimants[at->second]) covered_[who].push_back(i);
  }
  for (std::vector<DeviceIndex>& one : covered_) one.erase(std::unique(one.begin(), one.end()), one.end());
}

// Counts by class, before entries are copied for any device.
bool Compiler::entries_fit() {
  std::vector<std::size_t> devices(classes_.size());
  for (const std::uint32_t one : class_of_) ++devices[one];
  std::size_t count = 0;
  std::map<std::string_view, std::size_t> by_object;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    count += classes_[i].entries.size() * devices[i];
    for (const Entry& entry : classes_[i].entries)
      by_object[origins_.claimant_of(entry.origin).name] += devices[i];
  }
  if (count <= c_.options.max_entries) return true;
  const auto most = std::max_element(by_object.begin(), by_object.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const Claimant& who = origins_.claimant_named(most->first);
  c_.report(fabric_code::too_large, who.at,
            "all devices together want " + grouped(count) + " entries, " + grouped(most->second) +
                " of them by " + who.name + "; " + grouped(c_.options.max_entries) + " are allowed",
            "say less of each device, or allow more: --max-entries " + std::to_string(count) +
                " (16 bytes of memory each, at least)");
  return false;
}

void Compiler::refuse_numbered() {
  no_intents();
  c_.report(
      fabric_code::too_large, catalog_.fabrics.empty() ? Position{} : catalog_.fabrics.front().at,
      "routes and addresses make more than " + grouped(c_.options.max_entries) + " entries of all devices",
      "split the cluster, or allow more with --max-entries");
}

void Compiler::make_intent(DeviceIndex device, NumberedEntries& numbered) {
  const DeviceClass& shared = classes_[class_of_[device]];
  const auto& own = numbered.of(device);
  std::size_t count = shared.entries.size();
  for (const std::vector<Entry>& one : own) count += one.size();
  const std::size_t made = made_ += count;
  if (made > c_.options.max_entries) return;  // the result of this compile will be discarded
  std::vector<Entry> entries;
  entries.reserve(count);
  std::size_t from = 0;
  for (std::size_t i = 0; i <= own.size(); ++i) {
    const auto begin = shared.entries.begin();
    entries.insert(entries.end(), begin + static_cast<std::ptrdiff_t>(from),
                   begin + static_cast<std::ptrdiff_t>(shared.cut[i]));
    from = shared.cut[i];
    if (i < own.size()) entries.insert(entries.end(), own[i].begin(), own[i].end());
  }
  Intent& intent = out_.intents[device];
  intent.device = out_.topology.devices[device].name;
  intent.want = Tree::from_sorted(std::move(entries));
  intent.claims = shared.claims;
  intent.overruled = shared.overruled;
  intent.allowed = shared.allowed;
  intent.conduct = shared.conduct;
  intent.apply_allowed = shared.apply_allowed;
}

void Compiler::make_intents(const std::vector<FabricNumbers>& numbers) {
  const auto count = static_cast<DeviceIndex>(out_.intents.size());
  // Below this number of devices a thread costs more than it saves.
  constexpr DeviceIndex kDevicesPerThread = 256;
  const DeviceIndex threads =
      std::clamp<DeviceIndex>(count / kDevicesPerThread, 1, std::max(c_.options.threads, 1U));
  const auto work = [&](DeviceIndex part) {
    NumberedEntries numbered(c_, numbers);
    // Interleaved: hosts are small and many, switches large and few.
    for (DeviceIndex i = part; i < count; i += threads) make_intent(i, numbered);
  };
  std::vector<std::jthread> others;
  for (DeviceIndex part = 1; part < threads; ++part) others.emplace_back(work, part);
  work(0);
}

// Of a SONiC switch: that its daemons follow, and, where something that can write its files reaches it, that
// its next boot does.
void Compiler::want_in_force(DeviceIndex device, Intent& intent) {
  constexpr RowId kSaved = row("switch-config/saved");
  const TopologyDevice& self = out_.topology.devices[device];
  if (!has_driver(self, DriverName::sonic)) return;
  const bool any = std::ranges::any_of(intent.want.entries(), [](const Entry& entry) {
    const Row& one = schema_row(entry.path.row());
    return one.facet == Facet::config && one.is_saved_by(schema_row(kSaved).saves);
  });
  if (!any) return;
  const DeviceSet& set = catalog_.device_sets[self.set];
  const auto want = [&](RowId id, std::string_view rule) {
    intent.want.set(Path(id, {}), Value::present(),
                    origins_.of(c_.device_sets[self.set], set.drivers.front(), rule));
  };
  want(row("switch-config/taken-over"), rule::switch_taken_over);
  if (!c_.twin && set.connect.said && (set.connect->agent.said || set.connect->local.value))
    want(kSaved, rule::switch_saved);
}

}  // namespace

Compiled compile(const Catalog& catalog, const CompileOptions& options) {
  Compiled out;
  Expanded expanded = expand(catalog);
  out.topology = std::move(expanded.topology);
  out.diagnostics = std::move(expanded.diagnostics);
  out.twin = options.twin.has_value();
  if (options.twin) scale_for_twin(out.topology, options.twin->link_rate);
  out.allocation = allocate(catalog, out.topology, options.allocation, out.diagnostics);
  out.rollout = rollout_policies(catalog, out.topology, out.diagnostics);
  Compiler(catalog, options, out).run();
  return out;
}

}  // namespace lockstep
