// ApiObject: one object of the API as it is served: its JSON text, and what selectors select by.
//
// Promises: all texts are printable (specs/model/printable.hpp) and at most kTextMax bytes long, whatever
// devices, specs and users wrote.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/api/kinds.hpp"

namespace lockstep::api {

// The longest message of a condition (metav1.Condition), which is the longest text.
inline constexpr std::size_t kTextMax = 32'768;

struct ApiObject {
  Kind kind{};
  std::string name{};                           // metadata.name
  std::map<std::string, std::string> labels{};  // metadata.labels
  std::map<std::string, std::string> fields{};  // KindRow::fields that it has, and metadata.name
  std::string text{};                           // JSON, one line
};
using ApiObjectPtr = std::shared_ptr<const ApiObject>;

// Makes all texts of a document printable and short; keys are ours.
void make_presentable(nlohmann::json& document);
// `document` has apiVersion, kind and metadata.name.
ApiObject to_object(Kind kind, nlohmann::json document);

}  // namespace lockstep::api
