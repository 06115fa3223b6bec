#include "specs/model/printable.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep {
namespace {

TEST(Printable, EscapesControlAndInvisibleCharacters) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("a\r\nb\tc"), "a\\x0d\\x0ab\\x09c");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x7f\xc2\x9b"), "\\x7f\\x9b") << "DEL, and CSI of C1";
  EXPECT_EQ(printable("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8b"), "\\u{202e}\\u{2066}\\u{200b}");
  EXPECT_EQ(printable("\xef\xbb\xbf\xef\xbf\xbe\xf3\xa0\x81\xa1"), "\\u{feff}\\u{fffe}\\u{e0061}");
}

TEST(Printable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("a\xc3"), "a\\xc3") << "cut short";
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
}

TEST(Printable, LeavesTextAsItIs) {
  for (const char* const text :
       {"", "interface[rail0]/mtu", "größe → 9000 B", "網路 🚀", "C:\\x", "\xef\xbf\xbd"})
    EXPECT_EQ(printable(text), text);
}

RC_GTEST_PROP(Printable, IsIdempotent, (const std::string& bytes)) {
  const std::string once = printable(bytes);
  RC_ASSERT(printable(once) == once);
  for (const char c : once) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

TEST(Printable, IsCutAtTheEndOfACharacter) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc");
  EXPECT_EQ(printable("ab\xc3\xbc", 3), "ab") << "no half of a character";
  EXPECT_EQ(printable("ab\xc3\xbc", 4), "ab\xc3\xbc");
  EXPECT_EQ(printable("a\x1b", 3), "a\\x") << "what is shown is counted";
}

}  // namespace
}  // namespace lockstep
