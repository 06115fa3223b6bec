// Blobs: JSON documents by key: accepted baselines, the accepted set of devices, the last intents.
//
// Promises: when keep() returns, the document is stored durably and whole, and replaces the previous one of
// its key. Refuses (denied) writes without leadership, and (refused) reading a document that is no JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

struct BlobEntry {
  std::string key;
  std::string written;  // "2026-11-21T10:05:26Z"
  std::uint64_t bytes = 0;
};

class Blobs {
 public:
  virtual ~Blobs() = default;
  virtual Result<Done> keep(const std::string& key, const nlohmann::json& blob) = 0;
  // Empty: never written.
  virtual Result<std::optional<nlohmann::json>> kept(const std::string& key) const = 0;
  // By key.
  virtual Result<std::vector<BlobEntry>> list() const = 0;
};

}  // namespace lockstep
