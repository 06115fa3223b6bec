#include "specs/language/references.hpp"

#include <algorithm>
#include <unordered_map>

#include "specs/language/codes.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

Span span(const Said<std::string>& said) { return {said.at, static_cast<std::uint32_t>(said->size())}; }

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? "" : "did you mean '" + std::string(near) + "'?";
}

// The devices of all DeviceSets, by name.
class Devices {
 public:
  Devices(const Catalog& catalog, Reporter& reporter)
      : reporter_(reporter), elsewhere_(reporter.incomplete()) {
    for (const DeviceSet& set : catalog.device_sets) {
      // A set whose names could not be read may contain any name too: one error, not one per mention.
      elsewhere_ |= !set.names.said;
      if (set.names.said) add(set);
    }
    for (const auto& [name, set] : sets_) names_.push_back(name);
    std::sort(names_.begin(), names_.end());
  }

  const DeviceSet* set_of(const std::string& name) const {
    const auto at = sets_.find(name);
    return at == sets_.end() ? nullptr : at->second;
  }
  // An inventory kept elsewhere may contain any name.
  bool complete() const { return !elsewhere_; }
  const std::vector<std::string_view>& names() const { return names_; }

  // The names of a hostlist, or none if it is invalid (already reported) or the budget is used up.
  std::vector<std::string> expand(const Said<std::string>& list, std::string_view text) {
    const auto count = count_hostlist(text, hostlist_limit);
    if (!count) return {};  // reported when it was loaded
    spent_ += *count;
    if (spent_ <= total_name_limit) {
      auto names = expand_hostlist(text, hostlist_limit);
      if (names) return *std::move(names);
      reporter_.error(code::bad_hostlist, span(list), names.error().what);
      return {};
    }
    if (!told_)
      reporter_.error(
          code::too_many_names, span(list),
          "all hostlists together stand for more than " + std::to_string(total_name_limit) + " names");
    told_ = true;
    return {};
  }
  std::vector<std::string> expand(const Said<std::string>& list) { return expand(list, *list); }

  // Reports the devices of a hostlist that are in no DeviceSet, in one message.
  void check(const Said<std::string>& list, std::string_view devices, std::string_view who) {
    if (!complete() || told_) return;
    std::vector<std::string> unknown;
    for (std::string& name : expand(list, devices))
      if (set_of(name) == nullptr) unknown.push_back(std::move(name));
    if (unknown.empty()) return;
    const std::string hint = hint_for(unknown);
    reporter_.error(code::unknown_device, span(list),
                    std::string(who) + " names " + in_quotes(fold_hostlist(unknown)) + ", which " +
                        (unknown.size() == 1 ? "is" : "are") + " in no DeviceSet",
                    hint);
  }
  void check(const Said<std::string>& list, std::string_view who) {
    if (list.said) check(list, *list, who);
  }

 private:
  // "gpu5" beside gpu[1-4] is rather a device too many than a misspelt one.
  std::string hint_for(const std::vector<std::string>& unknown) const {
    const auto stem = [](std::string_view name) {
      return name.substr(0, name.find_last_not_of("0123456789") + 1);
    };
    const std::string_view name = unknown.front();
    if (stem(name) != name)
      for (const std::string_view one : names_)
        if (stem(one) != one && stem(one) == stem(name))
          return "add " + in_quotes(fold_hostlist(unknown)) + " to `names` of DeviceSet " +
                 in_quotes(*sets_.at(std::string(one))->metadata.name) + ", or shorten the rule";
    return did_you_mean(name, names_);
  }

  void add(const DeviceSet& set) {
    std::vector<std::string> twice;
    const DeviceSet* other = nullptr;
    Position first;
    std::size_t place = 0;
    for (std::string& name : expand(set.names)) {
      const auto [at, fresh] = sets_.emplace(std::move(name), &set);
      if (const Position here = name_at(set, place++); !fresh && first.line == 0) first = here;
      if (fresh || (other != nullptr && other != at->second)) continue;
      other = at->second;
      twice.push_back(at->first);
    }
    if (twice.empty()) return;
    reporter_.error(
        code::device_twice, {first, 1},
        in_quotes(fold_hostlist(twice)) + " is in DeviceSet " + in_quotes(*other->metadata.name) + " too",
        "a device has one role and is in one set", {{other->names.at, "also listed here"}});
  }

  Reporter& reporter_;
  std::unordered_map<std::string, const DeviceSet*> sets_;
  std::vector<std::string_view> names_;
  bool elsewhere_;
  std::size_t spent_ = 0;
  bool told_ = false;
};

class References {
 public:
  References(const Catalog& catalog, Reporter& reporter)
      : catalog_(catalog), reporter_(reporter), devices_(catalog, reporter) {}

  void check() {
    for (const Fabric& fabric : catalog_.fabrics) check_fabric(fabric);
    for (const ValidationSuite& suite : catalog_.validation_suites)
      object(suite.fabric, catalog_.fabrics, "Fabric", "ValidationSuite");
    for (const HostProfile& profile : catalog_.host_profiles) check_selector(profile.selector, "HostProfile");
    for (const RolloutPolicy& policy : catalog_.rollout_policies)
      check_selector(policy.selector, "RolloutPolicy");
    for (const Cluster& cluster : catalog_.clusters) {
      if (&cluster != &catalog_.clusters.front())
        reporter_.error(code::second_cluster, {cluster.at, 1}, "a second Cluster",
                        "there is one Cluster in a folder of specs",
                        {{catalog_.clusters.front().at, "the first one is here"}});
      for (const Maintenance& one : cluster.maintenance) devices_.check(one.names, "maintenance");
    }
    one_is_local();
    exceptions(catalog_.device_sets);
    exceptions(catalog_.fabrics);
    exceptions(catalog_.roce_profiles);
    exceptions(catalog_.host_profiles);
    no_exceptions(catalog_.validation_suites, "ValidationSuite");
    no_exceptions(catalog_.rollout_policies, "RolloutPolicy");
    no_exceptions(catalog_.git_sources, "GitSource");
    no_exceptions(catalog_.clusters, "Cluster");
  }

 private:
  template <class Kind>
  void object(const Said<std::string>& name, const std::vector<Kind>& all, std::string_view kind,
              std::string_view who) {
    if (!name.said || reporter_.incomplete() || find(all, *name) != nullptr) return;
    std::vector<std::string_view> names;
    for (const Kind& one : all) names.push_back(*one.metadata.name);
    reporter_.error(
        code::dangling_reference, span(name),
        std::string(who) + " names " + std::string(kind) + " " + in_quotes(*name) + ", which does not exist",
        did_you_mean(*name, names));
  }

  template <class Kind>
  void exceptions(const std::vector<Kind>& all) {
    for (const Object& one : all) {
      for (const Override& exception : one.overrides) devices_.check(exception.names, "an override");
      for (const Raw& raw : one.raw) devices_.check(raw.names, "raw");
    }
  }

  // The settings of all devices called local would go into one kernel, this machine's. A benchmark between
  // ports of one machine may need two, so it is a warning, not an error; `plan` refuses.
  void one_is_local() {
    std::string first;
    const DeviceSet* set_of_first = nullptr;
    for (const DeviceSet& set : catalog_.device_sets) {
      if (!*set.connect->local || !set.names.said) continue;
      for (const std::string& name : devices_.expand(set.names)) {
        if (set_of_first == nullptr) {
          first = name;
          set_of_first = &set;
          continue;
        }
        const Position local = set.connect->local.at;
        const Related other = set_of_first == &set
                                  ? Related{set.names.at, "both are named here"}
                                  : Related{set_of_first->connect->local.at, first + " here"};
        reporter_.warning(
            code::two_local, {local, 4},
            first + " and " + name + " are both `local: true`, which is this machine",
            "say how each other device is reached; `plan` and `apply` refuse two, and a twin needs none",
            {other});
        return;
      }
    }
  }

  // Kinds that set no entries on any device.
  template <class Kind>
  void no_exceptions(const std::vector<Kind>& all, std::string_view kind) {
    const auto refuse = [&](const auto& said, Position object, std::string_view field) {
      reporter_.error(
          code::no_entries, {said.said ? said.at : object, 1},
          "a " + std::string(kind) + " says nothing of devices' settings: " + std::string(field) +
              " would have no effect",
          "write it in the DeviceSet, Fabric, RoceProfile or HostProfile that covers the devices");
    };
    for (const Object& one : all) {
      if (!one.overrides.empty()) refuse(one.overrides.front().names, one.at, "overrides");
      if (!one.raw.empty()) refuse(one.raw.front().driver, one.at, "raw");
    }
  }

  void check_fabric(const Fabric& fabric) {
    object(fabric.roce_profile, catalog_.roce_profiles, "RoceProfile", "Fabric");
    for (const Cabling& law : fabric.cabling) {
      check_ports(law.from, "cabling");
      check_ports(law.to, "cabling");
      for (const CablePair& pair : law.list) {
        check_ports(pair.from, "cabling");
        check_ports(pair.to, "cabling");
      }
    }
    for (const Vlan& vlan : fabric.vlans) check_ports(vlan.ports, "a VLAN");
  }

  void check_ports(const Said<std::string>& list, std::string_view who) {
    if (!list.said) return;
    const auto split = split_port_list(*list);
    if (!split) return;  // reported when it was loaded
    devices_.check(list, split->devices, who);
    if (!devices_.complete()) return;
    std::vector<const DeviceSet*> sets;  // usually one
    for (const std::string& name : devices_.expand(list, split->devices)) {
      const DeviceSet* set = devices_.set_of(name);
      if (set == nullptr || std::find(sets.begin(), sets.end(), set) != sets.end()) continue;
      sets.push_back(set);
      check_interfaces(list, split->ports, *set, who);
    }
  }

  // Hosts list their interfaces; a switch's ports follow from its platform.
  void check_interfaces(const Said<std::string>& list, std::string_view ports, const DeviceSet& set,
                        std::string_view who) {
    if (set.interfaces.empty()) {
      if (is_linux(set)) check_kernel_names(devices_.expand(list, ports), span(list), reporter_);
      return;
    }
    std::vector<std::string> known;
    for (const Interface& one : set.interfaces)
      if (one.name.said)
        for (std::string& name : devices_.expand(one.name)) known.push_back(std::move(name));
    for (const Bond& bond : set.bonds) known.push_back(*bond.name);
    std::sort(known.begin(), known.end());
    std::vector<std::string> unknown;
    for (std::string& name : devices_.expand(list, ports))
      if (!std::binary_search(known.begin(), known.end(), name)) unknown.push_back(std::move(name));
    if (unknown.empty()) return;
    const std::string meant = did_you_mean(unknown.front(), {known.begin(), known.end()});
    sort_names(known);
    reporter_.error(code::unknown_interface, span(list),
                    std::string(who) + " names interface " + in_quotes(fold_hostlist(unknown)) +
                        ", which DeviceSet " + in_quotes(*set.metadata.name) + " does not list",
                    "it lists " + fold_hostlist(known) + (meant.empty() ? "" : "; " + meant));
  }

  void check_selector(const Said<Selector>& selector, std::string_view who) {
    if (!selector.said || !devices_.complete()) return;
    devices_.check(selector->names, who);
    if (selector->match_labels.empty()) return;
    for (const DeviceSet& set : catalog_.device_sets)
      if (has_labels(set, *selector)) return;
    reporter_.warning(code::selects_nothing, {selector.at, 1},
                      "the selector of this " + std::string(who) + " matches no device",
                      "labels are those of DeviceSets' metadata");
  }

  const Catalog& catalog_;
  Reporter& reporter_;
  Devices devices_;
};

}  // namespace

void check_references(const Catalog& catalog, Reporter& reporter) { References(catalog, reporter).check(); }

}  // namespace lockstep
