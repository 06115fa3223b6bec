// Reporter: collects diagnostics while a spec is loaded, at most diagnostics_limit of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/diagnostic.hpp"

namespace lockstep {

constexpr std::size_t diagnostics_limit = 1000;  // enough for a reader; bounds the report for a hostile file

struct Node;

// The location of a diagnostic: a position and the number of characters to underline.
struct Span {
  Position at;
  std::uint32_t length = 1;
};
Span span_of(const Node& node);

class Reporter {
 public:
  // `idle`: receives at most diagnostics_limit warnings about fields without effect; null: they are dropped.
  Reporter(const Sources& sources, Diagnostics& out, Diagnostics* idle = nullptr)
      : sources_(sources), out_(out), idle_(idle) {}

  void error(std::string_view code, Span span, std::string message, std::string hint = {},
             std::vector<Related> related = {});
  void warning(std::string_view code, Span span, std::string message, std::string hint = {},
               std::vector<Related> related = {});
  void has_no_effect(Span span, const std::string& what,
                     const std::string& why = "nothing in lockstep reads it");
  const Sources& sources() const { return sources_; }
  std::size_t count() const { return out_.size(); }
  bool full() const { return out_.size() >= diagnostics_limit; }
  // Records that something was not checked because the report is full.
  void skip() { skipped_ = true; }
  // True once a whole file or document could not be read: its content is unknown, so missing objects can't be
  // reported.
  bool incomplete() const { return incomplete_; }
  // Sorts by position and reports whether diagnostics were left out.
  void finish();

 private:
  void add(Diagnostic one);
  const Sources& sources_;
  Diagnostics& out_;
  Diagnostics* idle_;
  bool skipped_ = false;
  bool incomplete_ = false;
};

// User text, cut to a length that fits a message and quoted: 'enabled'.
std::string in_quotes(std::string_view text);

}  // namespace lockstep
