// DCB and pause by the linux driver on our test netdev: from leaves to the port and back, drift made by
// another hand, and ports that refuse. What is there is asked of the kernel, not of the driver.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <map>

#include "drivers/linux/descriptor.hpp"
#include "drivers/linux/driver.hpp"
#include "drivers/linux/ethtool.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/vm/nic_lab.hpp"

namespace lockstep {
namespace {

using Leaves = std::map<std::string, Value>;

const Leaves kLossless = {{"interface[nic0]/buffer[3]/size", Value::integer(262144)},
                          {"interface[nic0]/dcbx", Value::text("host ieee")},
                          {"interface[nic0]/pause", Value::boolean(false)},
                          {"interface[nic0]/pfc", Value::set({"3"})}};

Path path(const std::string& text) {
  const auto parsed = Path::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Path{};
}

class DcbDriver : public NicLab {
 protected:
  void SetUp() override {
    NicLab::SetUp();
    LinuxTarget target;
    target.device = "gpu1";
    target.software_rate = false;
    attached_ = make_linux_driver(target);
  }
  Driver& driver() { return *attached_.driver; }
  Observation observed() {
    auto out = driver().observe(Scope{}, "", soon());
    EXPECT_TRUE(out) << out.error().text();
    if (!out) return {};
    for (const Unread& one : out->unread) ADD_FAILURE() << one.why.text();
    return *std::move(out);
  }
  ChangeSet differing(const Leaves& wanted) {
    Intent intent;
    for (const auto& [leaf, value] : wanted) intent.want.set(path(leaf), value);
    return diff(intent, observed()).changes;
  }
  // Every answer that is an error, in order.
  std::vector<Error> apply(const ChangeSet& changes) {
    std::vector<Error> out;
    const auto receipt = driver().apply(changes, Guard{}, soon());
    EXPECT_TRUE(receipt) << receipt.error().text();
    if (!receipt) return out;
    for (const Receipt::Outcome& one : receipt->outcomes)
      if (one.error) out.push_back(*one.error);
    return out;
  }
  void converge(const Leaves& wanted) {
    for (const Error& error : apply(differing(wanted))) ADD_FAILURE() << error.text();
    EXPECT_TRUE(differing(wanted).empty());
  }
  std::string refused(const Leaves& wanted) {
    const std::vector<Error> errors = apply(differing(wanted));
    EXPECT_EQ(errors.size(), 1U);
    if (errors.empty()) return {};
    EXPECT_EQ(to_string(errors[0].kind), to_string(ErrorKind::refused));
    return errors[0].text();
  }
  std::string why_incapable(RowId row, const std::string& port) {
    for (const Incapable& one : driver().traits().incapable)
      if (one.row == row && one.keys == std::vector{port}) return one.reason;
    return {};
  }

  unsigned pfc(const std::string& port) { return read(port).pfc.value_or(ieee_pfc{}).pfc_en; }
  std::uint32_t size(const std::string& port, std::size_t priority) {
    const dcbnl_buffer buffer = read(port).buffer.value_or(dcbnl_buffer{});
    return buffer.buffer_size[buffer.prio2buffer[priority]];
  }
  // Global pause by another hand, or as it is.
  void set_pause(const std::string& port, bool on) {
    auto ethtool = Ethtool::open(soon());
    ASSERT_TRUE(ethtool);
    const auto set = ethtool->set_pause(index(port), on, soon());
    ASSERT_TRUE(set) << set.error().text();
  }
  bool pause(const std::string& port) {
    auto ethtool = Ethtool::open(soon());
    EXPECT_TRUE(ethtool);
    if (!ethtool) return false;
    const auto pauses = ethtool->pauses(soon());
    EXPECT_TRUE(pauses);
    return pauses && pauses->contains(index(port)) && pauses->at(index(port));
  }
  std::uint32_t index(const std::string& port) {
    const auto links = read_links(*socket_, soon());
    EXPECT_TRUE(links);
    for (const Link& one : *links)
      if (one.name == port) return one.index;
    ADD_FAILURE() << port;
    return 0;
  }

  Attached attached_;
};

TEST_F(DcbDriver, ALosslessPortIsMadeChangedAndUndone) {
  make("nic0", "plain");
  set_pause("nic0", true);
  const Tree before = observed().have;
  converge(kLossless);
  EXPECT_EQ(pfc("nic0"), 0x08U);
  EXPECT_EQ(size("nic0", 3), 262144U);
  EXPECT_EQ(size("nic0", 0), 262144U) << "the other priorities' buffer is left alone";
  EXPECT_FALSE(pause("nic0"));
  Leaves wider = kLossless;
  wider["interface[nic0]/pfc"] = Value::set({"3", "4"});
  wider["interface[nic0]/buffer[3]/size"] = Value::integer(131072);
  wider["interface[nic0]/buffer[4]/size"] = Value::integer(131072);
  converge(wider);
  EXPECT_EQ(pfc("nic0"), 0x18U);
  EXPECT_EQ(size("nic0", 4), 131072U);
  ChangeSet undo;
  const Tree now = observed().have;
  for (const auto& [leaf, value] : wider)
    if (now.value(path(leaf)) != before.value(path(leaf)))
      undo.push_back({path(leaf), value, before.value(path(leaf)), 0});
  EXPECT_TRUE(apply(undo).empty());
  EXPECT_EQ(observed().have.to_string(), before.to_string());
  EXPECT_EQ(pfc("nic0"), 0U);
  EXPECT_TRUE(pause("nic0"));
}

TEST_F(DcbDriver, DriftByAnotherHandIsSeenAtOnceAndHealed) {
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

TEST_F(DcbDriver, OnePausesOrHasPfcAndTheOneGoesBeforeTheOtherComes) {
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

TEST_F(DcbDriver, APortThatRefusesSaysWhyAndKeepsWhatItHad) {
  make("nic0", "strict");
  converge(kLossless);
  const std::string why = refused({{"interface[nic0]/pfc", Value::set({"3", "4"})}});
  EXPECT_NE(why.find("nic0: dcbnl PFC set: Invalid argument"), std::string::npos) << why;
  EXPECT_EQ(pfc("nic0"), 0x08U);
  EXPECT_TRUE(differing(kLossless).empty());
}

TEST_F(DcbDriver, AValueThatThePortBendsIsAnErrorThatNamesBoth) {
  make("nic0", "mlx5");
  const std::string why = refused({{"interface[nic0]/buffer[3]/size", Value::integer(1000)}});
  EXPECT_NE(why.find("took 1000 and has 896"), std::string::npos) << why;
}

TEST_F(DcbDriver, MoreThanThePortsBufferIsRefused) {
  make("nic0", "plain");
  refused({{"interface[nic0]/buffer[3]/size", Value::integer(1 << 20)}});
  EXPECT_TRUE(observed().have.value(path("interface[nic0]/buffer[3]/size")) == Value{});
}

TEST_F(DcbDriver, APortWhoseDcbxIsNotTheHostsIsNamedAndTakenOverOnlyWhenAsked) {
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

TEST_F(DcbDriver, ARunningLldpadIsNamedAndNotFought) {
  make("nic0", "plain");
  EXPECT_EQ(why_incapable(row("interface[*]/pfc"), "nic0"), "");
  // What its clients connect to: as if it ran.
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

TEST_F(DcbDriver, WhatAPortLacksIsSaidInTheKernelsWords) {
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
