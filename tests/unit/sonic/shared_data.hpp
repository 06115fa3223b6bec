// What the tests of drivers/sonic share. SONiC's YANG models and their conformance data, which are outside
// the repository: shared/data/sonic-yang beside it, or where LOCKSTEP_SHARED_DATA says (the folder that has
// sonic-yang).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "drivers/sonic/yang_models.hpp"
#include "tests/needs.hpp"

namespace lockstep::sonic {

inline std::filesystem::path sonic_yang_data() {
  const char* const named = std::getenv("LOCKSTEP_SHARED_DATA");
  const std::filesystem::path shared = named != nullptr
                                           ? std::filesystem::path(named)
                                           : std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "../shared/data";
  return shared / "sonic-yang";
}

inline std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// SONiC's models, loaded once for all tests.
inline const YangModels& sonic_models() {
  static const Result<YangModels> models = YangModels::load(sonic_yang_data().string());
  if (!models) throw std::runtime_error(models.error().text());
  return *models;
}

// TABLE/key/field: message, one on each line.
inline std::string said(const ConfigFindings& findings) {
  std::string out;
  for (const ConfigFault& fault : findings.faults)
    out += fault.table + "/" + fault.key + "/" + fault.field + ": " + fault.message + "\n";
  return out;
}

}  // namespace lockstep::sonic

#define LOCKSTEP_NEEDS_SONIC_YANG()                                                                       \
  if (!std::filesystem::is_directory(::lockstep::sonic::sonic_yang_data() / "yang-models"))               \
  LOCKSTEP_NOT_TESTED("SONiC's YANG models are not at " + ::lockstep::sonic::sonic_yang_data().string() + \
                      " (LOCKSTEP_SHARED_DATA)")
