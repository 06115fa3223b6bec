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

}  // namespace
}  // namespace lockstep
