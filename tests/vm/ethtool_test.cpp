// ethtool settings of the linux driver on our test netdev: from entries to the port and back, drift made by
// ethtool(8), and ports that refuse, round and ignore values. The actual state is read with ethtool(8).
#include <poll.h>

#include <algorithm>
#include <filesystem>

#include "drivers/linux/discover.hpp"
#include "tests/unit/linux/lab.hpp"
#include "tests/vm/nic_driver_lab.hpp"

namespace lockstep {
namespace {

const Entries kTuned = {{"interface[nic0]/autoneg", Value::boolean(false)},
                        {"interface[nic0]/channels[combined]", Value::integer(4)},
                        {"interface[nic0]/coalescing/adaptive[rx]", Value::boolean(false)},
                        {"interface[nic0]/coalescing/adaptive[tx]", Value::boolean(false)},
                        {"interface[nic0]/coalescing/frames[tx]", Value::integer(64)},
                        {"interface[nic0]/coalescing/time[rx]", Value::integer(3)},
                        {"interface[nic0]/fec", Value::text("rs")},
                        {"interface[nic0]/offload[rxhash]", Value::boolean(true)},
                        {"interface[nic0]/offload[rx-ntuple-filter]", Value::boolean(true)},
                        {"interface[nic0]/offload[tso]", Value::boolean(true)},
                        {"interface[nic0]/ring[rx]", Value::integer(4096)},
                        {"interface[nic0]/ring[tx]", Value::integer(2048)},
                        {"interface[nic0]/speed", Value::integer(100000)}};

class EthtoolDriver : public NicDriver {
 protected:
  static void SetUpTestSuite() {
    std::error_code there_already;
    std::filesystem::create_symlink("/bin/busybox", "/bin/sh", there_already);  // for shell()
  }
  void TearDown() override {
    refuse("");
    NicDriver::TearDown();
  }
  static void refuse(const std::string& words) {
    std::ofstream("/sys/module/test_nic/parameters/refuse") << words << '\n' << std::flush;
  }
  // The output of ethtool(8) without the blanks for alignment.
  static std::string shown(const std::string& options) {
    std::string out;
    for (const char letter : shell_output("ethtool " + options))
      if (letter != '\t' && letter != ' ') out += letter;
    return out;
  }
  static void expect_shown(const std::string& options, const std::vector<std::string>& lines) {
    const std::string all = shown(options);
    for (const std::string& line : lines) EXPECT_NE(all.find(line), std::string::npos) << line << "\n" << all;
  }
  static void by_hand(const std::string& options) {
    EXPECT_EQ(shell("ethtool " + options), 0) << shell_output("ethtool " + options);
  }
  std::string seen(const Entries& wanted) {
    std::string out;
    for (const Change& one : differing(wanted))
      out += one.path.text().substr(std::string_view("interface[nic0]/").size()) + " " + one.was.to_string() +
             "\n";
    return out;
  }
};

TEST_F(EthtoolDriver, TunesAPortAndRollsBack) {
  make("nic0", "plain");
  const Tree before = observed(named_by(kTuned)).have;
  converge(kTuned);
  expect_shown("-g nic0", {"hardwaresettings:\nRX:4096\n", "\nTX:2048\n"});
  expect_shown("-l nic0", {"hardwaresettings:\nRX:n/a\nTX:n/a\nOther:n/a\nCombined:4\n"});
  expect_shown("-c nic0", {"AdaptiveRX:offTX:off", "\nrx-usecs:3\n", "rx-frames:128\n", "tx-usecs:16\n",
                           "tx-frames:64\n"});
  expect_shown("-k nic0", {"\nreceive-hashing:on\n", "\nntuple-filters:on\n"});
  expect_shown("nic0", {"Speed:100000Mb/s", "Auto-negotiation:off"});
  expect_shown("--show-fec nic0", {"ConfiguredFECencodings:RS\n"});
  ChangeSet undo;
  const Tree now = observed(named_by(kTuned)).have;
  for (const auto& [entry, value] : kTuned)
    if (before.value(path(entry)) && now.value(path(entry)) != before.value(path(entry)))
      undo.push_back({path(entry), value, before.value(path(entry)), 0});
  EXPECT_TRUE(apply(undo).empty());
  const Tree after = observed(named_by(kTuned)).have;
  for (const Entry& entry : before.entries()) EXPECT_EQ(after.value(entry.path), entry.value);
}

TEST_F(EthtoolDriver, DetectsAndRepairsDriftByEthtool) {
  make("nic0", "plain");
  converge(kTuned);
  EXPECT_EQ(seen(kTuned), "");
  auto watch = attached_.watch();
  ASSERT_TRUE(watch) << watch.error().text();
  for (const char* const options :
       {"-G nic0 rx 512", "-L nic0 combined 2", "-C nic0 adaptive-rx on tx-frames 1",
        "-K nic0 rxhash off tso off", "-s nic0 speed 25000 autoneg on", "--set-fec nic0 encoding baser"}) {
    ASSERT_TRUE((*watch)->drain());
    by_hand(options);
    pollfd woken{(*watch)->descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&woken, 1, 10'000), 1) << "no event: " << options;
  }
  EXPECT_EQ(seen(kTuned),
            "autoneg true\nchannels[combined] 2\ncoalescing/adaptive[rx] true\ncoalescing/frames[tx] 1\n"
            "fec baser\noffload[rxhash] false\noffload[tso] false\nring[rx] 512\nspeed 25000\n");
  converge(kTuned);
  expect_shown("-g nic0", {"hardwaresettings:\nRX:4096\n"});
}

TEST_F(EthtoolDriver, WithAutonegotiationSpeedIsTheAdvertisedOne) {
  make("nic0", "plain");
  converge(
      {{"interface[nic0]/autoneg", Value::boolean(true)}, {"interface[nic0]/speed", Value::integer(200000)}});
  expect_shown("nic0",
               {"Advertisedlinkmodes:200000baseCR4/Full\n", "Speed:200000Mb/s", "Auto-negotiation:on"});
  EXPECT_EQ(refused({{"interface[nic0]/speed", Value::integer(40000)}}),
            "speed 40000: nic0 has link modes of 25000, 50000, 100000, 200000, 400000 Mbit/s (ethtool nic0)");
}

TEST_F(EthtoolDriver, ReportsTheValueThatThePortRoundedTo) {
  make("nic0", "mlx5");
  EXPECT_EQ(refused({{"interface[nic0]/ring[rx]", Value::integer(1000)},
                     {"interface[nic0]/ring[tx]", Value::integer(2048)}}),
            "ring[rx] 1000: the port took 1024 (ethtool -g nic0)");
  expect_shown("-g nic0", {"\nTX:2048\n"});
}

TEST_F(EthtoolDriver, RefusesMoreThanThePortsMaximumAndKeepsTheCommitUnit) {
  make("nic0", "plain");
  const auto errors = apply(differing({{"interface[nic0]/channels[combined]", Value::integer(2)},
                                       {"interface[nic0]/ring[rx]", Value::integer(16384)},
                                       {"interface[nic0]/ring[tx]", Value::integer(512)}}));
  ASSERT_EQ(errors.size(), 2U);
  for (const Error& one : errors)
    EXPECT_EQ(one.text(), "ring[rx] 16384: nic0 takes at most 8192 (ethtool -g nic0)");
  expect_shown("-g nic0", {"hardwaresettings:\nRX:1024\n", "\nTX:1024\n"});
  expect_shown("-l nic0", {"Combined:2\n"});
}

TEST_F(EthtoolDriver, ARefusalHasThePortsMessage) {
  make("nic0", "plain");
  refuse("rings fec");
  EXPECT_EQ(refused({{"interface[nic0]/ring[rx]", Value::integer(512)}}),
            "test_nic: ethtool rings set: no memory for rings on this function");
  EXPECT_EQ(refused({{"interface[nic0]/fec", Value::text("off")}}),
            "test_nic: ethtool FEC set: Invalid argument");
  expect_shown("-g nic0", {"hardwaresettings:\nRX:1024\n"});
}

TEST_F(EthtoolDriver, AnOffloadThatIsAcknowledgedButNotSetIsRefused) {
  make("nic0", "plain");
  converge({{"interface[nic0]/offload[rx]", Value::boolean(false)}});
  EXPECT_EQ(refused({{"interface[nic0]/offload[lro]", Value::boolean(true)}}),
            "offload[lro] on: the kernel acknowledged it and left it as it was, off: another offload or the "
            "device forbids it (ethtool -k nic0)");
  converge({{"interface[nic0]/offload[lro]", Value::boolean(true)},
            {"interface[nic0]/offload[rx]", Value::boolean(true)}});
  expect_shown("-k nic0", {"\nlarge-receive-offload:on\n"});
}

TEST_F(EthtoolDriver, ReportsWhatAPortOrTheKernelDoesNotSupport) {
  make("nic0", "bnxt");
  make("plain0", "plain", "dummy");
  EXPECT_EQ(why_incapable(row("interface[*]/ring[*]"), "plain0"),
            "dummy: ethtool rings get: Operation not supported");
  EXPECT_EQ(why_incapable(row("interface[*]/ring[*]"), "nic0"), "");
  const std::vector<Incapable> all = lacks();
  const Incapable* const channels = incapable_of(all, path("interface[nic0]/channels[rx]"));
  ASSERT_NE(channels, nullptr);
  EXPECT_EQ(channels->reason, "test_nic: ethtool -l reports no rx");
  std::string errors;
  for (const Error& one : apply(differing({{"interface[plain0]/fec", Value::text("rs")},
                                           {"interface[nic0]/channels[rx]", Value::integer(1)},
                                           {"interface[nic0]/offload[lro]", Value::boolean(true)},
                                           {"interface[nic0]/offload[warp]", Value::boolean(true)}})))
    errors += std::string(to_string(one.kind)) + ": " + one.text() + "\n";
  EXPECT_EQ(errors,
            "unsupported: test_nic: ethtool -l reports no rx\n"
            "unsupported: dummy: ethtool FEC get: Operation not supported\n"
            "unsupported: offload[lro] on: fixed in this port (ethtool -k nic0)\n"
            "unsupported: this kernel has no feature 'warp' (ethtool -k)\n");
}

TEST_F(EthtoolDriver, ReportsAFailingPortAndReadsTheOthers) {
  make("nic0", "plain");
  make("nic1", "plain");
  refuse("nic0");
  const auto seen = driver().observe(Scope{}, "", soon());
  ASSERT_TRUE(seen) << seen.error().text();
  ASSERT_EQ(seen->unread.size(), 1U);
  EXPECT_EQ(seen->unread[0].row, row("interface[*]/fec"));
  EXPECT_EQ(seen->unread[0].keys, std::vector<std::string>{"nic0"});
  EXPECT_EQ(seen->unread[0].why.text(), "test_nic: ethtool FEC get: Input/output error");
  EXPECT_EQ(seen->have.value(path("interface[nic1]/fec")), Value::text("auto"));
  EXPECT_EQ(seen->have.value(path("interface[nic0]/fec")), Value{});
  EXPECT_EQ(seen->have.value(path("interface[nic0]/ring[rx]")), Value::integer(1024));
  EXPECT_EQ(why_incapable(row("interface[*]/fec"), "nic0"), "") << "it may answer again";
}

TEST_F(EthtoolDriver, ModulesAndLimitsAreDiscovered) {
  std::string modules;
  for (const std::string personality : {"plain", "mlx5", "bnxt"}) {
    make(personality, personality);
    const auto host = discover_host(DiscoverTarget{}, soon());
    ASSERT_TRUE(host) << host.error().text();
    const auto port = std::ranges::find(host->ports, personality, &DiscoveredPort::name);
    ASSERT_NE(port, host->ports.end());
    ASSERT_TRUE(port->nic.module);
    const ethtool::ModuleFacts& module = *port->nic.module;
    modules += module.kind + ", " + module.vendor + ", " + module.part + ", " + module.revision + ", " +
               module.serial + ", " + module.medium + ", " + std::to_string(module.decimetres) + "\n";
    EXPECT_EQ(port->nic.speeds, (std::vector<std::uint32_t>{25000, 50000, 100000, 200000, 400000}));
    EXPECT_EQ(port->nic.fec + " " + port->nic.fec_active, "auto rs");
    EXPECT_EQ(port->nic.rings.at("rx").max, 8192U);
    EXPECT_EQ(port->nic.channels.at("combined").now, 8U);
  }
  EXPECT_EQ(modules,
            "QSFP-DD, Lockstep Cables, TQ4N-2P5C, A1, LC2411070042, passive copper, 25\n"
            "QSFP28, Lockstep Cables, TQ1N-3P0C, B2, LC2411070042, passive copper, 30\n"
            "SFP, Lockstep Cables, TS2N-1P0C, C3, LC2411070042, passive copper, 10\n");
  refuse("module");
  const auto without = discover_host(DiscoverTarget{}, soon());
  ASSERT_TRUE(without);
  for (const DiscoveredPort& port : without->ports) EXPECT_FALSE(port.nic.module) << port.name;
}

}  // namespace
}  // namespace lockstep
