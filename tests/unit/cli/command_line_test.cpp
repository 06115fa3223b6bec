#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "said.hpp"

namespace lockstep {
namespace {

TEST(CommandLine, NamesTheWordsThatAnOptionTakes) {
  const Said said = say({"topology", ".", "-o", "xml"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("'xml' is not one of dot, svg, text"), std::string::npos) << said.err;
}

TEST(CommandLine, NamesAMisspeltCommand) {
  const Said said = say({"aply"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("there is no command 'aply'"), std::string::npos) << said.err;
}

TEST(CommandLine, NamesAMisspeltCommandOfACommand) {
  const Said said = say({"twin", "frob"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("there is no command 'twin frob'; there are twin up, twin down, "),
            std::string::npos)
      << said.err;
}

TEST(CommandLine, AMistakeIsAnErrorObjectWhereJsonIsAskedFor) {
  const Said said = say({"validate", "-o", "json", "--bogus"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("\"kind\": \"Error\""), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("--bogus"), std::string::npos) << said.out;
}

TEST(Topology, ListsDevicesInTheirOrderAndNotAsText) {
  const Said said = say({"topology", LOCKSTEP_SOURCE_DIR "/examples/big-pod"});
  EXPECT_NE(said.out.find("  gpu[1-64]  "), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("gpu[1,10"), std::string::npos) << said.out;
}

// Runs in a process of its own: what is lost on standard output is told at the end of the process's life.
[[noreturn]] void run_with_output(const char* file, std::vector<std::string> words) {
  words.insert(words.begin(), "lockstep");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  close(STDOUT_FILENO);
  if (file != nullptr) open(file, O_WRONLY);
  std::exit(run_command_line(static_cast<int>(argv.size()), argv.data()));
}

TEST(CommandLineDeathTest, WhatCanNotBeWrittenIsAnError) {
  const std::string pod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";
  const char* const full = "error: can't write the output: No space left on device";
  const auto failed = testing::ExitedWithCode(1);
  EXPECT_EXIT(run_with_output("/dev/full", {"schema"}), failed, full);
  EXPECT_EXIT(run_with_output("/dev/full", {"validate", pod}), failed, full);
  EXPECT_EXIT(run_with_output("/dev/full", {"topology", pod, "-o", "svg"}), failed, full);
  EXPECT_EXIT(run_with_output("/dev/full", {"--help"}), failed, full);
  EXPECT_EXIT(run_with_output(nullptr, {"validate", pod}), failed, "error: can't write the output: Bad file");
}

TEST(CommandLineDeathTest, AReaderThatHadEnoughIsNoError) {
  const auto run = [] {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    run_with_output(("/proc/self/fd/" + std::to_string(ends[1])).c_str(), {"schema"});
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace lockstep
