#include "drivers/frr/vty.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>

#include "drivers/frr/save.hpp"
#include "tests/unit/frr/fake_vty.hpp"

namespace lockstep::frr {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Call within(milliseconds time) { return Call{.deadline = steady_clock::now() + time, .stop = {}}; }
constexpr milliseconds kAmple{10'000};
constexpr milliseconds kShort{60};

class VtyTest : public ::testing::Test {
 protected:
  // Connects to a fake with this fault and sends `command`.
  Result<Reply> say(Fault fault, const std::string& command, Intention intention,
                    milliseconds time = kAmple) {
    const FakeVty fake(folder_.name(), "bgpd", std::move(fault));
    auto vty = Vty::connect(folder_.name(), "bgpd", within(kAmple));
    if (!vty) return std::move(vty.error());
    return vty->say(command, intention, within(time));
  }
  Folder folder_;
};

TEST_F(VtyTest, ReadsAReplyThatComesByteByByte) {
  std::vector<std::string> bytes;
  for (const char c : framed("two\nlines\n", 0)) bytes.emplace_back(1, c);
  const auto reply = say({"show x", bytes}, "show x", Intention::asks);
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_EQ(reply->text, "two\nlines\n");
  EXPECT_EQ(reply->code, 0);
}

TEST_F(VtyTest, KeepsAReturnCodeApartFromTheNulBytesBeforeIt) {
  const auto reply =
      say({"show x", {std::string("words\0\0\0", 8), std::string("\x0d")}}, "show x", Intention::asks);
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_EQ(reply->text, "words");
  EXPECT_EQ(reply->code, 13);
}

TEST_F(VtyTest, PassesOnTheMessageOfFrrWhenItRefuses) {
  const auto reply = say({}, "bogus cmd", Intention::writes);
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_EQ(reply->code, 2);
  EXPECT_EQ(reply->words(), "% [FAKE] Unknown command: bogus cmd");
}

TEST_F(VtyTest, ATruncatedReadIsTransient) {
  const auto reply = say({"show x", {"half a rep"}, true}, "show x", Intention::asks);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::transient);
}

TEST_F(VtyTest, AWriteHasAnUnknownOutcomeWhenTheDaemonDies) {
  const auto reply = say({"router bgp 1", {}, true}, "router bgp 1", Intention::writes);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::unknown_outcome);
  EXPECT_NE(reply.error().text().find("router bgp 1"), std::string::npos);
}

TEST_F(VtyTest, AWriteHasAnUnknownOutcomeWhenTheTrailerIsTruncated) {
  const auto reply =
      say({"router bgp 1", {std::string("\0\0\0", 3)}, true}, "router bgp 1", Intention::writes);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::unknown_outcome);
}

TEST_F(VtyTest, EndsAtTheDeadlineWhenTheDaemonHangs) {
  const auto asked = say({"show x", {}}, "show x", Intention::asks, kShort);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind, ErrorKind::transient);
}

TEST_F(VtyTest, AWriteHasAnUnknownOutcomeWhenTheDaemonHangs) {
  const auto written = say({"router bgp 1", {"par"}}, "router bgp 1", Intention::writes, kShort);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::unknown_outcome);
}

TEST_F(VtyTest, EndsWhenItsCallIsStopped) {
  const FakeVty fake(folder_.name(), "bgpd", {"show x", {}});
  auto vty = Vty::connect(folder_.name(), "bgpd", within(kAmple));
  ASSERT_TRUE(vty);
  const Descriptor wake(::eventfd(1, EFD_CLOEXEC));
  Call call = within(kAmple);
  call.wake_fd = wake.number();
  const auto reply = vty->say("show x", Intention::asks, call);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::cancelled);
}

TEST_F(VtyTest, SendsNothingOnceAStopIsRequested) {
  FakeVty fake(folder_.name(), "bgpd");
  std::stop_source stop;
  Call call = within(kAmple);
  call.stop = stop.get_token();
  {
    auto vty = Vty::connect(folder_.name(), "bgpd", call);
    ASSERT_TRUE(vty);
    ASSERT_TRUE(vty->say("configure terminal", Intention::writes, call));
    stop.request_stop();
    const auto reply = vty->say("router bgp 1", Intention::writes, call);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind, ErrorKind::cancelled) << "nothing was sent, so nothing can have happened";
  }
  EXPECT_TRUE(fake.configured().empty());
}

TEST_F(VtyTest, RefusesGarbage) {
  const auto nul_in_text =
      say({"show x", {std::string("a\0b", 3) + framed("", 0)}}, "show x", Intention::asks);
  ASSERT_FALSE(nul_in_text);
  EXPECT_EQ(nul_in_text.error().kind, ErrorKind::transient);
}

TEST_F(VtyTest, RefusesBytesAfterAReply) {
  const auto twice = say({"show x", {framed("", 0) + framed("", 0)}}, "show x", Intention::asks);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().kind, ErrorKind::transient);
}

TEST_F(VtyTest, BoundsAReply) {
  const std::vector<std::string> flood(kReplyMax / (1U << 20) + 2, std::string(1U << 20, 'x'));
  const auto reply = say({"show x", flood}, "show x", Intention::asks);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().text().find("longer"), std::string::npos);
}

TEST_F(VtyTest, IsUnusableAfterAnError) {
  const FakeVty fake(folder_.name(), "bgpd", {"show x", {}});
  auto vty = Vty::connect(folder_.name(), "bgpd", within(kAmple));
  ASSERT_TRUE(vty);
  ASSERT_FALSE(vty->say("show x", Intention::asks, within(kShort)));
  EXPECT_FALSE(vty->say("show running-config", Intention::asks, within(kAmple)));
}

TEST_F(VtyTest, RefusesWhatIsNotOneLine) {
  FakeVty fake(folder_.name(), "bgpd");
  {
    auto vty = Vty::connect(folder_.name(), "bgpd", within(kAmple));
    ASSERT_TRUE(vty);
    for (const std::string& command : {std::string("a\nb"), std::string("a\0b", 3), std::string(5000, 'x')}) {
      const auto reply = vty->say(command, Intention::writes, within(kAmple));
      ASSERT_FALSE(reply);
      EXPECT_EQ(reply.error().kind, ErrorKind::invalid_spec);
    }
  }
  EXPECT_TRUE(fake.configured().empty());
}

TEST_F(VtyTest, AMissingDaemonIsTransient) {
  const auto vty = Vty::connect(folder_.name(), "bgpd", within(kAmple));
  ASSERT_FALSE(vty);
  EXPECT_EQ(vty.error().kind, ErrorKind::transient);
  EXPECT_NE(vty.error().text().find("bgpd.vty"), std::string::npos);
}

TEST_F(VtyTest, RefusesANameThatIsTooLongForASocket) {
  const auto vty = Vty::connect("/tmp/" + std::string(120, 'x'), "bgpd", within(kAmple));
  ASSERT_FALSE(vty);
  EXPECT_EQ(vty.error().kind, ErrorKind::invalid_spec);
}

TEST_F(VtyTest, DoesNotSaveWhenADaemonWithASocketIsSilent) {
  const FakeVty zebra(folder_.name(), "zebra");
  const FakeVty ospfd(folder_.name(), "ospfd", {"show running-config", {}, true});
  const std::string file = folder_.name() + "/frr.conf";
  ASSERT_FALSE(save_running(folder_.name(), file, within(kAmple)));
  EXPECT_NE(::access(file.c_str(), F_OK), 0) << "half of the configuration was written";
}

}  // namespace
}  // namespace lockstep::frr
