// FNV-1a with 64 bits (draft-eastlake-fnv): for names and revisions that only have to differ when texts do,
// never against somebody who chooses the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

class Fnv {
 public:
  Fnv& add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return *this;
  }
  // 16 digits.
  std::string text() const {
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[(hash_ >> shift) & 0xF];
    return out;
  }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace lockstep
