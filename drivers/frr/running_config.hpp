// RunningConfig: what `show running-config` of one daemon says, as a tree of lines; merged and printed as FRR
// itself writes a frr.conf.
//
// Promises: parse of what print() writes gives the same tree; comments and blank lines are dropped, every
// other line is kept word for word, also those that lockstep knows nothing about. Refuses what is not a
// running-config: no "frr version" line, or an indentation that no block explains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::frr {

struct ConfigLine {
  std::string text;                  // without indentation
  std::string ending;                // a block's own last line ("exit", "exit-address-family"); empty: a line
  std::vector<ConfigLine> children;  // of a block

  bool is_block() const { return !ending.empty() || !children.empty(); }
  bool operator==(const ConfigLine&) const = default;
};

struct RunningConfig {
  std::string version;   // "8.4.4"
  std::string defaults;  // "traditional" or "datacenter": what the lines that are not there mean
  std::string hostname;
  std::vector<ConfigLine> lines;

  // The first top-level line or block that begins with these words; null: none.
  const ConfigLine* find(std::string_view first_words) const;
  bool operator==(const RunningConfig&) const = default;
};

Result<RunningConfig> parse_running_config(std::string_view text);

// The same of a file, which may be empty, and which a person may have written: without a version, and with a
// block begun anew further down.
Result<RunningConfig> parse_saved_config(std::string_view text);

// Adds what `from` has more: lines that are not there yet, blocks of the same name joined.
void merge(RunningConfig& into, const RunningConfig& from);

std::string print(const RunningConfig& config);

// The words of a line.
std::vector<std::string_view> words_of(std::string_view line);
// True when `line` is these words or begins with them.
bool begins_with_words(std::string_view line, std::string_view first_words);

}  // namespace lockstep::frr
