// The output of `lockstep explain`: the chain behind one entry, or the meaning of a diagnostic code.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "specs/compile/explain.hpp"
#include "specs/language/codes.hpp"

namespace lockstep {

// `calls`: native_calls(). `refused`: why this machine's host policy refuses the value.
std::string explanation_text(const OpenedCluster& cluster, const Explanation& e,
                             const std::vector<std::string>& calls, const std::optional<std::string>& refused,
                             const Terminal& terminal);
nlohmann::json explanation_json(const OpenedCluster& cluster, const Explanation& e,
                                const std::vector<std::string>& calls,
                                const std::optional<std::string>& refused);

std::string code_text(const CodeRow& row, const Terminal& terminal);
nlohmann::json code_json(const CodeRow& row);

}  // namespace lockstep
