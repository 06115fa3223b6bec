#include "reconciler/cli/command_line.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

Said say(std::vector<std::string> words) {
  words.insert(words.begin(), "lockstep");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Said said;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  said.code = run_command_line(static_cast<int>(argv.size()), argv.data());
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

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

}  // namespace
}  // namespace lockstep
