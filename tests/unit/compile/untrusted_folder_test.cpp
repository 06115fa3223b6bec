// A folder of specs is untrusted: only files beneath it are read, and no more of them is shown than
// necessary.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "specs/fabric/allocation.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/load.hpp"
#include "tests/unit/language/spec_folder.hpp"

namespace lockstep {
namespace {

constexpr const char* kHosts =
    "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: hosts}\n"
    "spec: {role: host, platform: linux, drivers: [linux], from: {csv: %}}\n";

class UntrustedFolder : public SpecFolder {
 protected:
  void SetUp() override {
    SpecFolder::SetUp();
    specs_ = root_ / "specs";
    write("secret.csv", "name\nhunter2 is the password\n");
    ::alarm(60);  // a read that waits for a pipe would hang: the signal ends the test
  }
  void TearDown() override {
    ::alarm(0);
    SpecFolder::TearDown();
  }
  void hosts_from(const std::string& csv) {
    std::string text = kHosts;
    write("specs/hosts.yaml", text.replace(text.find('%'), 1, csv));
  }
  void link(const std::string& to, const std::string& name) {
    std::filesystem::create_directories(specs_);
    ASSERT_EQ(::symlink(to.c_str(), (specs_ / name).c_str()), 0);
  }
  // All output: the excerpts for people and the JSON report.
  std::string shown() { return shown(load({specs_.string()})); }
  static std::string shown(const Loaded& loaded) {
    return excerpts(loaded.diagnostics, loaded.catalog.sources, Colour::off) +
           error_report(loaded.diagnostics, loaded.catalog.sources).dump();
  }
  std::filesystem::path specs_;
};

#define EXPECT_SAYS(text, what) EXPECT_NE((text).find(what), std::string::npos) << (text)
#define EXPECT_HIDES(text, what) EXPECT_EQ((text).find(what), std::string::npos) << (text)

TEST_F(UntrustedFolder, InventoryOutsideIsNotRead) {
  for (const std::string& csv : {std::string("../secret.csv"), (root_ / "secret.csv").string(),
                                 std::string("/etc/shadow"), std::string("/proc/self/environ")}) {
    hosts_from(csv);
    const std::string all = shown();
    EXPECT_SAYS(all, csv.starts_with("/") ? "an absolute path" : "outside of the folder");
    EXPECT_SAYS(all, "hosts.yaml:4:");
    EXPECT_HIDES(all, "hunter2");
    EXPECT_HIDES(all, "root:");
    EXPECT_HIDES(all, "PATH=");
  }
}

TEST_F(UntrustedFolder, InventoryLinkToTheOutsideIsNotRead) {
  hosts_from("hosts.csv");
  link("../secret.csv", "hosts.csv");
  const std::string all = shown();
  EXPECT_SAYS(all, "outside of the folder");
  EXPECT_HIDES(all, "hunter2");
}

TEST_F(UntrustedFolder, SpecLinkToTheOutsideIsNotRead) {
  link("../secret.csv", "evil.yaml");
  for (const std::string& named : {specs_.string(), (specs_ / "evil.yaml").string()}) {
    const std::string all = shown(load({named}));
    EXPECT_SAYS(all, "outside of the folder");
    EXPECT_HIDES(all, "hunter2");
  }
}

TEST_F(UntrustedFolder, LinkWithinTheFolderIsRead) {
  write("specs/below/hosts.txt", kHosts);
  hosts_from("below/hosts.csv");
  write("specs/below/hosts.csv", "name\ngpu1\n");
  std::filesystem::rename(specs_ / "hosts.yaml", specs_ / "below/real");
  link("below/real", "hosts.yaml");
  const Loaded loaded = load({specs_.string()});
  EXPECT_TRUE(loaded.diagnostics.empty()) << shown(loaded);
}

TEST_F(UntrustedFolder, PipeIsNotWaitedFor) {
  hosts_from("hosts.csv");
  ASSERT_EQ(::mkfifo((specs_ / "hosts.csv").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((specs_ / "pipe.yaml").c_str(), 0600), 0);
  const std::string all = shown();
  EXPECT_SAYS(all, "pipe.yaml': not a regular file");
  EXPECT_SAYS(all, "hosts.csv': not a regular file");
}

TEST_F(UntrustedFolder, NoLineOfAnInventoryIsShown) {
  hosts_from("hosts.csv");
  write("specs/hosts.csv", "name,note\ngpu 1,hunter2\n");
  const std::string all = shown();
  EXPECT_SAYS(all, "hosts.csv:2:1");
  EXPECT_HIDES(all, "hunter2");
}

TEST_F(UntrustedFolder, AllocationLockLinkToTheOutsideIsNotRead) {
  link("../secret.csv", "allocations.lock");
  const auto lock = read_allocation_lock(specs_.string());
  ASSERT_FALSE(lock);
  EXPECT_SAYS(lock.error().text(), "outside of the folder");
  EXPECT_HIDES(lock.error().text(), "hunter2");
}

TEST_F(UntrustedFolder, AllocationLockPipeIsNotWaitedFor) {
  std::filesystem::create_directories(specs_);
  ASSERT_EQ(::mkfifo((specs_ / "allocations.lock").c_str(), 0600), 0);
  const auto lock = read_allocation_lock(specs_.string());
  ASSERT_FALSE(lock);
  EXPECT_SAYS(lock.error().text(), "not a regular file");
}

// An `apply` as root must not write the author's text to another file.
TEST_F(UntrustedFolder, AllocationLockIsNotWrittenThroughALink) {
  for (const char* const name : {"allocations.lock", "allocations.lock.new"}) {
    write("precious", "precious\n");
    std::filesystem::remove_all(specs_);
    link("../precious", name);
    (void)write_allocation_lock(specs_.string(), {});
    std::ifstream in(root_ / "precious");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "precious\n") << name;
  }
}

TEST_F(UntrustedFolder, SecretWrittenByMistakeIsNotShown) {
  for (const char* const credentials : {"{secret: hunter2}", "{secret: \"file:x\", password: hunter2}",
                                        "hunter2", "[hunter2]", "{secret: {value: hunter2}}"}) {
    const Loaded loaded =
        load_text("x.yaml",
                  "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: a}\n"
                  "spec: {names: a, role: host, drvers: [linux], credentials: " +
                      std::string(credentials) + "}\n");
    EXPECT_FALSE(loaded.diagnostics.empty()) << credentials;
    EXPECT_HIDES(shown(loaded), "hunter2");
  }
}

}  // namespace
}  // namespace lockstep
