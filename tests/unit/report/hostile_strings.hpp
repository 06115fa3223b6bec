// Strings as a device, a daemon, a neighbour or a kernel can give them, for tests of their output.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace lockstep {

// Returns the next string. Each starts with a unique name, so that reports fold nothing by accident.
using Strings = std::function<std::string()>;

inline Strings harmless() {
  return [n = 0]() mutable { return "f" + std::to_string(n++) + "x"; };
}

inline Strings hostile(std::mt19937_64& random) {
  return [n = 0, &random]() mutable {
    static const std::vector<std::string> kPieces{"\x1b[2K\x1b[1A",
                                                  "\x1b[31m",
                                                  "\x1b[0m",
                                                  "\x1b]0;title\x07",
                                                  "\x1b[8m",
                                                  "\r",
                                                  "\n",
                                                  "\r\n",
                                                  "\t",
                                                  std::string("\0", 1),
                                                  "\x7f",
                                                  "\xc2\x9b"
                                                  "31m",
                                                  "\xc2\x85",
                                                  "\xe2\x80\xae",
                                                  "\xe2\x81\xa6",
                                                  "\xe2\x80\x8b",
                                                  "\xe2\x80\xa8",
                                                  "\xef\xbb\xbf",
                                                  "\xef\xbf\xbe",
                                                  "\xff\xfe",
                                                  "\xc3",
                                                  "\xed\xa0\x80",
                                                  "\xf4\x90\x80\x80",
                                                  "@org/admins",
                                                  "@everyone ",
                                                  "#123",
                                                  "!7 ",
                                                  "GH-1",
                                                  "\n::error file=x::forged",
                                                  "::set-output name=a::b",
                                                  "::",
                                                  "##[error]forged",
                                                  "##[",
                                                  "%0A::error::forged",
                                                  "%",
                                                  "<script>alert(1)</script>",
                                                  "<img src=x onerror=a>",
                                                  "-->",
                                                  "<!--",
                                                  "]]>",
                                                  "&lt;",
                                                  "&#10;",
                                                  "&",
                                                  "\"",
                                                  "'",
                                                  "|",
                                                  "\\|",
                                                  "\\",
                                                  "`",
                                                  "``",
                                                  "```\n",
                                                  "~~~",
                                                  "$a$",
                                                  "![x](http://evil.example/x.png)",
                                                  "[x](javascript:a)",
                                                  "](0)",
                                                  "www.evil.example ",
                                                  "http://evil.example ",
                                                  "a@evil.example ",
                                                  "*b*",
                                                  "_i_",
                                                  "~~s~~",
                                                  "\n# heading\n",
                                                  "\n- item",
                                                  "\n|a|b|\n|-|-|\n",
                                                  "\n\n",
                                                  "{0}",
                                                  "{{",
                                                  "}",
                                                  "---\n",
                                                  ": ",
                                                  " #c",
                                                  "!!python/object:os",
                                                  "\" -- \"x\" [",
                                                  "größe→",
                                                  "\xf0\x9f\x9a\x80",
                                                  " ",
                                                  "  "};
    std::string out = "f" + std::to_string(n++) + "x";
    for (std::size_t pieces = 1 + random() % 5; pieces > 0; --pieces)
      out += random() % 8 == 0 ? std::string(1, static_cast<char>(random() % 256))
                               : kPieces[random() % kPieces.size()];
    if (random() % 64 == 0) out += std::string(20'000, 'a') + "`" + std::string(300, '`');
    return out;
  };
}

}  // namespace lockstep
