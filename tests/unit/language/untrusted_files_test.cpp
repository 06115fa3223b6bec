// Specs that name files outside of their folder, and content that excerpts never show.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "spec_folder.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/load.hpp"
#include "specs/language/secret_lines.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOutside = "root:hunter2:19000:0";

std::string set_from(const std::string& csv) {
  return "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: hosts}\n"
         "spec: {role: host, platform: linux, drivers: [linux], from: {csv: " +
         csv + "}}\n";
}

class UntrustedFiles : public SpecFolder {
 protected:
  void SetUp() override {
    ::alarm(60);  // a load that hangs ends the suite
    SpecFolder::SetUp();
    write("shadow", kOutside);
    fs::create_directory(root_ / "specs");
  }
  void TearDown() override {
    ::alarm(0);
    SpecFolder::TearDown();
  }
  // All output: the excerpts for people and the JSON report.
  std::string said(const std::vector<std::string>& paths) {
    loaded_ = load(paths);
    return excerpts(loaded_.diagnostics, loaded_.catalog.sources, Colour::off) +
           error_report(loaded_.diagnostics, loaded_.catalog.sources).dump();
  }
  std::string said() { return said({(root_ / "specs").string()}); }
  void expect_hidden(const std::string& text, const std::string& what) {
    EXPECT_FALSE(loaded_.diagnostics.empty()) << what;
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << what << ":\n" << text;
  }
  Loaded loaded_;
};

TEST_F(UntrustedFiles, InventoryOutsideOfTheFolderIsNotRead) {
  fs::create_symlink("../shadow", root_ / "specs/link.csv");
  for (const std::string& csv : {std::string("../shadow"), (root_ / "shadow").string(),
                                 std::string("link.csv"), std::string("/proc/self/environ")}) {
    write("specs/set.yaml", set_from(csv));
    const std::string text = said();
    expect_hidden(text, csv);
    EXPECT_EQ(loaded_.diagnostics.at(0).code, code::unreadable) << csv;
    EXPECT_NE(text.find("set.yaml:4:"), std::string::npos) << text;
    EXPECT_NE(text.find("hint"), std::string::npos) << "what to do: " << text;
    EXPECT_EQ(text.find("PATH="), std::string::npos) << "an environment";
  }
}

TEST_F(UntrustedFiles, InventoryOfAFileArgumentIsBeneathItsFolder) {
  write("specs/set.yaml", set_from("../shadow"));
  expect_hidden(said({(root_ / "specs/set.yaml").string()}), "a file argument");
  write("specs/sub/set.yaml", set_from("../hosts.csv"));
  write("specs/hosts.csv", "name\ngpu1\n");
  EXPECT_EQ(said({(root_ / "specs/sub").string()}).find("LS1003"), std::string::npos);
  EXPECT_EQ(loaded_.diagnostics.at(0).code, code::unreadable);
  fs::remove(root_ / "specs/set.yaml");
  (void)said();
  EXPECT_TRUE(loaded_.diagnostics.empty()) << "the folder that was named holds both";
}

TEST_F(UntrustedFiles, SpecLinkToTheOutsideIsNotRead) {
  fs::create_symlink("../shadow", root_ / "specs/a.yaml");
  expect_hidden(said(), "in a folder");
  EXPECT_EQ(loaded_.diagnostics.at(0).code, code::unreadable);
  expect_hidden(said({(root_ / "specs/a.yaml").string()}), "as an argument, such as a shell's *.yaml");
}

TEST_F(UntrustedFiles, FifoIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((root_ / "specs/hosts.csv").c_str(), 0600), 0);
  write("specs/set.yaml", set_from("hosts.csv"));
  EXPECT_NE(said().find("not a regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo((root_ / "specs/b.yaml").c_str(), 0600), 0);
  EXPECT_NE(said().find("b.yaml': not a regular file"), std::string::npos);
}

TEST_F(UntrustedFiles, LinesOfAnInventoryAreInNoExcerpt) {
  write("specs/set.yaml", set_from("hosts.csv"));
  write("specs/hosts.csv", "name,rack\ngpu1,r1,hunter2\ngpu2,\"hunter2\n");
  const std::string text = said();
  expect_hidden(text, "a row");
  EXPECT_NE(text.find("hosts.csv:2:1"), std::string::npos) << text;
}

std::string credentials(const std::string& said) {
  return "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: hosts}\nspec:\n"
         "  names: gpu1\n  role: host\n  drivers: [linux]\n  credentials:" +
         said + "\n";
}

TEST_F(UntrustedFiles, WrittenSecretIsNeverShown) {
  const std::string all[] = {
      credentials(" hunter2"),
      credentials(" [hunter2]"),
      credentials(" {secret: hunter2}"),
      credentials(" {secret: hunter2, colour: red}"),  // another error on the same line
      credentials(" {colour: red, secret: hunter2}"),
      credentials(" {secret: &x hunter2}"),
      credentials(" {secret: {password: hunter2}}"),
      credentials(" {secret: [hunter2]}"),
      credentials("\n    secret: hunter2: x"),  // not YAML
      credentials("\n    secret: 'hunter2"),    // the same
      credentials("\n    secret: |\n      hunter2"),
      credentials("\n    secret: |\n      hunter2\n     less: x"),
      credentials("\n    secret:\n      - hunter2"),
      credentials("\n    secret:\n      password: hunter2"),
      credentials("\n    secert: hunter2"),
      credentials("\n    password: hunter2"),
      credentials("\n    \"secret\" : hunter2\n    secret: x"),
      credentials("\n    secret: env:X\n    user: &u hunter2\n    user: *u\n    token: *u"),
      "kind: hunter: secret: hunter2\n",
  };
  for (const std::string& one : all) {
    write("specs/c.yaml", one);
    expect_hidden(said(), one);
  }
}

TEST_F(UntrustedFiles, LineThatNamesWhereASecretIsKeptIsShown) {
  write("specs/c.yaml", credentials("\n    secret: systemd:sw-admin\n    secret: file:x\n    colour: red"));
  EXPECT_NE(said().find("10 |     secret: file:x\n"), std::string::npos) << said();
  EXPECT_EQ(said().find("colour: red"), std::string::npos) << "it might be a mistyped secret: " << said();
  write("specs/c.yaml", credentials(" {secret: 'env:SW', secret: 'env:X'}"));
  EXPECT_NE(said().find("secret: 'env:SW', secret"), std::string::npos) << said();
}

TEST(SecretLines, AreThoseOfTheKeyAndWhatIsBelowIt) {
  using Lines = std::set<std::uint32_t>;
  EXPECT_EQ(lines_with_secrets("a: 1\nsecret: |\n  x\n\n  y\nb: 2\n"), (Lines{2, 3, 4, 5}));
  EXPECT_EQ(lines_with_secrets("secret: file:/x\nSECRET: y\nmy-Password: z"), (Lines{2, 3}));
  EXPECT_EQ(lines_with_secrets("secretive\ntokens of: x\n"), Lines{});
  EXPECT_EQ(lines_with_secrets("- {a: b, token: x}\n"), Lines{1});
  EXPECT_EQ(lines_with_secrets(""), Lines{});
}

}  // namespace
}  // namespace lockstep
