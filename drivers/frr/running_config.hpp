// RunningConfig: the output of one daemon's `show running-config` as a tree of lines, merged and printed as
// FRR itself writes a frr.conf.
//
// Promises: parsing what print() writes gives the same tree; comments and blank lines are dropped, every
// other line is kept verbatim, including those that lockstep does not model. Refuses what is not a
// running-config: no "frr version" line, or an indentation that no block explains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::frr {

struct ConfigLine {
  std::string text;                  // without indentation
  std::string ending;                // a block's own last line ("exit", "exit-address-family"); empty: none
  std::vector<ConfigLine> children;  // of a block

  bool is_block() const { return !ending.empty() || !children.empty(); }
  bool operator==(const ConfigLine&) const = default;
};

struct RunningConfig {
  std::string version;   // "8.4.4"
  std::string defaults;  // "traditional" or "datacenter": the values of omitted lines
  std::string hostname;
  std::vector<ConfigLine> lines;

  // The first top-level line or block that begins with these words; null: none.
  const ConfigLine* find(std::string_view first_words) const;
  bool operator==(const RunningConfig&) const = default;
};

Result<RunningConfig> parse_running_config(std::string_view text);

// The same for a file, which may be empty or edited manually: without a version, and with a block reopened
// further down.
Result<RunningConfig> parse_saved_config(std::string_view text);

// Adds what only `from` has: missing lines, with blocks of the same name joined.
void merge(RunningConfig& into, const RunningConfig& from);

// Without a version line if the version is unknown (vtysh accepts `frr version` only with one).
std::string print(const RunningConfig& config);

// The words of a line.
std::vector<std::string_view> words_of(std::string_view line);
// True when `line` is these words or begins with them.
bool begins_with_words(std::string_view line, std::string_view first_words);

}  // namespace lockstep::frr
