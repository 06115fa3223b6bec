// Comparison of the saved with the running configuration: which differences of the file count, and which
// lines are unmanaged.
#include "drivers/frr/saved.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "drivers/frr/map.hpp"
#include "tests/unit/frr/fake_vty.hpp"

namespace lockstep::frr {
namespace {

// Output of FRR 8.4.4, with a password and lines without a row.
constexpr const char* kRuns = R"(frr version 8.4.4
frr defaults traditional
hostname leaf0
log syslog informational
password hunter2
!
route-map RM permit 10
 set metric 5
exit
!
router bgp 65001
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 bgp bestpath as-path multipath-relax
 neighbor up0 interface remote-as external
 neighbor up0 bfd profile fast
 neighbor up0 timers 3 9
 neighbor up0 timers connect 10
 neighbor 192.0.2.7 remote-as 65002
 neighbor 192.0.2.7 password hunter3
 !
 address-family ipv4 unicast
  redistribute connected
  neighbor up0 activate
  maximum-paths 64
 exit-address-family
exit
!
bfd
 profile fast
  transmit-interval 100
 exit
 !
exit
!
end
)";

State running(const std::string& text = kRuns) {
  State out;
  auto config = parse_running_config(text);
  EXPECT_TRUE(config);
  out.bgp.emplace();
  out.bgp->config = *config;
  out.bgp->max_paths_default = 256;
  out.bgp->speaker = speaker_of(*config, 256);
  out.bfd.emplace();
  out.bfd->config = *config;
  out.bfd->profiles = bfd_profiles_of(*config);
  return out;
}

class Saved : public ::testing::Test {
 protected:
  void save(const std::string& text, const std::string& name = "frr.conf") const {
    std::ofstream(folder_.name() + "/" + name) << text;
  }
  State held(State state = running()) const {
    hold_against_saved(folder_.name(), file_, state);
    return state;
  }
  // The reported entry for the file with one edit.
  bool with(const std::string& old, const std::string& by) const {
    std::string text = kRuns;
    const std::size_t at = text.find(old);
    EXPECT_NE(at, text.npos) << old;
    save(text.replace(at, old.size(), by));
    const State state = held();
    EXPECT_FALSE(state.saved_error);
    EXPECT_EQ(state.saved, state.unsaved.empty()) << state.unsaved;
    EXPECT_EQ(state.unsaved.find("hunter"), std::string::npos) << state.unsaved;
    unsaved_ = state.unsaved;
    return state.saved.value_or(false);
  }
  bool with_end(const std::string& lines) const { return with("!\nend\n", "!\n" + lines + "end\n"); }

  const Folder folder_;
  const std::string file_ = folder_.name() + "/frr.conf";
  mutable std::string unsaved_;
};

TEST_F(Saved, IsTrueForIdenticalText) {
  save(kRuns);
  EXPECT_EQ(held().saved, true);
}

TEST_F(Saved, IgnoresUnmanagedLines) {
  EXPECT_TRUE(with("log syslog informational\n", "! a comment\n\nlog file /tmp/x\n"));
  EXPECT_TRUE(with("password hunter2\n", ""));
  EXPECT_TRUE(with("password hunter2\n", "password hunter4\n"));
  EXPECT_TRUE(with(" set metric 5\n", " set metric 6\n"));
  EXPECT_TRUE(with(" neighbor 192.0.2.7 remote-as 65002\n", " neighbor 192.0.2.7 remote-as 65003\n"));
  EXPECT_TRUE(with(" neighbor up0 timers 3 9\n", " neighbor up0 timers 3 9\n neighbor up0 description x\n"));
  EXPECT_TRUE(with(" bgp router-id 10.0.0.1\n", " no bgp deterministic-med\n bgp router-id 10.0.0.1\n"));
  EXPECT_TRUE(with_end("router bgp 65009 vrf red\n neighbor up0 interface remote-as internal\nexit\n"));
  EXPECT_TRUE(with_end("no neighbor 192.0.2.7\n"));
  EXPECT_TRUE(with("frr version 8.4.4\nfrr defaults traditional\n", ""));
}

TEST_F(Saved, ReportsADifferingEntryByName) {
  EXPECT_FALSE(with("maximum-paths 64", "maximum-paths 32"));
  EXPECT_EQ(unsaved_, "bgp/max-paths is 32 in the file, 64 running");
  EXPECT_FALSE(with("  maximum-paths 64\n", ""));
  EXPECT_EQ(unsaved_, "bgp/max-paths is 256 in the file, 64 running");
  EXPECT_FALSE(with("router bgp 65001", "router bgp 65002"));
  EXPECT_EQ(unsaved_, "bgp/asn is 65002 in the file, 65001 running");
  EXPECT_FALSE(with("timers 3 9", "timers 10 30"));
  EXPECT_EQ(unsaved_, "bgp/neighbor[up0]/hold is 30 in the file, 9 running (and 1 more)");
  EXPECT_FALSE(with("transmit-interval 100", "transmit-interval 200"));
  EXPECT_FALSE(with(" neighbor up0 interface remote-as external\n", ""));
  EXPECT_FALSE(with("  redistribute connected\n", "  redistribute connected\n  redistribute static\n"));
  EXPECT_FALSE(with(" bgp bestpath as-path multipath-relax\n", ""));
}

TEST_F(Saved, IncludesTheLinesThatANeighbourNeeds) {
  EXPECT_FALSE(with(" no bgp ebgp-requires-policy\n", ""));
  EXPECT_FALSE(with("  neighbor up0 activate\n", "  no neighbor up0 activate\n"));
}

TEST_F(Saved, TheLastLineTakesPrecedence) {
  EXPECT_FALSE(with("maximum-paths 64\n", "maximum-paths 64\n  maximum-paths 2\n"));
  EXPECT_FALSE(with_end("router bgp 65001\n address-family ipv4 unicast\n  maximum-paths 2\n"));
  EXPECT_FALSE(with_end("router bgp 65001\n no neighbor up0\n"));
  EXPECT_FALSE(with_end("router bgp 65001\n no neighbor up0 bfd\n"));
  EXPECT_FALSE(with_end("router bgp 65001\n address-family ipv4 unicast\n  no redistribute connected\n"));
  EXPECT_FALSE(with_end("bfd\n no profile fast\n"));
  EXPECT_FALSE(with_end("no router bgp 65001\n"));
  EXPECT_FALSE(with_end("no bfd\n"));
}

TEST_F(Saved, TakesTheDefaultsProfileIntoAccount) {
  EXPECT_TRUE(with("frr defaults traditional\n", "frr defaults datacenter\n")) << "each line says its value";
  std::string without = kRuns;
  without.erase(without.find(" neighbor up0 timers 3 9\n"), std::string(" neighbor up0 timers 3 9\n").size());
  std::string other = without;
  other.replace(other.find("traditional"), 11, "datacenter");
  save(other);
  EXPECT_EQ(held(running(without)).unsaved,
            "bgp/neighbor[up0]/hold is 9 in the file, 180 running (and 1 more)");
}

TEST_F(Saved, AMissingFileMeansNothingIsSaved) {
  EXPECT_EQ(held().saved, false);
  const State nothing = running("frr version 8.4.4\nfrr defaults traditional\n");
  EXPECT_EQ(held(nothing).saved, true);
  save("");
  EXPECT_EQ(held(nothing).saved, true);
}

TEST_F(Saved, IsFalseForNonFilesAndInvalidConfigurations) {
  const auto refused = [&](const std::string& why) {
    const State state = held();
    EXPECT_EQ(state.saved, false);
    EXPECT_NE(state.unsaved.find(why), std::string::npos) << state.unsaved;
    std::filesystem::remove_all(file_);
  };
  save("  indented hunter5\n");
  refused("is no configuration of FRR");
  save(std::string("router\0bgp", 10));
  refused("is no configuration of FRR");
  std::filesystem::create_directory(file_);
  refused("frr.conf: not a regular file");
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  refused("frr.conf: not a regular file");
  const Folder elsewhere;
  std::ofstream(elsewhere.name() + "/frr.conf") << kRuns;
  std::filesystem::create_symlink(elsewhere.name() + "/frr.conf", file_);
  refused("frr.conf: a link that leads out");
}

TEST_F(Saved, UsesTheFileOfEachDaemonWithoutAnIntegratedOne) {
  const std::string text = kRuns;
  const std::size_t bfd = text.find("bfd\n profile");
  save("frr version 8.4.4\nfrr defaults traditional\n" +
           text.substr(text.find("router bgp"), bfd - text.find("router bgp")),
       "bgpd.conf");
  save("frr version 8.4.4\n" + text.substr(bfd), "bfdd.conf");
  EXPECT_EQ(held().saved, true) << held().unsaved;
  EXPECT_EQ(saved_layout(file_), SavedLayout::per_daemon);
  save("frr version 8.4.4\n", "bfdd.conf");
  EXPECT_EQ(held().saved, false);
  save(kRuns);
  EXPECT_EQ(held().saved, true) << "the integrated one is the only one that is read";
  EXPECT_EQ(saved_layout(file_), SavedLayout::integrated);
}

TEST_F(Saved, AnEmptyDeviceSavesAsVtyshIsConfigured) {
  EXPECT_EQ(saved_layout(file_), SavedLayout::integrated);
  save("no service integrated-vtysh-config\n", "vtysh.conf");
  EXPECT_EQ(saved_layout(file_), SavedLayout::per_daemon);
  save("service integrated-vtysh-config\n", "vtysh.conf");
  save("router bgp 65001\n", "bgpd.conf");
  EXPECT_EQ(saved_layout(file_), SavedLayout::integrated);
}

TEST_F(Saved, AnUnreachableDaemonMakesItUnknownOnlyIfItHasSavedConfiguration) {
  const Error dead{ErrorKind::transient, "no bfdd"};
  State without = running();
  without.bfd.reset();
  without.bfd_error = dead;
  save(kRuns);
  EXPECT_TRUE(held(without).saved_error);
  EXPECT_FALSE(held(without).saved);
  std::string no_bfd = kRuns;
  no_bfd.erase(no_bfd.find("bfd\n profile"));
  save(no_bfd);
  EXPECT_EQ(held(without).saved, true) << held(without).unsaved;
  const FakeVty hangs(folder_.name(), "bfdd");
  EXPECT_TRUE(held(without).saved_error) << "it runs, and what it runs is not known";
}

}  // namespace
}  // namespace lockstep::frr
