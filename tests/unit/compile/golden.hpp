// Golden cases of `compile`: a folder of specs in, one text out.
//
// A case is tests/cases/compile/<case>/: *.yaml, `intent.txt` and, where needed, `options.txt` (lines `twin
// 1Gbps`, `today 2026-11-21`, `specs examples/rail-pod`, `devices gpu1,leaf0`, `entries fib[`, `diagnostics
// only`) and `allocations.lock`. LOCKSTEP_UPDATE_CASES=1 rewrites intent.txt.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "specs/compile/compile.hpp"
#include "specs/language/load.hpp"

namespace lockstep::golden {

struct Case {
  std::string name;
  std::filesystem::path folder;
  Loaded loaded;
  CompileOptions options;
  std::set<std::string> devices;     // to print; empty: all
  std::vector<std::string> entries;  // to print: prefixes of their paths; empty: all, and the claims
  bool diagnostics_only = false;
};

std::vector<std::filesystem::path> folders();
Case read(const std::filesystem::path& folder);
std::string print(const Case& one, const Compiled& compiled);
std::string position(const Sources& sources, Position at);

}  // namespace lockstep::golden
