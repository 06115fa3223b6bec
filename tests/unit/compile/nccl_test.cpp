// NCCL's settings on a host of several backend fabrics, which share one file.
#include <gtest/gtest.h>

#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::string nccl_document(std::string_view kind, std::string_view name, std::string_view spec) {
  return "---\napiVersion: lockstep.dev/v1alpha1\nkind: " + std::string(kind) +
         "\nmetadata: {name: " + std::string(name) + "}\nspec: {" + std::string(spec) + "}\n";
}

// The leaf switch of railN is leaf N.
std::string nccl_fabric(std::string_view name, std::string_view port, std::string_view nccl) {
  return nccl_document("Fabric", name,
                       "role: backend, topology: rail-only, cabling: [{from: 'gpu1:" + std::string(port) +
                           "', to: 'leaf" + std::string(port.substr(4)) + ":" + std::string(port) +
                           "', by: rail, speed: 400Gbps}], nccl: {" + std::string(nccl) + "}");
}

Compiled with_nccl(std::string_view first, std::string_view second, bool rdma = true) {
  const std::string interface =
      "interfaces: [{name: 'rail[0-1]', platform: connectx-7, rdma: " + std::string(rdma ? "true" : "false") +
      "}]";
  const Loaded loaded = load_text(
      "x.yaml",
      nccl_document("DeviceSet", "hosts", "names: gpu1, role: host, drivers: [linux], " + interface) +
          nccl_document("DeviceSet", "leaves", "names: 'leaf[0-1]', role: leaf, drivers: [linux]") +
          nccl_fabric("one", "rail0", first) + nccl_fabric("two", "rail1", second));
  for (const Diagnostic& one : loaded.diagnostics) ADD_FAILURE() << one.message;
  return compile(loaded.catalog);
}

const Intent& of(const Compiled& all, std::string_view device) {
  for (const Intent& one : all.intents)
    if (one.device == device) return one;
  ADD_FAILURE() << device;
  return all.intents.front();
}

Value value(const Compiled& all, std::string_view device, RowId row) {
  return of(all, device).want.value(Path(row, {}));
}

TEST(NcclOfFabrics, SettingsOfAllFabricsAreMerged) {
  const Compiled all =
      with_nccl("gidIndex: -1, crossNic: allow, splitDataOnQps: false", "qpsPerConnection: 4");
  for (const Diagnostic& one : all.diagnostics) ADD_FAILURE() << one.message;
  EXPECT_EQ(value(all, "gpu1", row("nccl/gid-index")), Value::integer(-1));
  EXPECT_EQ(value(all, "gpu1", row("nccl/cross-nic")), Value::text("allow"));
  EXPECT_EQ(value(all, "gpu1", row("nccl/split-data-on-qps")), Value::boolean(false));
  EXPECT_EQ(value(all, "gpu1", row("nccl/qps-per-connection")), Value::integer(4));
  EXPECT_EQ(value(all, "gpu1", row("nccl/service-level")), Value{}) << "not said";
  EXPECT_EQ(value(all, "leaf0", row("nccl/gid-index")), Value{}) << "no switch runs NCCL";
}

TEST(NcclOfFabrics, ConflictingSettingsAreAnErrorThatNamesBoth) {
  const Compiled all = with_nccl("qpsPerConnection: 2", "qpsPerConnection: 4");
  ASSERT_EQ(all.diagnostics.size(), 1U);
  const Diagnostic& one = all.diagnostics[0];
  EXPECT_EQ(one.severity, Severity::error);
  for (const char* const part : {"Fabric/one", "Fabric/two", "nccl/qps-per-connection", "gpu1"})
    EXPECT_NE(one.message.find(part), std::string::npos) << part << " in " << one.message;
  EXPECT_TRUE(with_nccl("qpsPerConnection: 4", "qpsPerConnection: 4").diagnostics.empty()) << "they agree";
}

TEST(NcclOfFabrics, HostWithoutRdmaHasNoSettings) {
  EXPECT_EQ(value(with_nccl("gidIndex: 3", "gidIndex: 3", false), "gpu1", row("nccl/gid-index")), Value{});
}

}  // namespace
}  // namespace lockstep
