// The files of a commit as git-ls-tree(1) lists them, checked before one of them is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/source/fetched.hpp"
#include "reconciler/source/git_source.hpp"

namespace lockstep {

struct GitEntry {
  enum class Kind : std::uint8_t { file, folder, link, submodule, unknown };
  Kind kind = Kind::unknown;
  std::string hash;
  std::uint64_t size = 0;  // of a file
  std::string path;        // from the listed folder
};

// Of `ls-tree -z --long`. Broken: not such a listing.
Fetched<std::vector<GitEntry>> parse_git_listing(std::string_view listing, const std::string& title);

// Whether they are files alone, within the limits, and each path leads to a file beneath the folder.
Fetched<Done> check_git_entries(const std::vector<GitEntry>& entries, const GitSettings& settings,
                                const std::string& title);

// The contents that `cat-file --batch` printed for these entries, in their order.
Fetched<std::vector<std::string_view>> parse_git_contents(std::string_view printed,
                                                          const std::vector<GitEntry>& entries,
                                                          const std::string& title);

// The line where an unresolved merge begins (git-merge(1), HOW CONFLICTS ARE PRESENTED), from 1; 0: nowhere.
std::size_t find_conflict(std::string_view text);

}  // namespace lockstep
