// The conformance cases of SONiC's YANG models (sonic-yang-models/tests/yang_model_tests): a description of
// each in tests/, its data in the form of the models in tests_config/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/unit/sonic/shared_data.hpp"

namespace lockstep::sonic {

struct ConformanceCase {
  std::string name;
  std::string file;
  nlohmann::json data;
  bool accepted = true;
};

// test_yang_model.py: a case with an error text (eStr), or with a kind of errors (eStrKey) that has texts,
// must be rejected. "None" has no texts, and "Verify" looks at data that must be accepted.
inline bool must_be_accepted(const nlohmann::json& about) {
  const std::string kind = about.value("eStrKey", "None");
  return (kind == "None" || kind == "Verify") && (!about.contains("eStr") || about["eStr"].empty());
}

// Names are as upstream's test has them: of two cases with one name it runs one. `without_data`: the names
// of those that are described only.
inline std::vector<ConformanceCase> conformance_cases(std::vector<std::string>& without_data) {
  const std::filesystem::path folder = sonic_yang_data() / "tests/yang_model_tests";
  std::map<std::string, std::pair<std::string, nlohmann::json>> data;
  std::map<std::string, nlohmann::json> about;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tests_config")) {
    const auto all = nlohmann::json::parse(text_of_file(entry.path()));
    for (const auto& [name, value] : all.items()) data[name] = {entry.path().filename().string(), value};
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tests")) {
    const auto all = nlohmann::json::parse(text_of_file(entry.path()));
    for (const auto& [name, value] : all.items()) about[name] = value;
  }
  std::vector<ConformanceCase> cases;
  for (const auto& [name, description] : about) {
    const auto found = data.find(name);
    if (found == data.end())
      without_data.push_back(name);
    else
      cases.push_back({name, found->second.first, found->second.second, must_be_accepted(description)});
  }
  return cases;
}

}  // namespace lockstep::sonic
