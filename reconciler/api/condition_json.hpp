// A condition as Kubernetes writes it (metav1.Condition), of what a record tells: conditions.hpp has those
// that looks at devices prove.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep::api {

// `since`: RFC 3339, UTC. "observedAt" is the caller's to add.
inline nlohmann::json condition_json(std::string_view type, std::string_view status, std::string_view reason,
                                     std::string_view message, std::uint64_t generation,
                                     const std::string& since) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"observedGeneration", generation},
          {"lastTransitionTime", since}};
}

}  // namespace lockstep::api
