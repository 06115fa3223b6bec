// What ssh is given, and what becomes of each way in which it can end. ssh is the stand-in's.
#include "drivers/sonic/ssh_command.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/sonic_commands/switch_folder.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

using stand_in::SwitchFolder;
using std::chrono::seconds;
using Json = nlohmann::json;

Call within_a_while(std::chrono::milliseconds time = seconds(20)) {
  return {.deadline = std::chrono::steady_clock::now() + time, .stop = {}};
}

TEST(SshServers, AreReadAsTheyAreWritten) {
  const auto user = parse_ssh_server("admin@leaf0");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->user, "admin");
  EXPECT_EQ(user->host, "leaf0");
  EXPECT_EQ(user->port, 0);
  for (const char* const text : {"leaf0", "admin@leaf0.example.com:2222", "a_b-c.d@10.0.0.1",
                                 "admin@[2001:db8::1]", "[2001:db8::1]:22", "leaf_0"}) {
    const auto read = parse_ssh_server(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->text(), text);
  }
}

// ssh(1) takes words that begin with - for options; its own forms of addresses and configuration have more.
TEST(SshServers, CanBeNothingElse) {
  for (
      const char* const text :
      {"",          "@",           "admin@",   "@leaf0",       "-oProxyCommand=id", "admin@-oProxyCommand=id",
       "-l@leaf0",  "leaf0 id",    "leaf0;id", "leaf0\nid",    "$(id)@leaf0",       "ad min@leaf0",
       "a@b@c",     "leaf0:",      "leaf0:0",  "leaf0:65536",  "leaf0:22x",         "leaf0:-1",
       "leaf0:+22", "2001:db8::1", "[leaf0]",  "[2001:db8::1", "[2001:db8::1]22",   "ssh://leaf0",
       "%h",        "leaf0/x",     "*",        "[10.0.0.1]",   "leaf0:22:23"}) {
    const auto read = parse_ssh_server(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::invalid_spec);
  }
}

class SshRuns : public testing::Test {
 protected:
  SshRun run(const std::string& body, const std::string& input = "",
             const Call& call = within_a_while()) const {
    return SshCommand({.user = "admin", .host = "leaf0", .port = 2222}, folder / "bin/ssh")
        .run(body, input, seconds(10), call);
  }
  SwitchFolder folder{LOCKSTEP_SONIC_STAND_IN};
};

TEST_F(SshRuns, PartsArriveWithTheirExitCodes) {
  const SshRun out =
      run("say() { printf 'a b\\n\\n'; cat; return 3; }\npart one say\npart two printf '%s' 'no end'");
  ASSERT_FALSE(out.error) << out.error->text();
  ASSERT_NE(out.part("one"), nullptr);
  EXPECT_EQ(out.part("one")->text, "a b\n\n");
  EXPECT_EQ(out.part("one")->status, 3);
  EXPECT_EQ(out.part("two")->text, "no end");
  EXPECT_EQ(out.part("two")->status, 0);
  EXPECT_EQ(out.part("three"), nullptr);
  EXPECT_EQ(run("part one cat", "from here\n").part("one")->text, "from here\n");
}

TEST_F(SshRuns, SshAsksNothingAndTakesNoOptionAfterTheHost) {
  (void)run("part one true");
  const std::vector<std::string> calls = folder.calls();
  ASSERT_EQ(calls.size(), 1U);
  for (const char* const word : {" -o BatchMode=yes", " -o ConnectTimeout=", " -o ServerAliveInterval=",
                                 " -a -x", " -p 2222 -l admin -- leaf0 "})
    EXPECT_NE(calls[0].find(word), std::string::npos) << word << " in " << calls[0];
  EXPECT_EQ(calls[0].find("StrictHostKeyChecking"), std::string::npos);
}

TEST_F(SshRuns, WhatItPrintsCantEndAPart) {
  const SshRun out =
      run("part one printf '%s\\n' x ' end one 0' 'mark end one 0' \"$(printf "
          "'\\n00000000-0000-4000-8000-000000000000 done')\"");
  ASSERT_FALSE(out.error);
  EXPECT_EQ(out.part("one")->text,
            "x\n end one 0\nmark end one 0\n\n00000000-0000-4000-8000-000000000000 done\n");
}

TEST_F(SshRuns, EachEndHasItsError) {
  struct Case {
    const char* what;
    ErrorKind kind;
    bool may_run;
    const char* words;
  };
  for (const Case& one : {Case{"unreachable", ErrorKind::transient, false, "Connection refused"},
                          Case{"deny", ErrorKind::denied, false, "Permission denied (publickey,password)"},
                          Case{"lose reply", ErrorKind::transient, true, "the connection was lost"},
                          Case{"garbage", ErrorKind::refused, true, "does not do what it is asked"},
                          Case{"flood", ErrorKind::refused, true, "printed more than 64 MiB"}}) {
    folder.misbehave({{"ssh", {{"what", one.what}}}});
    const SshRun out = run("part one true");
    ASSERT_TRUE(out.error) << one.what;
    EXPECT_EQ(out.error->kind, one.kind) << one.what << ": " << out.error->text();
    EXPECT_EQ(out.may_run, one.may_run) << one.what;
    EXPECT_NE(out.error->text().find(one.words), std::string::npos) << out.error->text();
    EXPECT_NE(out.error->text().find("admin@leaf0:2222"), std::string::npos) << out.error->text();
    EXPECT_EQ(out.part("one"), nullptr);
  }
}

TEST_F(SshRuns, AShellThatStopsInTheMiddleIsNoEnd) {
  const SshRun out = run("part one true\nexit 0");
  ASSERT_TRUE(out.error);
  EXPECT_TRUE(out.may_run);
  EXPECT_NE(out.part("one"), nullptr);
}

TEST_F(SshRuns, EndWithTheirCall) {
  folder.misbehave({{"ssh", {{"what", "hang"}}}});
  const auto begin = std::chrono::steady_clock::now();
  const SshRun late = run("part one true", "", within_a_while(std::chrono::milliseconds(100)));
  ASSERT_TRUE(late.error);
  EXPECT_EQ(late.error->kind, ErrorKind::transient) << late.error->text();
  EXPECT_TRUE(late.may_run);
  std::stop_source stop;
  Call call = within_a_while();
  call.stop = stop.get_token();
  const std::jthread later([&stop] { stop.request_stop(); });
  const SshRun stopped = run("part one true", "", call);
  ASSERT_TRUE(stopped.error);
  EXPECT_EQ(stopped.error->kind, ErrorKind::cancelled);
  const SshRun never = run("part one true", "", within_a_while(seconds(-1)));
  EXPECT_FALSE(never.may_run);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(9));
}

TEST_F(SshRuns, WithoutSshItSaysSo) {
  const SshRun out =
      SshCommand({.host = "leaf0"}, folder / "none").run("part one true", "", seconds(5), within_a_while());
  ASSERT_TRUE(out.error);
  EXPECT_NE(out.error->text().find("none"), std::string::npos) << out.error->text();
  EXPECT_NE(out.error->kind, ErrorKind::transient);
}

}  // namespace
}  // namespace lockstep::sonic
