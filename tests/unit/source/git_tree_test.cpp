// Listings as a hostile or broken repository could make git print them; what fsck lets through is refused
// here.
#include "reconciler/source/git_tree.hpp"

#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

using Trouble = SourceTrouble;

const std::string kHash(40, 'a');

std::string line(const std::string& mode, const std::string& size, const std::string& path) {
  return mode + " blob " + kHash + " " + size + "\t" + path + std::string(1, '\0');
}

// Nothing: the listing is accepted.
std::optional<Trouble> trouble_of(const std::string& listing, const GitSettings& limits = GitSettings()) {
  auto entries = parse_git_listing(listing, "T");
  if (!entries) return entries.error().trouble;
  auto checked = check_git_entries(*entries, limits, "T");
  if (!checked) return checked.error().trouble;
  return std::nullopt;
}

TEST(GitTree, AcceptsFiles) {
  for (const std::string path :
       {"a", "a/b", "..a", "a..", ".gitignore", "a b", ".gitattributes", "-rf", "\xc3\xa9"})
    EXPECT_EQ(trouble_of(line("100644", "      1", path)), std::nullopt) << path;
  EXPECT_EQ(trouble_of(line("100755", "0", "a")), std::nullopt);
  EXPECT_EQ(trouble_of(""), std::nullopt);
}

TEST(GitTree, RefusesPathsThatLeaveTheFolder) {
  for (const std::string path : {"..", ".", "", "../x", "a/../../x", "a/..", "/etc/passwd", "a//b", "a/",
                                 "./a", ".git", ".GIT/config", "a/.Git/hooks/post-checkout"})
    EXPECT_EQ(trouble_of(line("100644", "1", path)), Trouble::not_allowed) << path;
  EXPECT_EQ(trouble_of(line("100644", "1", std::string(256, 'a'))), Trouble::not_allowed);
  std::string deep;
  for (int i = 0; i < 1500; ++i) deep += "d/";
  EXPECT_EQ(trouble_of(line("100644", "1", deep + "a")), Trouble::not_allowed);
}

TEST(GitTree, RefusesWhatIsNoFile) {
  for (const std::string mode : {"120000", "160000", "040000", "000000", "100000", "140000", "60000"})
    EXPECT_EQ(trouble_of(line(mode, "1", "a")), Trouble::not_allowed) << mode;
}

TEST(GitTree, RefusesWhatIsNoListing) {
  for (const std::string& text :
       {std::string("x"), std::string(3, '\0'), std::string("100644 blob\0", 12),
        std::string("100644 blob ") + kHash + " 1\ta", line("100644", "-", "a"), line("100644", "BAD", "a"),
        line("100644", "", "a"), line("100644", "-1", "a"), line("100644", "99999999999999999999", "a"),
        line("100644", "1x", "a")})
    EXPECT_EQ(trouble_of(text), Trouble::broken) << text;
}

TEST(GitTree, KeepsToTheLimits) {
  GitSettings limits;
  limits.max_files = 2;
  limits.max_file_bytes = 100;
  limits.max_bytes = 150;
  const std::string two = line("100644", "50", "a") + line("100644", "100", "b");
  EXPECT_EQ(trouble_of(two, limits), std::nullopt);
  EXPECT_EQ(trouble_of(two + line("100644", "0", "c"), limits), Trouble::too_large);
  EXPECT_EQ(trouble_of(line("100644", "101", "a"), limits), Trouble::too_large);
  EXPECT_EQ(trouble_of(line("100644", "51", "a") + line("100644", "100", "b"), limits), Trouble::too_large);
  EXPECT_EQ(trouble_of(line("100644", "18446744073709551615", "a"), limits), Trouble::too_large);
}

TEST(GitTree, ContentsAreThoseThatWereListed) {
  const std::vector<GitEntry> entries{{GitEntry::Kind::file, kHash, 3, "a"},
                                      {GitEntry::Kind::file, kHash, 0, "b"}};
  const std::string right = kHash + " blob 3\na\nb\n" + kHash + " blob 0\n\n";
  auto contents = parse_git_contents(right, entries, "T");
  ASSERT_TRUE(contents);
  EXPECT_EQ(*contents, (std::vector<std::string_view>{"a\nb", ""}));
  for (const std::string& wrong :
       {std::string(), right.substr(0, right.size() - 1), kHash + " blob 2\nab\n" + kHash + " blob 0\n\n",
        kHash + " tree 3\na\nb\n" + kHash + " blob 0\n\n", kHash + " missing\n" + kHash + " missing\n"})
    EXPECT_FALSE(parse_git_contents(wrong, entries, "T")) << wrong;
}

}  // namespace
}  // namespace lockstep
