// ServiceRecord: what a service has decided and what people told it, kept in the cluster's store for a
// restart.
//
// Promises: to_json() and from_json() are each other's reverse. A damaged document is an error that names the
// field; nothing of it is used.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reconciler/service/revisions.hpp"
#include "reconciler/service/suite_clock.hpp"

namespace lockstep {

// Of a revision's source, for readers; as Revision.
struct Authorship {
  std::string author;
  std::string subject;
  std::string made;
};

struct ServiceRecord {
  Revisions revisions{};
  std::optional<SpokenBy> suspended{};          // nothing is written until somebody resumes
  std::map<std::string, SpokenBy> cordoned{};   // devices on which nothing is written
  nlohmann::json breaker;                       // CircuitBreaker::to_json(); null: closed
  std::optional<RevisionId> begun{};            // the last change's: devices may be at it
  SuiteClock clock{};                           // of what is measured by the clock
  std::map<std::string, Authorship> made_by{};  // by RevisionId::source: of the revisions that are shown

  static constexpr const char* kKey = "service";  // of Blobs

  nlohmann::json to_json() const;
  static Result<ServiceRecord> from_json(const nlohmann::json& document);
};

}  // namespace lockstep
