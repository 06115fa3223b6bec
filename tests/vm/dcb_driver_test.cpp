// DCB and pause by the linux driver on our test netdev: from entries to the port and back, manual drift, and
// ports that refuse. The actual state is read from the kernel, not from the driver.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "specs/files/descriptor.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/class_packets.hpp"
#include "tests/vm/dcb_driver_lab.hpp"

namespace lockstep {
namespace {

const Entries kLossless = {{"interface[nic0]/buffer[3]/size", Value::integer(262144)},
                           {"interface[nic0]/dcbx", Value::text("host ieee")},
                           {"interface[nic0]/pause", Value::boolean(false)},
                           {"interface[nic0]/pfc", Value::set({"3"})}};

TEST_F(DcbDriver, ConfiguresChangesAndRollsBackALosslessPort) {
  make("nic0", "plain");
  set_pause("nic0", true);
  const Tree before = observed().have;
  converge(kLossless);
  EXPECT_EQ(pfc("nic0"), 0x08U);
  EXPECT_EQ(size("nic0", 3), 262144U);
  EXPECT_EQ(size("nic0", 0), 262144U) << "the other priorities' buffer is left alone";
  EXPECT_FALSE(pause("nic0"));
  Entries wider = kLossless;
  wider["interface[nic0]/pfc"] = Value::set({"3", "4"});
  wider["interface[nic0]/buffer[3]/size"] = Value::integer(131072);
  wider["interface[nic0]/buffer[4]/size"] = Value::integer(131072);
  converge(wider);
  EXPECT_EQ(pfc("nic0"), 0x18U);
  EXPECT_EQ(size("nic0", 4), 131072U);
  ChangeSet undo;
  const Tree now = observed().have;
  for (const auto& [entry, value] : wider)
    if (now.value(path(entry)) != before.value(path(entry)))
      undo.push_back({path(entry), value, before.value(path(entry)), 0});
  EXPECT_TRUE(apply(undo).empty());
  EXPECT_EQ(observed().have.to_string(), before.to_string());
  EXPECT_EQ(pfc("nic0"), 0U);
  EXPECT_TRUE(pause("nic0"));
}

// The usage that the removal of a lossless class waits for (engine: quiet_check.hpp).
TEST_F(DcbDriver, AClassIsUsedByTrafficInItsPriorities) {
  make("nic0", "plain");
  make("nic1", "plain");
  bring_up({"nic0", "nic1"});
  owned_ = {"nic0"};
  const Value there = Value::present();
  converge({{"interface[nic0]/class[0]", there},
            {"interface[nic0]/class[0]/priority", Value::set({"0", "1", "2", "5", "6", "7"})},
            {"interface[nic0]/class[0]/share", Value::integer(400)},
            {"interface[nic0]/class[0]/strict", Value::boolean(false)},
            {"interface[nic0]/class[4]", there},
            {"interface[nic0]/class[4]/priority", Value::set({"3", "4"})},
            {"interface[nic0]/class[4]/share", Value::integer(600)},
            {"interface[nic0]/class[4]/strict", Value::boolean(false)}});
  const auto passed = [this]() -> std::uint64_t {
    const Path entry = path("interface[nic0]/class[4]");
    EXPECT_TRUE(attached_.usage->knows(entry));
    const auto use = attached_.usage->of(entry, soon());
    EXPECT_TRUE(use) << use.error().text();
    return use ? use->passed.value_or(0) : 0;
  };
  const std::uint64_t before = passed();
  send_frames("nic0", {.priority = 5});
  EXPECT_EQ(passed(), before);
  send_frames("nic0", {.priority = 3});
  EXPECT_EQ(passed(), before + kFrames);
  send_frames("nic1", {.priority = 4});  // received here
  EXPECT_EQ(passed(), before + 2 * kFrames);
  const auto none = attached_.usage->of(path("interface[nic0]/class[6]"), soon());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsupported) << none.error().text();
}

TEST_F(DcbDriver, DetectsManualDriftAtOnceAndRepairsIt) {
  make("nic0", "plain");
  converge(kLossless);
  auto watch = attached_.watch();
  ASSERT_TRUE(watch) << watch.error().text();
  ASSERT_TRUE((*watch)->drain());
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_IEEE_PFC, lossless(0x10))), 0);
  pollfd woken{(*watch)->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&woken, 1, 10'000), 1) << "no event";
  dcbnl_buffer buffer = read("nic0").buffer.value_or(dcbnl_buffer{});
  buffer.buffer_size[3] = 4096;
  EXPECT_EQ(refusal(dcb::set_request("nic0", DCB_ATTR_DCB_BUFFER, buffer)), 0);
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_CEE)), 0);
  set_pause("nic0", true);
  std::string seen;
  for (const Change& one : differing(kLossless)) seen += one.path.text() + " " + one.was.to_string() + "; ";
  EXPECT_EQ(seen,
            "interface[nic0]/buffer[3]/size 4096; interface[nic0]/dcbx lld-managed cee; "
            "interface[nic0]/pause true; interface[nic0]/pfc 4; ");
  converge(kLossless);
  EXPECT_EQ(pfc("nic0"), 0x08U);
}

TEST_F(DcbDriver, PauseAndPfcExcludeEachOtherAndAreSwappedInOrder) {
  make("nic0", "mlx5");
  set_pause("nic0", true);
  EXPECT_NE(refused({{"interface[nic0]/pfc", Value::set({"3"})}}).find("Device or resource busy"),
            std::string::npos);
  EXPECT_EQ(pfc("nic0"), 0U);
  converge(kLossless);
  EXPECT_EQ(pfc("nic0"), 0x08U);
  converge({{"interface[nic0]/pause", Value::boolean(true)}, {"interface[nic0]/pfc", Value::set({})}});
  EXPECT_TRUE(pause("nic0"));
}

TEST_F(DcbDriver, ARefusalIsReportedAndThePortKeepsItsState) {
  make("nic0", "bnxt");
  Entries lossless = kLossless;
  lossless.erase("interface[nic0]/buffer[3]/size");  // not supported by bnxt
  converge(lossless);
  const std::string why = refused({{"interface[nic0]/pfc", Value::set({"3", "4"})}});
  EXPECT_NE(why.find("nic0: dcbnl PFC set: Invalid argument"), std::string::npos) << why;
  EXPECT_EQ(pfc("nic0"), 0x08U);
  EXPECT_TRUE(differing(lossless).empty());
}

// Cells have 128 bytes.
TEST_F(DcbDriver, ABufferSizeIsRoundedUpToCells) {
  make("nic0", "mlx5");
  converge({{"interface[nic0]/buffer[3]/size", Value::integer(1000)}});
  EXPECT_EQ(size("nic0", 3), 1024U);
}

TEST_F(DcbDriver, RefusesMoreThanThePortsBuffer) {
  make("nic0", "plain");
  refused({{"interface[nic0]/buffer[3]/size", Value::integer(1 << 20)}});
  EXPECT_TRUE(observed().have.value(path("interface[nic0]/buffer[3]/size")) == Value{});
}

TEST_F(DcbDriver, ReportsAPortWithForeignDcbxAndTakesItOverOnRequestOnly) {
  make("nic0", "mlx5");
  EXPECT_EQ(refusal(dcb::set_mode_request("nic0", 0)), 0);
  const std::string why = refused({{"interface[nic0]/pfc", Value::set({"3"})}});
  EXPECT_NE(why.find("DCBX is not the host's here but the firmware's or an LLD's ('cee ieee')"),
            std::string::npos)
      << why;
  EXPECT_EQ(pfc("nic0"), 0U);
  converge(kLossless);
  EXPECT_EQ(pfc("nic0"), 0x08U);
}

TEST_F(DcbDriver, ReportsARunningLldpadAndChangesNothing) {
  make("nic0", "plain");
  EXPECT_EQ(why_incapable(row("interface[*]/pfc"), "nic0"), "");
  // Simulates a running lldpad with the socket that its clients connect to.
  const Descriptor lldpad(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr std::string_view kName = "/com/intel/lldpad";
  std::copy(kName.begin(), kName.end(), address.sun_path + 1);
  ASSERT_EQ(::bind(lldpad.number(), reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kName.size())),
            0);
  EXPECT_NE(why_incapable(row("interface[*]/pfc"), "nic0").find("lldpad runs here"), std::string::npos);
  const std::vector<Error> errors = apply({{path("interface[nic0]/pfc"), {}, Value::set({"3"}), 0}});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(to_string(errors[0].kind), to_string(ErrorKind::unsupported));
  EXPECT_EQ(pfc("nic0"), 0U);
}

TEST_F(DcbDriver, ReportsWhatAPortDoesNotSupportWithTheKernelsMessage) {
  make("dum0", "plain", "dummy");
  make("nic0", "plain");
  EXPECT_EQ(why_incapable(row("interface[*]/pfc"), "dum0"), "dummy: dcbnl IEEE get: Operation not supported");
  EXPECT_EQ(why_incapable(row("interface[*]/pause"), "dum0"),
            "dummy: ethtool pause get: Operation not supported");
  EXPECT_NE(why_incapable(row("interface[*]/buffer[*]/xoff"), "nic0").find("no pause threshold"),
            std::string::npos);
  EXPECT_EQ(why_incapable(row("interface[*]/pause"), "nic0"), "");
  for (const Change& one : differing({{"interface[dum0]/pfc", Value::set({"3"})}}))
    for (const Error& error : apply({one}))
      EXPECT_EQ(to_string(error.kind), to_string(ErrorKind::unsupported));
}

}  // namespace
}  // namespace lockstep
