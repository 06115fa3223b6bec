// Values that can't be met or set, and similar values that are valid.
#include <gtest/gtest.h>

#include "specs/language/codes.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

std::string document(std::string_view kind, std::string_view spec, std::string_view name = "one") {
  return "apiVersion: lockstep.dev/v1alpha1\nkind: " + std::string(kind) +
         "\nmetadata: {name: " + std::string(name) + "}\nspec: {" + std::string(spec) + "}\n";
}
std::string host(std::string_view more) {
  return document("HostProfile", "selector: {}, " + std::string(more));
}
std::string set(std::string_view more) {
  return document("DeviceSet", "names: a, role: host, drivers: [linux], " + std::string(more));
}
std::string rate(std::string_view most) {
  return document("RoceProfile", "classes: [{name: default, dscp: [0], priority: 0, tc: 0, maxRate: " +
                                     std::string(most) + "}]");
}
std::string functions(std::string_view most) {
  return host("nic: {virtualFunctions: {count: 2, eswitch: switchdev, maxRate: " + std::string(most) + "}}");
}
std::string slo(std::string_view workload, std::string_view bound) {
  return document("ValidationSuite", "fabric: f, benchmarks: [{name: b, workload: " + std::string(workload) +
                                         ", slo: [{statistic: p5, " + std::string(bound) + "}]}]");
}
std::string pool(std::string_view prefix) {
  return document("Fabric",
                  "role: backend, topology: rail-only, cabling: [{from: 'a:e[0-1]', to: 'b:e[0-1]', "
                  "by: mesh}], addressing: {hosts: '" +
                      std::string(prefix) + "'}");
}

struct Case {
  std::string text;
  std::string_view code;     // empty: the text is valid
  std::string_view message;  // a part of the message and the hint
};

Case holds(std::string text) { return {std::move(text), {}, {}}; }

void expect(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    std::string told;
    bool found = false;
    for (const Diagnostic& each : load_text("x.yaml", one.text).diagnostics) {
      const bool elsewhere = each.code == code::dangling_reference || each.code == code::unknown_device;
      if (each.severity != Severity::error || elsewhere) continue;
      told += each.code + " " + each.message + " (" + each.hint + ")\n";
      found |=
          each.code == one.code && (each.message + " " + each.hint).find(one.message) != std::string::npos;
    }
    EXPECT_TRUE(one.code.empty() ? told.empty() : found) << one.text << told;
  }
}

TEST(Values, SloBoundMustBeReachable) {
  const auto flow = [](std::string_view bound) {
    return slo("stream", "metric: bandwidth, " + std::string(bound));
  };
  const auto latency = [](std::string_view bound) {
    return slo("request-response", "metric: latency, " + std::string(bound));
  };
  const auto skew = [](std::string_view bound) {
    return slo("barrier", "metric: stepSkew, " + std::string(bound));
  };
  expect({
      {flow("atLeast: 150% of nominal"), code::slo_mismatch, "more than the whole"},
      {flow("atLeast: 101% of baseline"), code::slo_mismatch, "more than the whole"},
      {flow("atLeast: 0bps"), code::slo_mismatch, "bounds nothing"},
      {flow("atLeast: 0% of nominal"), code::slo_mismatch, "bounds nothing"},
      {flow("atMost: 90% of nominal"), code::slo_mismatch, "did you mean 'atLeast'?"},
      {slo("barrier", "metric: busbw, atMost: 1Gbps"), code::slo_mismatch, "did you mean 'atLeast'?"},
      {latency("atLeast: 5us"), code::slo_mismatch, "did you mean 'atMost'?"},
      {latency("atMost: 0us"), code::slo_mismatch, "nothing can meet"},
      {latency("atMost: 90% of baseline"), code::slo_mismatch, "less than the baseline"},
      {skew("atLeast: 5%"), code::slo_mismatch, "did you mean 'atMost'?"},
      holds(flow("atLeast: 100% of nominal")),
      holds(flow("atLeast: 0.1% of nominal")),
      holds(flow("atLeast: 95% of baseline")),
      holds(flow("atLeast: 1Kbps")),
      holds(latency("atMost: 110% of baseline")),
      holds(latency("atMost: 12us")),
      holds(skew("atMost: 5%")),
  });
}

TEST(Values, RateMustBeOneThatTheKernelCanSet) {
  expect({
      {rate("1bps"), code::out_of_range, "1Kbps or more"},
      {rate("999bps"), code::out_of_range, "1Kbps or more"},
      {rate("1001bps"), code::out_of_range, "steps of 8bps"},
      {functions("0bps"), code::out_of_range, "8bps or more"},
      {functions("1bps"), code::out_of_range, "8bps or more"},
      {functions("12bps"), code::out_of_range, "a multiple of 8bps"},
      holds(rate("1Kbps")),
      holds(rate("0.05%")),
      holds(functions("8bps")),
  });
}

TEST(Values, VersionNeedsADigit) {
  expect({
      {host("packages: {bash: true}"), code::bad_quantity, "has a digit"},
      {host("packages: {nosuchpkg: absent}"), code::bad_quantity, "installs and removes nothing"},
      {host("kernel: {version: true}"), code::bad_quantity, "has a digit"},
      {host("gpu: {driver: false}"), code::bad_quantity, "has a digit"},
      {host("firmware: {x: abc}"), code::bad_quantity, "has a digit"},
      holds(host("packages: {bash: 5, ssh: '>=1:9.2p1-2'}, gpu: {driver: r550}")),
  });
}

TEST(Values, KernelParameterIsOneLine) {
  expect({
      {host("sysctl: {net.ipv4.ip_forward: ''}"), code::bad_quantity, "it is empty"},
      {host("sysctl: {net.ipv4.ip_forward: ' '}"), code::bad_quantity, "it is empty"},
      {host("sysctl: {net.ipv4.ip_forward: \"1\\n\"}"), code::bad_quantity, "one line"},
      {host("kernel: {parameters: ['']}"), code::wrong_type, "such as iommu=pt"},
      holds(host("sysctl: {net.ipv4.tcp_rmem: \"4096\\t87380 6291456\"}")),
  });
}

TEST(Values, ADevlinkParameterIsANumberOrAText) {
  expect({
      {host("nic: {parameters: {x: }}"), code::wrong_type, "a number or a text"},
      {host("nic: {parameters: {x: [1]}}"), code::wrong_type, "a number or a text"},
      {host("nic: {parameters: {x: {a: 1}}}"), code::wrong_type, "a number or a text"},
      holds(host("nic: {parameters: {x: 1, y: true, z: word}}")),
  });
}

TEST(Values, DuplicateServiceIsAnError) {
  expect({
      {host("services: {lldpd: running, lldpd.service: stopped}"), code::written_twice, "'lldpd' is written"},
      holds(host("services: {lldpd: running, lldpd.socket: stopped}")),
  });
}

TEST(Values, PoolMustHaveAssignableAddresses) {
  expect({
      {pool("224.0.0.0/8"), code::bad_prefix, "multicast"},
      {pool("127.0.0.0/8"), code::bad_prefix, "the loopback"},
      {pool("0.0.0.0/0"), code::bad_prefix, "this network"},
      {pool("240.0.0.0/8"), code::bad_prefix, "reserved"},
      {pool("fe80::/64"), code::bad_prefix, "link-local"},
      {pool("ff00::/16"), code::bad_prefix, "multicast"},
      holds(pool("10.64.0.0/16")),
      holds(pool("100.64.0.0/10")),
      holds(pool("fd00:64::/48")),
  });
}

TEST(Values, DuplicateInterfaceIsAnError) {
  expect({
      {set("interfaces: [{name: eth0}, {name: eth0}]"), code::written_twice, "interface 'eth0' is written"},
      {set("interfaces: [{name: 'eth[0-1]'}, {name: eth1}]"), code::written_twice, "interface 'eth1'"},
      {set("ports: [{name: 'p[1-4]'}, {name: 'p[4-5]'}]"), code::written_twice, "port 'p4' is written"},
      holds(set("interfaces: [{name: 'eth[0-1]'}, {name: eth2}]")),
  });
}

TEST(Values, LinuxInterfaceNeedsAValidKernelName) {
  const auto cabled = [](std::string_view port) {
    return "---\n" + set("interfaces: []") + "---\n" +
           document("DeviceSet", "names: 'leaf[0-1]', role: leaf, drivers: [linux]", "leaves") + "---\n" +
           document("Fabric",
                    "role: backend, topology: rail-only, cabling: [{by: pairs, list: [{from: 'a:e0', "
                    "to: 'leaf0:" +
                        std::string(port) + "'}]}]");
  };
  expect({
      {cabled(".."), code::bad_name, "'..' is no name that Linux"},
      {cabled("s/p1"), code::bad_name, "'s/p1' is no name that Linux"},
      {cabled("averyveryverylongname"), code::bad_name, "at most 15 characters"},
      {document("Cluster", "management: {path: out-of-band, interface: averyveryverylongname}"),
       code::bad_name, "at most 15"},
      holds(cabled("swp1")),
      holds(document("Cluster", "management: {path: out-of-band, interface: eth0}")),
  });
}

TEST(Values, SystemMacMustBeAUnicastAddress) {
  const auto shown = [](std::string_view mac) {
    return set(
        "interfaces: [{name: e0}], bonds: [{name: b0, members: e0, multihoming: {segment: 1, systemMac: '" +
        std::string(mac) + "'}}]");
  };
  expect({
      {shown("01:00:5e:00:00:01"), code::out_of_range, "not the address of one system"},
      {shown("00:00:00:00:00:00"), code::out_of_range, "not the address of one system"},
      holds(shown("44:38:39:ff:00:01")),
  });
}

TEST(Values, StatusMustBeAMap) {
  expect({
      {set("mode: observe") + "status: x\n", code::wrong_type, "a status"},
      holds(set("mode: observe") + "status: {x: 1}\n"),
  });
}

TEST(Values, AnnotationMayHaveSeveralLines) {
  const Loaded loaded =
      load_text("x.yaml",
                "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: one\n"
                "  annotations:\n    note: |\n      two\n      lines\tand a tab\nspec: {}\n");
  ASSERT_TRUE(loaded.diagnostics.empty()) << loaded.diagnostics[0].message;
  EXPECT_EQ(loaded.catalog.clusters[0].metadata.annotations[0].value.value, "two\nlines\tand a tab\n");
}

}  // namespace
}  // namespace lockstep
