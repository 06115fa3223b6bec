// Rules for settings of NICs and NCCL: for each, a text that breaks it, its code, and part of its message.
#include <gtest/gtest.h>

#include "specs/language/codes.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

std::string nic_document(std::string_view kind, std::string_view spec) {
  return "---\napiVersion: lockstep.dev/v1alpha1\nkind: " + std::string(kind) +
         "\nmetadata: {name: one}\nspec: " + std::string(spec) + "\n";
}
std::string dcqcn(std::string_view parameters, std::string_view control = "congestionControl: dcqcn, ") {
  return nic_document("RoceProfile", "{classes: [{name: default, dscp: [0], priority: 0, tc: 0}], " +
                                         std::string(control) + "dcqcn: {" + std::string(parameters) + "}}");
}
std::string nccl(std::string_view told, std::string_view role = "backend") {
  return nic_document("DeviceSet",
                      "{names: gpu1, role: host, drivers: [linux], interfaces: [{name: rail0}]}") +
         nic_document("Fabric",
                      "{role: " + std::string(role) +
                          ", topology: rail-only, cabling: [{from: 'gpu1:rail0', to: 'gpu1:rail0', by: "
                          "rail}], nccl: {" +
                          std::string(told) + "}}");
}
std::string host_profile(std::string_view said) {
  return nic_document("HostProfile", "{selector: {}, " + std::string(said) + "}");
}

struct BrokenNic {
  std::string_view code;
  std::string text;
  std::string_view message;
};

TEST(NicRules, EachIsReportedWithItsNumber) {
  const BrokenNic all[] = {
      {code::missing_field, dcqcn("cnpInterval: 4us", ""), "dcqcn needs congestionControl: dcqcn"},
      {code::fields_conflict, dcqcn("cnpInterval: 4us", "congestionControl: none, "), "not in use"},
      {code::fields_conflict, dcqcn("cnpInterval: 4us", "congestionControl: vendor, "), "not in use"},
      {code::fields_conflict, dcqcn("minRate: 2Gbps, maxRate: 1Gbps"),
       "minRate 2Gbps is above maxRate 1Gbps"},
      {code::bad_quantity, dcqcn("cnpInterval: '4'"), "'4'"},
      {code::out_of_range, dcqcn("cnpInterval: 1500ns"), "'1500ns' can't be set"},
      {code::out_of_range, dcqcn("timeReset: 200ms"), "'200ms'"},
      {code::out_of_range, dcqcn("alphaTimer: 0us"), "'0us'"},
      {code::out_of_range, dcqcn("minRate: 0Mbps"), "'0Mbps'"},
      {code::out_of_range, dcqcn("additiveIncrease: 1500Kbps"), "'1500Kbps' can't be set"},
      {code::out_of_range, dcqcn("minDecrease: 2.5%"), "'2.5%' can't be set"},
      {code::out_of_range, dcqcn("minDecrease: 0%"), "'0%'"},
      {code::out_of_range, dcqcn("byteReset: 8GiB"), "'8GiB'"},
      {code::out_of_range, dcqcn("reductionShift: 12"), "'12'"},
      {code::out_of_range, dcqcn("fastRecoverySteps: 32"), "'32'"},
      {code::out_of_range, dcqcn("alphaGain: 0"), "'0'"},
      {code::fields_conflict, nccl("gidIndex: 3", "storage"), "collectives don't run over a storage fabric"},
      {code::fields_conflict, nccl("splitDataOnQps: true"), "no effect with one queue pair"},
      {code::fields_conflict, nccl("splitDataOnQps: true, qpsPerConnection: 1"),
       "no effect with one queue pair"},
      {code::out_of_range, nccl("gidIndex: 256"), "'256'"},
      {code::out_of_range, nccl("gidIndex: -2"), "'-2'"},
      {code::out_of_range, nccl("qpsPerConnection: 0"), "'0'"},
      {code::out_of_range, nccl("qpsPerConnection: 129"), "'129'"},
      {code::out_of_range, nccl("serviceLevel: 16"), "'16'"},
      {code::unknown_word, nccl("crossNic: sometimes"), "'sometimes'"},
      {code::unknown_word, host_profile("gpu: {direct: bounce}"), "'bounce'"},
      {code::wrong_type, host_profile("nic: {settings: {SRIOV_EN: [true]}}"), "list"},
  };
  for (const BrokenNic& one : all) {
    const Loaded loaded = load_text("x.yaml", one.text);
    bool found = false;
    std::string seen;
    for (const Diagnostic& other : loaded.diagnostics) {
      found = found || (other.code == one.code && other.message.find(one.message) != std::string::npos);
      seen += other.code + " " + other.message + "\n";
    }
    EXPECT_TRUE(found) << one.code << "\n" << one.text << "gave\n" << seen;
  }
}

TEST(NicRules, ValidSpecsHaveNoDiagnostics) {
  for (const std::string& text :
       {dcqcn("maxRate: 0Mbps, minRate: 1Gbps, timeReset: 0.3ms, cnpInterval: 0us"),
        nccl("splitDataOnQps: true, qpsPerConnection: 2, gidIndex: -1, crossNic: avoid"),
        nccl("splitDataOnQps: false")})
    for (const Diagnostic& one : load_text("x.yaml", text).diagnostics) ADD_FAILURE() << one.message;
}

}  // namespace
}  // namespace lockstep
