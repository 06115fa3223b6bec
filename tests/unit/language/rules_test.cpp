// For every numbered rule, a text that breaks it, and the code and place that must be reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "specs/language/codes.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

std::string document(std::string_view kind, std::string_view spec, std::string_view name = "one") {
  return "---\napiVersion: lockstep.dev/v1alpha1\nkind: " + std::string(kind) +
         "\nmetadata: {name: " + std::string(name) + "}\nspec: " + std::string(spec) + "\n";
}
std::string set(std::string_view more, std::string_view name = "one") {
  return document("DeviceSet", "{role: host, drivers: [linux], " + std::string(more) + "}", name);
}
std::string fabric(std::string_view more) {
  return document("Fabric", "{role: backend, topology: rail-only, " + std::string(more) + "}");
}
constexpr std::string_view cabling = "cabling: [{from: 'gpu[1-2]:rail0', to: 'leaf0:p[1-2]', by: rail}]";
std::string with_devices(std::string_view text) {
  return set("names: 'gpu[1-2]', interfaces: [{name: 'rail[0-1]'}]", "hosts") +
         document("DeviceSet", "{names: leaf0, role: leaf, drivers: [linux]}", "leaves") + std::string(text);
}
std::string classes(std::string_view list) {
  return document("RoceProfile", "{classes: [" + std::string(list) + "]}");
}
std::string slo(std::string_view one) {
  return with_devices(
      fabric(cabling) +
      document("ValidationSuite", "{fabric: one, benchmarks: [{name: b, workload: stream, slo: [{" +
                                      std::string(one) + "}]}]}"));
}
std::string maintained(std::string_view prefix) {
  return "{names: '" + std::string(prefix) + "[0-599999]', until: 2026-12-01, reason: x},";
}

// Parts of 63 letters, 255 characters in total.
std::string long_name() {
  const std::string part(63, 'x');
  return part + "." + part + "." + part + "." + part;
}

struct Broken {
  std::string_view code;
  std::string text;
  std::string_view message;  // part of it
};

std::vector<Broken> broken() {
  return {
      {code::not_utf8, "a: \xff\n", "not UTF-8"},
      {code::control_character, std::string("a: 1\0b: 2\n", 10), "NUL"},
      {code::not_utf8, "a: \"b\\Nc\"\n", "\"\\N\" or \"\\_\""},
      {code::control_character, "a: \x1b[31m\n", "a control character, \\x1b"},
      {code::control_character, "a: \xc2\x9b", "a control character, \\x9b"},
      {code::control_character, "a: b  # \xe2\x80\xae c\n", "hides or reorders text, \\u{202e}"},
      {code::control_character, "a: \"b\\e[8m\"\n", "a control character, \\x1b in a text"},
      {code::control_character, "a: \"b\\x7f\"\n", "a control character, \\x7f in a text"},
      {code::control_character, "\"a\\u2066\": b\n", "\\u{2066} in a text"},
      {code::control_character, "a: [{b: \"\\uFEFF\"}]\n", "\\u{feff} in a text"},
      {code::control_character, "a: \"b\\rc\"\n", "\\x0d in a text"},
      {code::control_character, "\"a\\nb\": c\n", "a line break or a tab"},
      {code::control_character,
       document("Cluster", "{maintenance: [{names: a, until: 2026-12-01, reason: \"x\\n::error::y\"}]}"),
       "a line break or a tab"},
      {code::control_character,
       document("Cluster", "{maintenance: [{names: a, until: 2026-12-01, reason: \"x\\ty\"}]}"),
       "a line break or a tab"},
      {code::syntax, "a: [1, 2\nb: 3\n", "not YAML"},
      {code::syntax, "a:\n\tb: 1\n", "not YAML"},
      {code::syntax, "a: *nowhere\n", "not YAML"},
      {code::syntax, ",,,,\n", "text after the end"},
      {code::syntax, "[[]],,", "text after the end"},
      {code::too_deep, std::string(70, '[') + std::string(70, ']'), "deeper than 64"},
      {code::cyclic_alias, "a: &a [*a, 1]\n", "contain itself"},
      {code::merge_key, "a: &a {b: 1}\nc:\n  <<: *a\n", "merge keys"},
      {code::duplicate_key, "a: 1\nb: 2\na: 3\n", "'a' is written twice"},
      {code::tag, "a: !!str 5\n", "a tag"},
      {code::tag, "a: ! 5\n", "a tag"},
      {code::tag, "a: !Ref {b: 1}\n", "a tag"},
      {code::key_not_scalar, "? [a]\n: 2\n", "a key must be"},
      {code::not_a_map, "- a\n", "a document must be a map"},
      {code::unknown_kind, document("Fabirc", "{}"), "'Fabirc'"},
      {code::unknown_field, set("names: a, rool: host"), "'rool'"},
      {code::unknown_field, "apiVersion: lockstep.dev/v1alpha1\nkinds: x\n", "'kinds' in a document"},
      {code::missing_field, document("DeviceSet", "{names: a, drivers: [linux]}"), "'role' is missing"},
      {code::missing_field, "kind: Cluster\nmetadata: {name: x}\nspec: {}\n", "'apiVersion' is missing"},
      {code::missing_field, "apiVersion: lockstep.dev/v1alpha1\nmetadata: {name: x}\nspec: {}\n",
       "'kind' is missing"},
      {code::missing_field, "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nspec: {}\n",
       "'metadata' is missing"},
      {code::missing_field, "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: x}\n",
       "'spec' is missing"},
      {code::missing_field, set("names: a, connect: {}"), "connect says no way"},
      {code::missing_field, fabric("cabling: [{by: rail, from: 'a:b'}]"), "needs 'from' and 'to'"},
      {code::missing_field, fabric("cabling: []"), "'cabling' is empty"},
      {code::not_as_reported, fabric(std::string(cabling) + ", allow: [{rule: x}]"), "is no rule"},
      {code::wrong_type, set("names: 5"), "expected a text, found a number '5'"},
      {code::wrong_type, set("names: true"), "found a boolean"},
      {code::wrong_type, set("names: null"), "found nothing"},
      {code::wrong_type, set("names: [a]"), "found a list"},
      {code::wrong_type, set("names: a, ports: p"), "expected a list, found 'p'"},
      {code::wrong_type, set("names: a, connect: here"), "expected connect, found 'here'"},
      {code::wrong_type, set("names: a, suspend: 'true'"), "expected true or false, found a quoted text"},
      {code::wrong_type, set("names: a, suspend: yes"), "expected true or false"},
      {code::wrong_type, set("names: a, priority: '5'"), "expected a whole number, found a quoted text"},
      {code::wrong_type, set("names: a, priority: 1.5"), "expected a whole number"},
      {code::wrong_type, document("HostProfile", "{selector: {}, sysctl: {a.b: [1]}}"),
       "expected a value as the kernel prints it"},
      {code::bad_quantity, document("HostProfile", "{selector: {}, sysctl: {net.ipv4.ip_forward: true}}"),
       "write 1"},
      {code::bad_quantity, document("HostProfile", "{selector: {}, sysctl: {net.ipv4.ip_forward: 'false'}}"),
       "write 0"},
      {code::bad_quantity, document("HostProfile", "{selector: {}, sysctl: {net.ipv4.ip_forward: 0x1f}}"),
       "decimal: 31"},
      {code::bad_quantity, document("HostProfile", "{selector: {}, packages: {x: '~44'}}"), "a version"},
      {code::unknown_api_version, "apiVersion: lockstep.dev/v2\nkind: Cluster\n", "'lockstep.dev/v2'"},
      {code::bad_quantity, set("names: a, interfaces: [{name: r, speed: 400}]"), "unit is missing"},
      {code::bad_quantity, set("names: a, ports: [{name: r, breakout: 2x}]"), "a breakout"},
      {code::out_of_range, fabric("mtu: {host: 67, fabric: 9216}, " + std::string(cabling)),
       "'67' is not in 68..65535"},
      {code::out_of_range, fabric("mtu: {host: 1500, fabric: 65536}, " + std::string(cabling)), "68..65535"},
      {code::out_of_range, fabric("mtu: {host: 99999999999999999999, fabric: 1500}, " + std::string(cabling)),
       "68..65535"},
      {code::out_of_range, classes("{name: a, dscp: [64], priority: 0, tc: 0}"), "'64' is not in 0..63"},
      {code::out_of_range, classes("{name: a, dscp: [1], priority: 8, tc: 0}"), "'8' is not in 0..7"},
      {code::out_of_range, classes("{name: a, dscp: [1], priority: 0, tc: -1}"), "'-1' is not in 0..7"},
      {code::out_of_range,
       classes("{name: a, dscp: [1], priority: 0, tc: 0, ecn: {kmin: 1KB, kmax: 2KB, pmax: 101%}}"),
       "0% to 100%"},
      {code::out_of_range,
       classes("{name: a, dscp: [1], priority: 0, tc: 0, ecn: {kmin: 0B, kmax: 0B, pmax: 1%}}"),
       "more than 0B"},
      {code::out_of_range, classes("{name: a, dscp: [1], priority: 0, tc: 0, maxRate: 101%}"),
       "'101%' is more than the whole link"},
      {code::out_of_range, document("HostProfile", "{selector: {}, nic: {coalescing: {rxTime: 1500ns}}}"),
       "'1500ns' can't be set"},
      {code::out_of_range, document("HostProfile", "{selector: {}, nic: {rings: {rx: 0}}}"),
       "not in 1..65535"},
      {code::wrong_type, document("HostProfile", "{selector: {}, nic: {parameters: {max_macs: [1]}}}"),
       "a number or a text"},
      {code::missing_field,
       document("HostProfile", "{selector: {}, nic: {virtualFunctions: {maxRate: 1Gbps}}}"),
       "without a count"},
      {code::missing_field,
       document("HostProfile", "{selector: {}, nic: {virtualFunctions: {count: 2, maxRate: 1Gbps}}}"),
       "needs eswitch: switchdev"},
      {code::out_of_range, document("HostProfile", "{selector: {}, pcie: {maxReadRequest: 3000}}"),
       "power of two"},
      {code::out_of_range, document("Cluster", "{cost: {gpuHour: -1, currency: USD}}"), "negative"},
      {code::bad_hostlist, set("names: 'gpu[1-'"), "is not closed"},
      {code::bad_hostlist, set("names: 'gpu[1-2],gpu2'"), "in it twice"},
      {code::bad_hostlist, fabric("cabling: [{from: gpu1, to: 'leaf0:p1', by: mesh}]"), "names no ports"},
      {code::unknown_word, document("DeviceSet", "{names: a, role: leef, drivers: [linux]}"), "'leef'"},
      {code::unknown_word, classes("{name: a, dscp: [1], priority: 0, tc: 0, ecn: automatic}"),
       "'automatic'"},
      {code::unknown_word, set("names: a, raw: [{driver: lunix, set: {a: 1}}]"),
       "'lunix' is not one of linux"},
      {code::unknown_word, document("Cluster", "{cost: {gpuHour: 1, currency: dollars}}"), "'dollars'"},
      {code::fields_conflict, set("names: a, from: {csv: x}"), "names and from"},
      {code::fields_conflict, set("from: {csv: x, netbox: y}"), "one of csv and netbox"},
      {code::fields_conflict, set("names: a, interfaces: [{name: 'r[0-1]', pci: ['18:00.0']}]"),
       "1 PCI addresses for 2"},
      {code::fields_conflict,
       classes("{name: a, dscp: [1], priority: 0, tc: 0, ecn: {kmin: 3KB, kmax: 2KB, pmax: 1%}}"),
       "above kmax"},
      {code::fields_conflict,
       classes("{name: a, dscp: [1], priority: 0, tc: 0, scheduling: strict, bandwidth: 10%}"),
       "strict class"},
      {code::fields_conflict, classes("{name: a, dscp: [], priority: 0, tc: 0, lossless: true}"),
       "no packet is put into the lossless class 'a'"},
      {code::fields_conflict, fabric("cabling: [{by: rail, list: [{from: 'a:b', to: 'c:d'}]}]"),
       "by: pairs only"},
      {code::fields_conflict,
       document("RolloutPolicy", "{selector: {}, windows: [{from: '09:00', to: '09:00'}]}"),
       "closes when it opens"},
      {code::unknown_word,
       document("RolloutPolicy",
                "{selector: {}, windows: [{from: '09:00', to: '17:00', timezone: Europe/Belrin}]}"),
       "'Europe/Belrin' is not a time zone"},
      {code::bad_name, document("Cluster", "{}", "-x"), "'-x' is not a name"},
      {code::bad_name, set("names: ..", "x"), "'..' is not a host name"},
      {code::bad_name, set("names: ../x", "x"), "'../x' is not a host name"},
      {code::bad_name, set("names: '-x[1-2]'", "x"), "'-x1' is not a host name"},
      {code::bad_name, set("names: 'x[1-2]-'", "x"), "'x1-' is not a host name"},
      {code::bad_name, set("names: a_b", "x"), "'a_b' is not a host name"},
      {code::bad_name, set("names: " + std::string(64, 'x'), "x"), "is not a host name"},
      {code::bad_name, set("names: " + long_name(), "x"), "is not a host name"},
      {code::bad_name, set("names: a, interfaces: [{name: Ethernet1/1}]"),
       "'Ethernet1/1' is no name that Linux"},
      {code::bad_name, set("names: a, bonds: [{name: a-name-of-16-chars, members: e0}]"),
       "no name that Linux"},
      {code::bad_name, document("HostProfile", "{selector: {}, sysctl: {'': 1}}"),
       "'' is not a sysctl's name"},
      {code::bad_name, document("HostProfile", "{selector: {}, sysctl: {net..x: 1}}"), "'net..x' is not"},
      {code::bad_name, document("HostProfile", "{selector: {}, nic: {offloads: {'': true}}}"),
       "'' is not a name"},
      {code::bad_name, document("HostProfile", "{selector: {}, nic: {parameters: {'': 1}}}"),
       "'' is not a name"},
      {code::bad_name, document("HostProfile", "{selector: {}, services: {'': running}}"),
       "'' is not a name"},
      {code::status_written, document("Cluster", "{}") + "status: {}\n", "written by the reconciler"},
      {code::no_effect, document("Cluster", "{scheduler: {kind: slurm}}"), "'scheduler' in a Cluster has no"},
      {code::no_effect, document("Cluster", "{management: {path: in-band, interface: eth0}}"),
       "'path' in management has no effect yet"},
      {code::no_effect, set("names: a, connect: {https: 'https://{name}'}"), "'https' in connect has no effect yet"},
      {code::no_effect, document("GitSource", "{repository: x}"), "a GitSource has no effect yet"},
      {code::secret_written, set("names: a, credentials: {secret: hunter2}"), "not a secret's name"},
      {code::written_twice, document("DeviceSet", "{names: a, role: host, drivers: [linux, linux]}"),
       "'linux' is written twice"},
      {code::written_twice, fabric("vlans: [{id: 5}, {id: 5}], " + std::string(cabling)), "VLAN 5"},
      {code::class_overlap,
       classes("{name: a, dscp: [1, 2], priority: 0, tc: 0}, {name: b, dscp: [2], priority: 1, tc: 1}"),
       "DSCP 2 is claimed twice"},
      {code::class_overlap,
       classes("{name: a, dscp: [1], priority: 3, tc: 0}, {name: b, dscp: [2], priority: 3, tc: 1}"),
       "priority 3"},
      {code::class_overlap,
       classes("{name: a, dscp: [1], priority: 0, tc: 3}, {name: b, dscp: [2], priority: 1, tc: 3}"),
       "traffic class 3 is claimed twice"},
      {code::bandwidth_sum, classes("{name: a, dscp: [1], priority: 0, tc: 0, bandwidth: 60%}"),
       "sum to 60%"},
      {code::bandwidth_sum,
       classes("{name: a, dscp: [1], priority: 0, tc: 0, bandwidth: 60%}, {name: b, dscp: [2], priority: 1, "
               "tc: 1}"),
       "class 'b' has no bandwidth"},
      {code::no_default_class, classes("{name: a, dscp: [1], priority: 0, tc: 0}"), "'a' takes the DSCPs"},
      {code::no_default_class, classes("{name: a, dscp: [1], priority: 0, tc: 0, lossless: true}"),
       "no class takes the DSCPs"},
      {code::fields_conflict,
       document("ValidationSuite",
                "{fabric: x, benchmarks: [{name: a, workload: request-response, sizes: [1MiB], "
                "slo: [{metric: latency, statistic: p99, atMost: 5us}]}]}"),
       "request-response has no sizes"},
      {code::slo_mismatch, slo("metric: latency, statistic: p99, atMost: 5us"),
       "stream does not measure latency"},
      {code::slo_mismatch, slo("metric: latency, statistic: p99, atMost: 90% of nominal"),
       "no nominal value"},
      {code::slo_mismatch, slo("metric: latency, statistic: p99, atMost: 40Gbps"), "not a bound for latency"},
      {code::slo_mismatch, slo("metric: busbw, statistic: p5"), "one of atLeast and atMost"},
      {code::slo_mismatch, slo("metric: busbw, statistic: p5, atLeast: 1Gbps, atMost: 2Gbps"),
       "one of atLeast and atMost"},
      {code::written_twice,
       slo("metric: bandwidth, statistic: min, atLeast: 90% of nominal}, "
           "{metric: bandwidth, statistic: min, atLeast: 95% of baseline}, "
           "{metric: bandwidth, statistic: min, atLeast: 40Gbps"),
       "min of bandwidth is bounded twice"},
      {code::bad_quantity, slo("metric: busbw, statistic: p5, atLeast: 90% of ideal"),
       "ideal is for diagnosis"},
      {code::timers,
       fabric("routing: {protocol: none, timers: {keepalive: 3s, hold: 3s}}, " + std::string(cabling)),
       "not below hold"},
      {code::timers,
       fabric("routing: {protocol: none, timers: {keepalive: 1s, hold: 2s}}, " + std::string(cabling)),
       "less than 3s"},
      {code::timers,
       fabric("routing: {protocol: none, timers: {keepalive: 1500ms, hold: 9s}}, " + std::string(cabling)),
       "whole seconds"},
      {code::bad_prefix, fabric("addressing: {hosts: 10.64.0.1/16}, " + std::string(cabling)),
       "not a network address"},
      {code::bad_prefix,
       fabric("addressing: {hosts: 10.0.0.0/8, loopbacks: 10.255.0.0/24}, " + std::string(cabling)),
       "overlap"},
      {code::bad_prefix, fabric("addressing: {hosts: 10.0.0.0/8, family: ipv6}, " + std::string(cabling)),
       "family ipv6"},
      {code::bad_prefix,
       fabric("vlans: [{id: 5, subnet: 10.0.0.0/24, gateway: 10.0.1.1}], " + std::string(cabling)),
       "gateway"},
      {code::rollout_incomplete, document("RolloutPolicy", "{selector: {}, waves: ['1', '50%']}"),
       "end at 50%"},
      {code::rollout_incomplete, document("RolloutPolicy", "{selector: {}, waves: ['10%', '5%', '100%']}"),
       "does not grow"},
      {code::duplicate_object, document("Cluster", "{}") + document("Cluster", "{}"),
       "Cluster/one is written twice"},
      {code::dangling_reference,
       with_devices(
           fabric("roceProfile: lossles, " + std::string(cabling)) +
           document("RoceProfile", "{classes: [{name: a, dscp: [1], priority: 0, tc: 0}]}", "lossless")),
       "RoceProfile 'lossles'"},
      {code::dangling_reference,
       document("ValidationSuite", "{fabric: nowhere, benchmarks: [{name: b, workload: stream}]}"),
       "Fabric 'nowhere'"},
      {code::unknown_device,
       with_devices(fabric("cabling: [{from: 'gpu[1-4]:rail0', to: 'leaf0:p[1-4]', by: rail}]")),
       "'gpu[3-4]', which are in no"},
      {code::unknown_device,
       with_devices(
           document("Cluster", "{maintenance: [{names: laef0, until: 2026-12-01, reason: optics}]}")),
       "'laef0', which is in no"},
      {code::unknown_device,
       with_devices(
           document("HostProfile",
                    "{selector: {}, overrides: [{names: gpu9, set: {a: 1}, until: 2026-12-01, reason: x}]}")),
       "an override names 'gpu9'"},
      {code::device_twice, set("names: 'a[1-3]'", "x") + set("names: 'a[3-5]'", "y"),
       "'a3' is in DeviceSet 'x' too"},
      {code::selects_nothing,
       with_devices(document("HostProfile", "{selector: {matchLabels: {pool: h100}}}")), "matches no device"},
      {code::unknown_interface,
       with_devices(fabric("cabling: [{from: 'gpu[1-2]:rali0', to: 'leaf0:p[1-2]', by: rail}]")),
       "interface 'rali0'"},
      {code::second_cluster, document("Cluster", "{}", "a") + document("Cluster", "{}", "b"),
       "a second Cluster"},
      {code::too_many_names,
       document("Cluster", "{maintenance: [" + maintained("a") + maintained("b") + "]}"),
       "more than 1000000 names"},
      {code::not_read, set("from: {netbox: 'https://netbox/api/dcim/devices/?role=gpu'}"),
       "NetBox is not read: its devices would be missing"},
      {code::unreadable, set("from: {csv: nowhere/hosts.csv}"), "cannot read 'nowhere/hosts.csv'"},
      {code::two_local, set("names: 'a[1-2]', connect: {local: true}"), "a1 and a2 are both `local: true`"},
      {code::two_local,
       set("names: a, connect: {local: true}", "x") + set("names: b, connect: {local: true}", "y"),
       "a and b are both `local: true`"},
      {code::no_entries,
       with_devices(
           document("Cluster", "{overrides: [{names: gpu1, set: {a: 1}, until: 2026-12-01, reason: x}]}")),
       "a Cluster says nothing of devices' settings: overrides"},
      {code::no_entries, document("RolloutPolicy", "{selector: {}, raw: [{driver: frr, set: {a: 1}}]}"),
       "a RolloutPolicy says nothing of devices' settings: raw"},
      // Found by fuzzing: the field that gave the place is missing.
      {code::no_entries,
       document("RolloutPolicy", "{selector: {}, overrides: [{set: {a: 1}}], raw: [{set: {a: 1}}]}"),
       "a RolloutPolicy says nothing of devices' settings: overrides"},
      {code::no_entries,
       document("RolloutPolicy", "{selector: {}, overrides: [{set: {a: 1}}], raw: [{set: {a: 1}}]}"),
       "a RolloutPolicy says nothing of devices' settings: raw"},
  };
}

const Diagnostic* find_message(const Loaded& loaded, const Broken& want) {
  for (const Diagnostics* const all : {&loaded.diagnostics, &loaded.without_effect})
    for (const Diagnostic& one : *all)
      if (one.code == want.code && one.message.find(want.message) != std::string::npos) return &one;
  return nullptr;
}

TEST(Rules, EachIsReportedWithItsNumberAndPlace) {
  for (const Broken& one : broken()) {
    const Loaded loaded = load_text("x.yaml", one.text);
    const Diagnostic* found = find_message(loaded, one);
    std::string seen;
    for (const Diagnostic& other : loaded.diagnostics) seen += other.code + " " + other.message + "\n";
    ASSERT_NE(found, nullptr) << one.code << "\n" << one.text << "\ngave\n" << seen;
    EXPECT_EQ(loaded.catalog.sources.files[found->at.file].name, "x.yaml") << one.text;
    EXPECT_GT(found->at.line, 0U) << one.text;
    EXPECT_GT(found->at.column, 0U) << one.text;
  }
}

TEST(Rules, EveryRuleHasATextThatBreaksIt) {
  std::set<std::string_view> tested{code::unreadable, code::no_specs, code::too_large};  // load_test.cpp
  // limits_test.cpp, limits_test.cpp; unit_compile's firmware_settings_test.cpp; unit_cli's validate_test.cpp
  tested.insert({code::too_many_nodes, code::too_many_errors, code::by_hand, code::undeclared_ports});
  for (const Broken& one : broken()) tested.insert(one.code);
  std::set<std::string_view> all;
  for (const CodeRow& row : language_codes()) {
    EXPECT_TRUE(tested.count(row.code)) << row.code << " " << row.rule;
    EXPECT_TRUE(all.insert(row.code).second) << row.code;
    EXPECT_FALSE(row.rule.empty() || row.reason.empty() || row.remedy.empty()) << row.code;
  }
}

TEST(Rules, TheExampleOfTheLanguageBreaksNone) {
  const Loaded loaded = load({std::string(LOCKSTEP_SOURCE_DIR) + "/tests/cases/language/design-page"});
  for (const Diagnostic& one : loaded.diagnostics)
    ADD_FAILURE() << one.at.line << ":" << one.at.column << " " << one.code << " " << one.message;
  EXPECT_EQ(loaded.catalog.device_sets.size(), 3U);
  EXPECT_EQ(loaded.catalog.fabrics.size(), 1U);
  EXPECT_EQ(loaded.catalog.validation_suites.at(0).benchmarks.size(), 3U);
  EXPECT_EQ(*loaded.catalog.validation_suites.at(0).on_change->budget, std::chrono::minutes(5));
}

TEST(Rules, FieldsOfMoreRealClustersBreakNone) {
  const std::string text =
      document(
          "DeviceSet",
          "{names: 'sw[1-2]', role: leaf, drivers: [sonic], ports: [{name: 'Ethernet[0-504/8]', breakout: "
          "2x400G, fec: rs, autoneg: false}], bonds: [{name: bond0, members: 'Ethernet[0-8/8]', mode: "
          "802.3ad, "
          "lacpRate: fast, minLinks: 1, multihoming: {segment: 1, systemMac: '44:38:39:ff:00:01'}}], "
          "credentials: {secret: "
          "'systemd:sw-admin', user: admin}, connect: {redis: 'tcp://{name}:6379', ssh: '{name}'}}",
          "switches") +
      document(
          "DeviceSet",
          "{role: host, drivers: [linux, redfish], names: 'gpu[1-2]', connect: {agent: 'https://{name}'}}",
          "hosts") +
      document(
          "Fabric",
          "{role: frontend, topology: leaf-spine, vrf: front, vlans: [{id: 5, name: v5, subnet: 10.0.0.0/24, "
          "gateway: 10.0.0.1, tagged: true, ports: 'sw[1-2]:Ethernet[16-32/8]'}], cabling: [{by: pairs, "
          "list: "
          "[{from: 'gpu1:eth0', to: 'sw1:Ethernet16'}]}, {from: 'gpu[1-2]:r0', to: 'sw[1-2]:Ethernet24', by: "
          "rail, planes: 2, parallel: 4}], addressing: {family: ipv6, hosts: 'fd00::/48'}, mode: converge, "
          "suspend: false, onDelete: restore, priority: -5, raw: [{driver: sonic, set: "
          "{'SWITCH_HASH|GLOBAL': {ecmp: [a, 1, "
          "true]}}}]}") +
      document("GitSource",
               "{repository: 'https://git/x', branch: main, path: ., interval: 1min, signatures: {policy: "
               "required, keys: [keys.asc]}}") +
      document("Finding", "{fault: x, since: '2026-01-01T00:00:00Z'}") +
      document("Device", "{deviceSet: hosts, facts: {model: x}, conditions: [{type: Ready, status: 'True'}]}",
               "gpu1");
  const Loaded loaded = load_text("more.yaml", text);
  for (const Diagnostic& one : loaded.diagnostics)
    ADD_FAILURE() << one.at.line << ":" << one.at.column << " " << one.code << " " << one.message;
  const Literal& raw = *loaded.catalog.fabrics.at(0).raw.at(0).set.at(0).value;
  ASSERT_EQ(raw.shape, Literal::Shape::map);
  EXPECT_EQ(raw.fields[0].value->items[1].integer, 1);
  EXPECT_TRUE(raw.fields[0].value->items[2].boolean);
}

TEST(Rules, AllErrorsAreReportedTogetherInOrder) {
  const Loaded loaded = load_text(
      "x.yaml",
      document("DeviceSet",
               "\n  naems: a\n  role: leef\n  drivers: [lunix]\n  ports:\n    - {name: p, speed: 4}"));
  std::vector<std::string> seen;
  for (const Diagnostic& one : loaded.diagnostics)
    seen.push_back(std::to_string(one.at.line) + ":" + std::to_string(one.at.column) + " " + one.code + " " +
                   one.hint);
  EXPECT_EQ(seen, (std::vector<std::string>{
                      "6:3 LS1002 did you mean 'names'?",
                      "6:3 LS1003 write the devices' names, or from where they are read",
                      "7:9 LS1009 did you mean 'leaf'?",
                      "8:13 LS1009 did you mean 'linux'?",
                      "10:24 LS1006 ",
                  }));
}

TEST(Rules, UnmeasuredMetricIsReportedAtItsLineAndThatOfTheWorkload) {
  const Loaded loaded = load_text("x.yaml", document("ValidationSuite", R"(
  fabric: f
  benchmarks:
    - name: b
      workload: write-latency
      slo:
        - {metric: bandwidth, statistic: min, atLeast: 40Gbps})"));
  const auto found = std::find_if(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                                  [](const Diagnostic& one) { return one.code == code::slo_mismatch; });
  ASSERT_NE(found, loaded.diagnostics.end());
  EXPECT_EQ(found->message, "write-latency does not measure bandwidth");
  EXPECT_EQ(found->hint, "did you mean 'latency'?");
  EXPECT_EQ(std::pair(found->at.line, found->at.column), std::pair(11U, 20U));
  ASSERT_EQ(found->related.size(), 1U);
  EXPECT_EQ(found->related[0].at.line, 9U);
}

TEST(Rules, TwoDevicesOnThisMachineAreBothReported) {
  const Loaded loaded = load_text(
      "x.yaml", set("names: a, connect: {local: true}", "x") + set("names: b, connect: {local: true}", "y"));
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].severity, Severity::warning);
  EXPECT_EQ(loaded.diagnostics[0].at.line, 10U);
  ASSERT_EQ(loaded.diagnostics[0].related.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].related[0].at.line, 5U);
}

TEST(Rules, KernelParametersAreNormalizedToSingleBlanks) {
  const Loaded loaded = load_text(
      "x.yaml", document("HostProfile", R"({selector: {}, sysctl: {a.b: " 4096	87380  6 ", a.c: 1}})"));
  EXPECT_TRUE(loaded.diagnostics.empty());
  const MapEntries<SysctlValue>& all = loaded.catalog.host_profiles.at(0).sysctl;
  EXPECT_EQ(find_entry(all, "a.b")->value.text, "4096 87380 6");
  EXPECT_EQ(find_entry(all, "a.c")->value.text, "1");
}

TEST(Rules, BrokenDocumentHidesNoOtherAndCausesNoDanglingReferences) {
  const Loaded loaded = load_text(
      "x.yaml", "---\na: [\n" + fabric("roceProfile: x, " + std::string(cabling)) + set("names: 5"));
  ASSERT_EQ(loaded.diagnostics.size(), 2U);
  EXPECT_EQ(loaded.diagnostics[0].code, code::syntax);
  EXPECT_EQ(loaded.diagnostics[1].code, code::wrong_type);
}

TEST(Rules, ASecretIsNeverRepeated) {
  const Loaded loaded = load_text("x.yaml", set("names: a, credentials: {secret: hunter2}"));
  for (const Diagnostic& one : loaded.diagnostics) {
    EXPECT_EQ(one.message.find("hunter2"), std::string::npos);
    EXPECT_EQ(one.hint.find("hunter2"), std::string::npos);
  }
}

TEST(Rules, ValueHasItsPlace) {
  const Loaded loaded =
      load_text("pod.yaml", "# é\n" + document("Fabric", "{role: backend, mtu: {host: 9000, fabric: 9216}}"));
  const Mtu& mtu = *loaded.catalog.fabrics.at(0).mtu;
  EXPECT_TRUE(mtu.host.said);
  EXPECT_EQ(mtu.host.value, 9000U);
  EXPECT_EQ(mtu.host.at, (Position{1, 6, 35}));
  EXPECT_FALSE(loaded.catalog.fabrics[0].vrf.said);
  EXPECT_EQ(loaded.catalog.fabrics[0].vrf.at, Position{});
}

}  // namespace
}  // namespace lockstep
