// What is wrong with a configuration of SONiC, each with its place in CONFIG_DB.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::sonic {

struct ConfigFault {
  std::string table;
  std::string key;    // of the row; empty: the whole table
  std::string field;  // empty: the whole row
  std::string message;

  bool operator==(const ConfigFault&) const = default;
};

struct ConfigFindings {
  // A configuration is wrong in as many places as it has values: more than these help nobody.
  static constexpr std::size_t kFaultsMax = 1000;

  std::vector<ConfigFault> faults;
  std::vector<std::string> without_model;  // tables that were not checked, sorted
  std::size_t unlisted = 0;                // faults beyond kFaultsMax
  // Rows could not be translated: references and rules between rows were not checked, since what refers to
  // such a row would only seem to dangle.
  bool partial = false;

  bool valid() const { return faults.empty(); }
  void add(ConfigFault fault) {
    if (faults.size() < kFaultsMax)
      faults.push_back(std::move(fault));
    else
      ++unlisted;
  }
};

}  // namespace lockstep::sonic
