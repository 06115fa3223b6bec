// allocations.lock keeps allocated numbers stable; invalid locks are refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "specs/compile/compile.hpp"
#include "specs/fabric/codes.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// A host under each leaf switch, and two spine switches above. `numbers` is the range of a hostlist: "0-3".
std::string spec(std::string_view numbers) {
  const std::string leaves = "leaf[" + std::string(numbers) + "]";
  const std::string hosts = "h[" + std::string(numbers) + "]";
  const std::string head = "---\napiVersion: lockstep.dev/v1alpha1\nkind: ";
  return head + "DeviceSet\nmetadata: {name: hosts}\nspec: {names: '" + hosts +
         "', role: host, drivers: [linux], interfaces: [{name: eth0, speed: 100Gbps}]}\n" + head +
         "DeviceSet\nmetadata: {name: leaves}\nspec: {names: '" + leaves +
         "', role: leaf, drivers: [frr]}\n" + head +
         "DeviceSet\nmetadata: {name: spines}\nspec: {names: 'spine[0-1]', role: spine, drivers: [frr]}\n" +
         head +
         "Fabric\nmetadata: {name: backend}\nspec:\n  role: backend\n  topology: leaf-spine\n  cabling:\n" +
         "    - {from: '" + hosts + ":eth0', to: '" + leaves + ":swp1', by: pairs}\n" + "    - {from: '" +
         leaves + ":up[0-1]', to: 'spine[0-1]:down[0-9]', by: mesh, speed: 100Gbps}\n" +
         "  addressing: {hosts: 10.64.0.0/20, loopbacks: 10.255.0.0/24}\n" +
         "  routing: {protocol: bgp-unnumbered, asn: {leaf: 4200000000-4200000099, spine: 4200100000}}\n";
}

Compiled compiled(std::string_view numbers, std::optional<AllocationLock> lock = {}, bool renumber = false) {
  const Loaded loaded = load_text("cluster.yaml", spec(numbers));
  EXPECT_TRUE(loaded.diagnostics.empty());
  CompileOptions options;
  options.allocation = {std::move(lock), renumber};
  return compile(loaded.catalog, options);
}

// All numbers that were allocated to the device, as text.
std::map<std::string, std::string> numbers_of(const Compiled& all) {
  std::map<std::string, std::string> out;
  for (DeviceIndex i = 0; i < all.topology.devices.size(); ++i) {
    const TopologyDevice& device = all.topology.devices[i];
    std::string& text = out[device.name];
    text = std::to_string(all.allocation.asn[i]) + " " + all.allocation.router_id[i];
    if (all.allocation.block[0][i]) text += " " + all.allocation.block[0][i]->text();
    for (PortIndex port = device.first_port; port < device.first_port + device.port_count; ++port)
      if (all.allocation.port[port]) text += " " + all.allocation.port[port]->text();
  }
  return out;
}

TEST(Allocation, InsertingALeafRenumbersNothing) {
  const Compiled before = compiled("0,2-4");
  ASSERT_FALSE(has_errors(before.diagnostics));
  const auto old = numbers_of(before);
  const Compiled after = compiled("0-4", before.allocation.lock);
  ASSERT_FALSE(has_errors(after.diagnostics));
  auto now = numbers_of(after);
  for (const auto& [name, text] : old) EXPECT_EQ(now.at(name), text) << name;
  EXPECT_EQ(now.size(), old.size() + 2);
  // The lock also records the new numbers, so that the next insertion changes nothing either.
  for (const auto& [pool, members] : before.allocation.lock.pools)
    for (const auto& [name, number] : members)
      EXPECT_EQ(after.allocation.lock.pools.at(pool).at(name), number);
  EXPECT_EQ(numbers_of(compiled("0-4", after.allocation.lock)), now);

  EXPECT_NE(numbers_of(compiled("0-4")).at("leaf2"), old.at("leaf2")) << "without a lock the place counts";
  EXPECT_EQ(numbers_of(compiled("0-4", before.allocation.lock, true)), numbers_of(compiled("0-4")));
}

TEST(Allocation, ReturningLeafGetsItsOldNumbers) {
  const Compiled whole = compiled("0-3");
  const Compiled without = compiled("0,2-3", whole.allocation.lock);
  EXPECT_EQ(numbers_of(compiled("0-3", without.allocation.lock)), numbers_of(whole));
}

// Two branches each add a leaf switch, and each lock allocates the next number: the merged lock has it twice.
TEST(Allocation, MergeWithADuplicateNumberIsRefusedWithBothNames) {
  const AllocationLock base = compiled("0-1").allocation.lock;
  AllocationLock merged = compiled("0-1,5", base).allocation.lock;
  for (const auto& [pool, members] : compiled("0-1,7", base).allocation.lock.pools)
    merged.pools[pool].insert(members.begin(), members.end());
  const Compiled refused = compiled("0-1,5,7", merged);
  ASSERT_TRUE(has_errors(refused.diagnostics));
  EXPECT_EQ(refused.diagnostics.front().code, fabric_code::lock_conflict);
  EXPECT_NE(refused.diagnostics.front().message.find("to leaf5 and to leaf7"), std::string::npos)
      << refused.diagnostics.front().message;
  EXPECT_EQ(refused.diagnostics.front().at.line, 19U);

  for (auto& [pool, members] : merged.pools) members.erase("leaf7");  // the fix that the hint suggests
  const Compiled settled = compiled("0-1,5,7", merged);
  EXPECT_FALSE(has_errors(settled.diagnostics));
  EXPECT_EQ(numbers_of(settled).at("leaf5"), numbers_of(compiled("0-1,5", base)).at("leaf5"));
}

TEST(Allocation, NumbersOutsideEveryPoolAreReported) {
  AllocationLock lock = compiled("0-1").allocation.lock;
  for (auto& [pool, members] : lock.pools)
    for (auto& [name, number] : members) number = ~std::uint64_t{0} - (number & 0xF);
  const Compiled refused = compiled("0-1", lock);
  ASSERT_TRUE(has_errors(refused.diagnostics));
  for (const Diagnostic& one : refused.diagnostics) EXPECT_GT(one.at.line, 0U) << one.message;
}

TEST(AllocationLock, IsTheSameAfterWritingAndReading) {
  const AllocationLock lock = compiled("0-4").allocation.lock;
  const Result<AllocationLock> read = parse_allocation_lock("x", to_text(lock));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, lock);
}

TEST(AllocationLock, RecordsItsCluster) {
  AllocationLock lock = compiled("0-1").allocation.lock;
  EXPECT_NE(to_text(lock).find("\"version\": 1"), std::string::npos) << "nothing that an older one lacks";
  lock.cluster = ClusterIdentity{"rail-pod", "919108f7-52d1-4320-9bac-f847db4148a8"};
  std::string text = to_text(lock);
  EXPECT_NE(text.find("\"version\": 2"), std::string::npos) << text;
  EXPECT_EQ(*parse_allocation_lock("x", text), lock);
  text.replace(text.find("919108f7"), 8, "919108F7");
  EXPECT_EQ(*parse_allocation_lock("x", text), lock) << "RFC 9562, 4: in either case";
  EXPECT_EQ(identity_name("rail-pod_1.a"), "rail-pod_1.a");
  EXPECT_EQ(identity_name("my pod/\xff\n"), "my_pod___");
  EXPECT_EQ(identity_name(""), "_");
  EXPECT_EQ(identity_name(std::string(300, 'a')).size(), 200U);
}

TEST(AllocationLock, CorruptLockIsAnErrorWithItsPlace) {
  const std::pair<std::string, std::string> all[] = {
      {"", "x is not one JSON object"},
      {"[]", "x:1:1: not a JSON object"},
      {"{\"version\": 3}", "x:1:13: not of version 1 or 2"},
      {"{\"version\": 2, \"cluster\": []}", "x:1:27: 'cluster' is not a map"},
      {"{\"version\": 2, \"cluster\": {\"name\": \"lab\"}}", "x:1:27: 'cluster' has a name and a uuid"},
      {"{\"version\": 2, \"cluster\": {\"id\": \"lab\"}}", "x:1:28: unknown field 'id'"},
      {"{\"version\": 2, \"cluster\": {\"name\": \"../lab\",\n \"uuid\": \"\"}}",
       "x:1:36: '../lab' is no name"},
      {"{\"version\": 2, \"cluster\": {\"name\": \"lab\",\n \"uuid\": \"5a\"}}",
       "x:2:10: '5a' is no UUID of version 4 (RFC 9562): bring back the one that was there"},
      {"{\"version\": 2, \"cluster\": {\"name\": \"lab\",\n \"uuid\": {}}}", "x:2:10: '' is no UUID"},
      {"{\"version\": 2, \"cluster\": {\"name\": \"lab\",\n<<<<<<< HEAD\n  \"uuid\": 1,\n", "x:2:1: a merge"},
      {"{\"version\": 2, \"cluster\": {\"name\": \"a\", \"uuid\": 1, \"uuid\": 2}}",
       "x:1:52: 'uuid' is written"},
      {"{\"pools\": {}}", "x:1:1: not of version 1"},
      {"{\"version\": 1, \"pool\": {}}", "x:1:16: unknown field 'pool'"},
      {"{\"version\": 1, \"pools\": []}", "x:1:25: 'pools' is not a map"},
      {"{\"version\": 1,\n \"pools\": {\"a\": 5}}", "x:2:17: 'a' is not a map of names"},
      {"{\"version\": 1, \"pools\": {\"a\": {\"b\": -1}}}", "x:1:37: the number of 'b'"},
      {"{\"version\": 1, \"pools\": {\"a\": {\"b\": \"1\"}}}", "x:1:37: the number of 'b'"},
      {"{\"version\": 1, \"pools\": {\"a\": {\"b\": 1.5}}}", "x:1:37: the number of 'b'"},
      {"{\"version\": 1, \"pools\": {\"a\": {\"b\": 99999999999999999999}}}", "x:1:37: the number of 'b'"},
      {"{\"version\": 1, \"pools\": {\"a\": {\"b\": 1, \"b\": 2}}}", "x:1:40: 'b' is written twice"},
      {"{\"version\": 1, \"pools\": {\"a\": {\"b\": 1", "x:1:"},
      {"<<<<<<< HEAD\n{\"version\": 1}\n=======\n", "x:1:1: a merge that is not finished"},
      {"{\"version\": 1}\n---\n{\"version\": 1}\n", "x is not one JSON object"},
      {"\xff", "x:1:1: a byte that is not UTF-8"},
      // Found by fuzzing: could be read, but not again after writing.
      {"{\"version\": 1, \"pools\": {\"a\": {\n? " + std::string(513, 'b') + "\n: 1}}}", "x:2:3: 'bbb"},
      {"{\"version\": 1, \"pools\": {\n? " + std::string(513, 'b') + "\n: {}}}", "x:2:3: 'bbb"},
  };
  for (const auto& [text, error] : all) {
    const Result<AllocationLock> read = parse_allocation_lock("x", text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::invalid_spec);
    EXPECT_EQ(read.error().what.find(error), 0U) << text << "\ngave\n" << read.error().what;
  }
}

TEST(AllocationLock, IsReadAndReplacedInItsFolder) {
  std::string folder = (fs::temp_directory_path() / "lockstep-lock-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto none = read_allocation_lock(folder);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const AllocationLock lock = compiled("0-4").allocation.lock;
  ASSERT_TRUE(write_allocation_lock(folder, compiled("0").allocation.lock));
  ASSERT_TRUE(write_allocation_lock(folder, lock));
  const auto read = read_allocation_lock(folder);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(**read, lock);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);

  std::ofstream(folder + "/allocations.lock") << "{\"version\": 1,";
  const auto cut = read_allocation_lock(folder);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().what.find(folder + "/allocations.lock:"), 0U) << cut.error().what;

  fs::remove(folder + "/allocations.lock");
  fs::create_symlink("/etc/passwd", folder + "/allocations.lock");
  const auto outside = read_allocation_lock(folder);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().what,
            folder + "/allocations.lock: can't be read: outside of the folder of specs");
  EXPECT_FALSE(write_allocation_lock(folder, lock));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
