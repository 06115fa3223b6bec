// Reporter: collects diagnostics while a spec is loaded, at most diagnostics_limit of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/diagnostic.hpp"

namespace lockstep {

constexpr std::size_t diagnostics_limit = 1000;  // nobody reads more; keeps a hostile file's report small

struct Node;

// Where a diagnostic points: a place and how many characters to underline.
struct Span {
  Position at;
  std::uint32_t length = 1;
};
Span span_of(const Node& node);

class Reporter {
 public:
  // `idle`: where what has no effect yet is told, at most diagnostics_limit of it; null: it is not.
  Reporter(const Sources& sources, Diagnostics& out, Diagnostics* idle = nullptr)
      : sources_(sources), out_(out), idle_(idle) {}

  void error(std::string_view code, Span span, std::string message, std::string hint = {},
             std::vector<Related> related = {});
  void warning(std::string_view code, Span span, std::string message, std::string hint = {},
               std::vector<Related> related = {});
  void has_no_effect(Span span, const std::string& what);
  const Sources& sources() const { return sources_; }
  std::size_t count() const { return out_.size(); }
  bool full() const { return out_.size() >= diagnostics_limit; }
  // Says that something was not even looked at, because the report is full.
  void skip() { skipped_ = true; }
  // True once a whole file or document could not be read: what it says is not known, so what is missing is
  // not either.
  bool incomplete() const { return incomplete_; }
  // Sorts by place and says whether any were left out.
  void finish();

 private:
  void add(Diagnostic one);
  const Sources& sources_;
  Diagnostics& out_;
  Diagnostics* idle_;
  bool skipped_ = false;
  bool incomplete_ = false;
};

// Text of a person's, cut to a length that fits a message and quoted: 'enabled'.
std::string in_quotes(std::string_view text);

}  // namespace lockstep
