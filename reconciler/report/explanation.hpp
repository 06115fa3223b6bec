// The output of `lockstep explain`: the chain behind one entry, or the meaning of a diagnostic code.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "specs/compile/explain.hpp"

namespace lockstep {

// `calls`: native_calls(). `refused`: why the policy of the host that this runs on refuses the value.
std::string explanation_text(const OpenedCluster& cluster, const Explanation& e,
                             const std::vector<std::string>& calls, const std::optional<std::string>& refused,
                             const Terminal& terminal);
nlohmann::json explanation_json(const OpenedCluster& cluster, const Explanation& e,
                                const std::vector<std::string>& calls,
                                const std::optional<std::string>& refused);

struct CodeText {
  std::string_view rule;
  std::string_view reason;
};
// None: no diagnostic has this code.
std::optional<CodeText> text_of_code(std::string_view code);
std::string code_text(const std::string& code, const CodeText& text, const Terminal& terminal);
nlohmann::json code_json(const std::string& code, const CodeText& text);

}  // namespace lockstep
