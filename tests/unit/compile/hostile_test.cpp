// Runs the steps of `lockstep validate` on truncated specs and on specs with corrupt bytes: they end, and
// every error has a place. LOCKSTEP_FUZZ_STEP is the distance between truncations in bytes,
// LOCKSTEP_FUZZ_ROUNDS the number of rounds of corrupt bytes; the long suite sets both for more coverage.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "specs/compile/compile.hpp"
#include "specs/compile/explain.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Names and texts of a cluster's files.
using Files = std::map<std::string, std::string>;

std::vector<Files> clusters() {
  std::vector<Files> out;
  for (const char* folder :
       {"examples/rail-pod", "examples/big-pod", "examples/one-host", "tests/cases/compile/every-kind"}) {
    Files& files = out.emplace_back();
    for (const auto& entry : fs::directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files[entry.path().filename()] = text.str();
    }
  }
  return out;
}

std::string together(const Files& files) {
  std::string out;
  for (const auto& [name, text] : files) out += "---\n" + text + "\n";
  return out;
}

void expect_places(const Diagnostics& all, const Topology& topology) {
  for (const Diagnostic& one : all) {
    ASSERT_FALSE(one.code.empty()) << one.message;
    ASSERT_EQ(one.at.file, 1U) << one.code << " " << one.message;
    ASSERT_GT(one.at.line, 0U) << one.code << " " << one.message;
    ASSERT_GT(one.at.column, 0U) << one.code << " " << one.message;
    for (const Related& related : one.related) ASSERT_GT(related.at.line, 0U) << one.code << related.message;
  }
  ASSERT_LE(topology.devices.size(), 1'000'000U);
}

// Like the command, but also compiles and proves specs that do not load: that must not crash.
void validate(const std::string& text) {
  const Loaded loaded = load_text("hostile.yaml", text);
  const Compiled compiled = compile(loaded.catalog);
  ASSERT_NO_FATAL_FAILURE(expect_places(loaded.diagnostics, compiled.topology));
  ASSERT_NO_FATAL_FAILURE(expect_places(compiled.diagnostics, compiled.topology));
  ASSERT_NO_FATAL_FAILURE(expect_places(prove(loaded.catalog, compiled.topology), compiled.topology));
  if (has_errors(loaded.diagnostics) || has_errors(compiled.diagnostics)) return;
  for (const Intent& intent : compiled.intents)
    for (const Entry& entry : intent.want.entries())
      ASSERT_TRUE(explain(compiled, loaded.catalog, intent.device, entry.path)) << entry.path.text();
}

std::size_t asked(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::max<std::size_t>(1, std::strtoul(text, nullptr, 10)) : otherwise;
}

TEST(Hostile, TruncatedFilesAreReportedWithTheirPlace) {
  const std::size_t step = asked("LOCKSTEP_FUZZ_STEP", 200);
  for (const Files& whole : clusters())
    for (const auto& [name, text] : whole)
      for (std::size_t length = 0; length < text.size(); length += step) {
        Files cut = whole;
        cut[name] = text.substr(0, length);
        ASSERT_NO_FATAL_FAILURE(validate(together(cut))) << name << " cut at byte " << length;
      }
}

TEST(Hostile, CorruptBytesAreReportedWithTheirPlace) {
  const std::size_t rounds = asked("LOCKSTEP_FUZZ_ROUNDS", 100);
  std::mt19937_64 random(20261122);
  const std::string alphabet = "[]{},:-?&*!|>'\"#%/0189az~\n \t";
  const std::vector<Files> all = clusters();
  for (std::size_t round = 0; round < rounds; ++round) {
    std::string text = together(all[random() % all.size()]);
    for (std::size_t edits = 1 + random() % 4; edits > 0; --edits) {
      char& byte = text[random() % text.size()];
      // A flipped bit mostly makes invalid UTF-8, refused early; a character of YAML syntax gets further.
      byte = random() % 4 == 0 ? static_cast<char>(byte ^ (1 << (random() % 8)))
                               : alphabet[random() % alphabet.size()];
    }
    ASSERT_NO_FATAL_FAILURE(validate(text)) << "round " << round << "\n" << text;
  }
}

std::string document(std::string_view kind, std::string_view name, std::string_view spec) {
  return "---\napiVersion: lockstep.dev/v1alpha1\nkind: " + std::string(kind) +
         "\nmetadata: {name: " + std::string(name) + "}\nspec: " + std::string(spec) + "\n";
}

// A few bytes of specs that expand to more than fits in memory.
TEST(Hostile, OversizedClusterIsRefusedAndNotBuilt) {
  std::string sysctls = "{selector: {}, sysctl: {";
  for (int i = 0; i < 4000; ++i) sysctls += "net.a.b" + std::to_string(i) + ": 1,";
  const std::string all[] = {
      document("DeviceSet", "a", "{names: 'a[1-200001]', role: host, drivers: [linux]}"),
      document("DeviceSet", "a",
               "{names: 'a[1-4000]', role: host, drivers: [linux], interfaces: [{name: 'p[1-4000]'}]}"),
      document("DeviceSet", "a", "{names: 'a[1-8000]', role: leaf, drivers: [frr]}") +
          document("DeviceSet", "b", "{names: b, role: spine, drivers: [frr]}") +
          document("Fabric", "f",
                   "{role: backend, topology: leaf-spine, cabling: [{from: 'a[1-8000]:u', to: 'b:d[1-8000]', "
                   "by: mesh, speed: 1Gbps}]}"),
      document("DeviceSet", "a", "{names: 'a[1-60000]', role: host, drivers: [linux]}") +
          document("HostProfile", "h", sysctls + "}}"),
  };
  for (const std::string& text : all) {
    const Loaded loaded = load_text("large.yaml", text);
    EXPECT_TRUE(loaded.diagnostics.empty());
    const Compiled compiled = compile(loaded.catalog);
    ASSERT_EQ(compiled.diagnostics.size(), 1U) << text.substr(0, 200);
    EXPECT_EQ(compiled.diagnostics[0].code, "LS1210");
    EXPECT_GT(compiled.diagnostics[0].at.line, 0U);
  }
}

Compiled compiled_with(const std::string& text, std::size_t max_entries) {
  const Loaded loaded = load_text("large.yaml", text);
  EXPECT_TRUE(loaded.diagnostics.empty());
  CompileOptions options;
  options.max_entries = max_entries;
  return compile(loaded.catalog, options);
}

std::string two_hundred_thousand_hosts() {
  std::string sysctls = "{selector: {}, sysctl: {";
  for (int i = 0; i < 990; ++i) sysctls += "net.b" + std::to_string(i) + ": 1,";
  return document("DeviceSet", "a", "{names: 'a[1-200000]', role: host, drivers: [linux]}") +
         document("HostProfile", "h", sysctls + "}}");
}

TEST(Hostile, EntriesBeyondTheLimitAreCountedAndNotCreated) {
  const std::string text = two_hundred_thousand_hosts();
  ASSERT_LT(text.size(), 16'000U);
  const Compiled compiled = compiled_with(text, kEntriesDefault);
  ASSERT_EQ(compiled.diagnostics.size(), 1U);
  const Diagnostic& one = compiled.diagnostics[0];
  EXPECT_EQ(one.code, "LS1210");
  EXPECT_EQ(
      one.message,
      "all devices together want 198,000,000 entries, 198,000,000 of them by HostProfile/h; 25,000,000 are "
      "allowed");
  EXPECT_NE(one.hint.find("--max-entries 198000000"), std::string::npos) << one.hint;
  EXPECT_EQ(one.at.line, 9U) << "of the profile";
  for (const Intent& intent : compiled.intents) ASSERT_EQ(intent.want.size(), 0U);
}

// At 16 bytes per entry they would take 3.2 GB. The bound leaves room for the memory of a sanitizer.
TEST(Hostile, TooManyEntriesCostNoMemory) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    ::_exit(compiled_with(two_hundred_thousand_hosts(), kEntriesDefault).diagnostics.size() == 1 ? 0 : 1);
  int status = 0;
  rusage used{};
  ASSERT_EQ(::wait4(child, &status, 0, &used), child);
  EXPECT_EQ(status, 0);
  EXPECT_LT(used.ru_maxrss, 1'000'000) << "KiB";
}

TEST(Hostile, AcceptsExactlyTheEntryLimit) {
  const std::string text = together(clusters().front());
  const Compiled whole = compiled_with(text, kEntriesDefault);
  std::size_t entries = 0;
  for (const Intent& intent : whole.intents) entries += intent.want.size();
  ASSERT_GT(entries, 100U);
  EXPECT_FALSE(has_errors(compiled_with(text, entries).diagnostics));
  // Counts both entries of single devices (addresses, routes) and entries that devices of a class share.
  for (const std::size_t fewer : {entries - 1, entries / 2, std::size_t{1}}) {
    const Compiled refused = compiled_with(text, fewer);
    ASSERT_TRUE(has_errors(refused.diagnostics)) << fewer;
    EXPECT_EQ(refused.diagnostics.back().code, "LS1210");
    EXPECT_GT(refused.diagnostics.back().at.line, 0U);
    for (const Intent& intent : refused.intents) ASSERT_EQ(intent.want.size(), 0U);
  }
}

TEST(Hostile, ProfilesAndVlansOnManyDevicesAreCountedToo) {
  std::string profiles = document("DeviceSet", "a", "{names: 'a[1-1000]', role: host, drivers: [linux]}");
  for (int i = 0; i < 20; ++i) profiles += document("HostProfile", "h" + std::to_string(i), "{selector: {}}");
  EXPECT_FALSE(has_errors(compiled_with(profiles, 20'000).diagnostics));
  const Compiled refused = compiled_with(profiles, 19'999);
  ASSERT_TRUE(has_errors(refused.diagnostics));
  EXPECT_EQ(refused.diagnostics[0].code, "LS1210");
}

}  // namespace
}  // namespace lockstep
